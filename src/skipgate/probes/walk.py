"""Many variants of one network at the price of a few: what variants have in common is computed once.

A variant is a walk through the network's blocks: which block comes next, and in which replicas it is closed. Sorted, walks that
begin alike stand side by side, so each takes up the activations of the one before it at the first step where they part.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile

import torch
from torch import Tensor

from skipgate.nets.network import Network
from skipgate.nets.surgery import shut

Step = tuple[int, tuple[bool, ...]]
"""The place of a block in the trained network, and for each replica whether it is its shortcut there."""
Walk = tuple[Step, ...]


def in_order(network: Network, order: Sequence[int]) -> Walk:
    """The blocks of `order`, all open."""
    return tuple((place, (False,) * network.replicas) for place in order)


def with_closed(masks: Tensor) -> Walk:
    """All blocks in their places, closed where `masks` (block, replica) says so."""
    return tuple(enumerate(map(tuple, masks.tolist())))


def outputs(network: Network, walks: Sequence[Walk], x: Tensor) -> Iterator[tuple[int, Tensor]]:
    """The logits of every walk on one batch, each with the walk's number, in an order that shares the most."""
    blocks, first = network.blocks, network.stem(x)
    trail: list[tuple[Step, Tensor]] = []
    for number in sorted(range(len(walks)), key=lambda i: walks[i]):
        walk = walks[number]
        pairs = zip(trail, walk, strict=False)
        del trail[sum(1 for _ in takewhile(lambda pair: pair[0][0] == pair[1], pairs)) :]
        for place, closed in walk[len(trail) :]:
            h = trail[-1][1] if trail else first
            with shut(blocks[place], torch.tensor(closed, device=h.device)):
                trail.append(((place, closed), blocks[place](h)))
        yield number, network.head(trail[-1][1] if trail else first)
