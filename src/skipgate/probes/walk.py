"""Many variants of one network at the price of a few.

What variants have in common is computed once. A variant is a walk through the network's blocks:
which block comes next, and in what state. Sorted, walks that begin alike stand side by side, so
each takes up the activations of the one before it at the first step where they part.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import Any

import torch
from torch import Tensor

from skipgate.nets.block import Block
from skipgate.nets.gate import spread
from skipgate.nets.network import Network, Output
from skipgate.nets.surgery import bypass, shut

OPEN = 0
CLOSED = 1
CUT = 2
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


def outputs(
    network: Network, walks: Sequence[Walk], x: Tensor, states: Sequence[Any] | None = None
) -> Iterator[tuple[int, Output]]:
    """The output of every walk on one batch, with the walk's number, in the cheapest order.

    `states` has what each walk's head has carried from the batch before.
    """
    order = sorted(range(len(walks)), key=lambda i: walks[i])
    alike = [_shared(walks[a], walks[b]) for a, b in pairwise(order)]
    trail = [network.stem(x)]
    for number, taken, kept in zip(order, [0, *alike], [*alike, 0], strict=False):
        h = _followed(network, walks[number][taken:], trail, kept)
        del trail[kept + 1 :]
        yield number, network.finish(h, states[number] if states else None)


def _followed(network: Network, rest: Walk, trail: list[Tensor], kept: int) -> Tensor:
    """Go on from the end of the trail, which is lengthened to `kept` steps.

    What no later walk takes up is freed at once: its memory is used again while the caches hold
    it.
    """
    states = iter([states for _, states in rest])

    def visit(_: int, block: Block, h: Tensor) -> Tensor:
        h = _through(block, next(states), h)
        if len(trail) <= kept:
            trail.append(h)
        return h

    return network.follow(trail[-1], visit, [place for place, _ in rest])


def _shared(a: Walk, b: Walk) -> int:
    """How many steps two walks have in common before they part."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _through(block: Block, states: tuple[int, ...], h: Tensor) -> Tensor:
    y: Tensor
    if set(states) <= {OPEN}:
        y = block(h)
        return y
    with shut(block, [state == CLOSED for state in states]):
        y = block(h)
    if CUT not in states:
        return y
    cut = torch.tensor(states, device=h.device) == CUT
    return torch.where(spread(cut, y), y - bypass(block, h), y)
