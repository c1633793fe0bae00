"""Many variants of one network at the price of a few: what variants have in common is computed once.

A variant is a walk through the network's blocks: which block comes next, and in what state. Sorted, walks that begin alike
stand side by side, so each takes up the activations of the one before it at the first step where they part.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile

import torch
from torch import Tensor

from skipgate.nets.block import Block
from skipgate.nets.gate import spread
from skipgate.nets.network import Network
from skipgate.nets.surgery import bypass, shut

OPEN, CLOSED, CUT = 0, 1, 2
"""A block as it was trained; as its shortcut; and without its shortcut."""
Step = tuple[int, tuple[int, ...]]
"""The place of a block in the trained network, and its state in each replica."""
Walk = tuple[Step, ...]


def in_order(network: Network, order: Sequence[int]) -> Walk:
    """The blocks of `order`, all open."""
    return tuple((place, (OPEN,) * network.replicas) for place in order)


def in_states(states: Tensor) -> Walk:
    """All blocks in their places, in these states (block, replica)."""
    return tuple(enumerate(map(tuple, states.tolist())))


def with_closed(masks: Tensor) -> Walk:
    """All blocks in their places, closed where `masks` (block, replica) says so."""
    return in_states(masks.long())


def outputs(network: Network, walks: Sequence[Walk], x: Tensor) -> Iterator[tuple[int, Tensor]]:
    """The logits of every walk on one batch, each with the walk's number, in an order that shares the most."""
    blocks, first = network.blocks, network.stem(x)
    trail: list[tuple[Step, Tensor]] = []
    for number in sorted(range(len(walks)), key=lambda i: walks[i]):
        walk = walks[number]
        pairs = zip(trail, walk, strict=False)
        del trail[sum(1 for _ in takewhile(lambda pair: pair[0][0] == pair[1], pairs)) :]
        for place, states in walk[len(trail) :]:
            h = trail[-1][1] if trail else first
            trail.append(((place, states), _through(blocks[place], states, h)))
        yield number, network.head(trail[-1][1] if trail else first)


def _through(block: Block, states: tuple[int, ...], h: Tensor) -> Tensor:
    state = torch.tensor(states, device=h.device)
    with shut(block, state == CLOSED):
        y: Tensor = block(h)
    return torch.where(spread(state == CUT, y), y - bypass(block, h), y) if CUT in states else y
