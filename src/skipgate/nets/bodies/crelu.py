"""Builds networks of CReLU layers."""

import functools

from torch import nn

from skipgate.nets.block import Block, Paths, Site
from skipgate.nets.bodies import Plan
from skipgate.nets.crelu import CreluLinear
from skipgate.nets.layers import Linear
from skipgate.nets.network import Network
from skipgate.nets.parts import flat_stem
from skipgate.nets.transforms import Bare
from skipgate.settings import Crelu


def build(body: Crelu, plan: Plan) -> Network:
    """Linear, blocks of W phi(x) + b, linear."""
    count = body.depth // body.layers
    affine = functools.partial(CreluLinear, plan.replicas, body.width, body.width)
    blocks = []
    for i in range(count):
        transform = Bare([affine() for _ in range(body.layers)])
        paths = Paths(transform, nn.Identity(), nn.Identity(), nn.Identity())
        blocks.append(Block(Site(0, i, keeps_shape=True), paths, plan.gates(i, count, affine)))
    stem = flat_stem(plan.replicas, plan.shape, body.width)
    return Network(plan.replicas, stem, blocks, Linear(plan.replicas, body.width, plan.outputs))
