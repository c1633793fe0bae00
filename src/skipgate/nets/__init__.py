"""Networks of one equation, y = after(T(x, F) * F(x) + C(x, F) * S(x)), stacked over seeds.

Every tensor has the replica (the seed) as its first axis and the batch as its second; nothing ever
mixes replicas.
"""
