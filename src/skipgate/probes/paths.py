"""Paths through a network of blocks (Veit et al. 2016, in the lecture): which count in training, and which can be spared.

A path passes each block by its shortcut, or through it by what it adds to the shortcut; n blocks make 2^n of them.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from skipgate.evaluation import evaluating, losses
from skipgate.nets.surgery import bypass
from skipgate.probes.subject import Subject
from skipgate.probes.walk import CLOSED, CUT, OPEN, in_states
from skipgate.settings import Probes
from skipgate.training.streams import stream


def probe(subject: Subject, settings: Probes) -> dict[str, Any]:
    """Gradient by length of path, and errors of networks that have lost paths in two ways.

    `norm` as [length][seed] is the mean norm of the loss's gradient at the first block along one path. `errors` as
    [draw][seed] belong to networks of which `removed` blocks became their shortcuts and `cut` blocks lost theirs; each
    halves the number of paths, but only the former takes blocks away.
    """
    count, draws, most = len(subject.network.blocks), settings.paths.draws, settings.paths.lost
    numbers = [(m, c) for m in range(most + 1) for c in range(most + 1) if m + c <= count]
    kinds = [kind for kind in numbers for _ in range(max(1, draws // 4))]
    states = [_states(count, *kind, stream(draw, "cut")) for draw, kind in enumerate(kinds)]
    return {
        "norm": gradient_norms(subject, settings.paths.images, draws),
        "removed": [removed for removed, _ in kinds],
        "cut": [cut for _, cut in kinds],
        "errors": subject.errors_of([in_states(subject.network, each) for each in states]),
    }


def gradient_norms(subject: Subject, images: int, draws: int) -> list[list[float]]:
    """Mean over images and drawn paths of the gradient's norm at the first block, as [length][seed]."""
    network = subject.network
    x, y = next(Subject(network, subject.images.first(images), images).batches())
    with evaluating(network), torch.enable_grad():
        taps, g = _taps(subject, x, y)
    # Each draw is an order of blocks, and its paths take more and more of them: that leaves curves less ragged.
    orders, rows = [torch.randperm(len(taps), generator=stream(draw, "path")).tolist() for draw in range(draws)], []
    for length in range(len(taps) + 1):
        norms = []
        for order in orders if 0 < length < len(taps) else orders[:1]:
            norms.append(_along(taps, set(order[:length]), g).flatten(2).norm(dim=2).double().mean(1))
        rows.append([value if math.isfinite(value) else math.nan for value in torch.stack(norms).mean(0).tolist()])
    return rows


Tap = tuple[Tensor, Tensor, Tensor]
"""A block's input, its shortcut's output and what it adds to that, with the graph from the first to the others."""


def _taps(subject: Subject, x: Tensor, y: Tensor) -> tuple[list[Tap], Tensor]:
    """The taps of all blocks, each with a graph of its own, and the gradient of the loss at the last output."""
    network = subject.network
    h, taps = network.stem(x).detach(), []
    for block in network.blocks:
        h.requires_grad_()
        skip, whole = bypass(block, h), block(h)
        taps.append((h, skip, whole - skip))
        h = whole.detach()
    h.requires_grad_()
    return taps, torch.autograd.grad(losses(network.head(h), y).sum(), h)[0]


def _along(taps: Sequence[Tap], path: set[int], g: Tensor) -> Tensor:
    """The gradient that comes back through the blocks of `path` and by all others."""
    for place in reversed(range(len(taps))):
        h, skip, added = taps[place]
        way = added if place in path else skip
        if way is not h:
            g = torch.autograd.grad(way, h, g, retain_graph=True, materialize_grads=True)[0]
    return g


def _states(count: int, removed: int, cut: int, die: torch.Generator) -> list[int]:
    states = [OPEN] * count
    for number, place in enumerate(torch.randperm(count, generator=die)[: removed + cut].tolist()):
        states[place] = CLOSED if number < removed else CUT
    return states
