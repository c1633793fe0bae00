"""Paths through a network of blocks (Veit et al. 2016, in the lecture).

Which count in training, and which can be spared? A path passes each block by its shortcut, or
through it by what it adds to the shortcut. A block that adds nothing, such as one with a gate at 0,
cannot be passed through; n others make 2^n paths.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from skipgate.evaluation import evaluating
from skipgate.nets.block import Block
from skipgate.nets.gate import spread
from skipgate.nets.surgery import bypass
from skipgate.probes.prune import response_norms
from skipgate.probes.subject import Subject
from skipgate.probes.walk import CLOSED, CUT, OPEN, in_states
from skipgate.settings import PathSampling, Probes
from skipgate.streams import stream


def probe(subject: Subject, settings: Probes) -> dict[str, Any]:
    """Gradient by length of path, and errors of networks that have lost paths in two ways.

    `norm` as [length][seed] is the mean norm of the loss's gradient at the first block along one
    path, and `open` as [seed] the number of blocks that paths pass through. `errors` as
    [draw][seed] belong to networks of which `removed` blocks became their shortcuts and `cut`
    blocks lost theirs; each halves the number of paths, but only the former takes blocks away.
    Every seed has draws of its own.
    """
    responses = response_norms(subject).T
    open_ = responses > 0
    sound = responses.isfinite().all(1)
    # A seed that diverged has no open blocks, nor scores.
    count = int(open_[sound].sum(1).min()) if sound.any() else 0
    kinds = _kinds(count, settings.paths)
    states = [_states(open_, subject.names, kind, draw) for draw, kind in enumerate(kinds)]
    return {
        "open": open_.sum(1).tolist(),
        "norm": gradient_norms(subject, open_, settings.paths.images, settings.paths.draws),
        "removed": [removed for removed, _ in kinds],
        "cut": [cut for _, cut in kinds],
        "errors": subject.scores_of([in_states(each) for each in states]),
    }


def _kinds(count: int, settings: PathSampling) -> list[tuple[int, int]]:
    """How many blocks each network has removed and cut, of `count` open ones."""
    most = range(settings.lost + 1)
    numbers = [(removed, cut) for removed in most for cut in most if removed + cut <= count]
    return [kind for kind in numbers for _ in range(max(1, settings.draws // 8))]


def gradient_norms(subject: Subject, open_: Tensor, examples: int, draws: int) -> list[list[float]]:
    """Mean norm of the gradient at the first block, as [length][seed].

    The mean is over examples and drawn paths. Each draw is an order of a seed's open blocks
    (replica, block), of which paths of every length take the first: that leaves curves less ragged
    than fresh draws would. There are no paths longer than the number of open blocks.
    """
    network = subject.network
    first = replace(subject, examples=subject.examples.first(examples), batch=examples)
    x, y = next(first.batches())
    with evaluating(network), torch.enable_grad():
        taps, g = _taps(subject, x, y)
    longest = open_.sum(1)
    columns = 1 + subject.resamples if subject.resamples else network.replicas
    found = torch.zeros(draws, len(taps) + 1, columns, dtype=torch.float64)
    for draw in range(draws):
        rows = zip(open_, subject.names, strict=True)
        ranks = torch.stack([_ranks(each, draw, seed) for each, seed in rows])
        for length in range(int(longest.max()) + 1):
            norms = _along(taps, ranks < length, g).double().flatten(2).norm(dim=2)
            norms = first.averages(norms).cpu()
            found[draw, length] = torch.where(longest >= length, norms, 0.0)
    mean = found.mean(0)
    for column in range(1, 1 + subject.resamples):
        # What depends on the paths that were drawn must not seem certain.
        chosen = torch.randint(draws, (draws,), generator=stream(column, "paths again"))
        mean[:, column] = found[chosen, :, column].mean(0)
    return mean.tolist()


def _ranks(open_: Tensor, draw: int, seed: int) -> Tensor:
    """For each block its place in a random order of the open ones; closed ones come last."""
    places = open_.nonzero().flatten()
    ranks = torch.full((len(open_),), len(open_) + 1)
    ranks[places[torch.randperm(len(places), generator=stream(seed, f"path {draw}"))]] = (
        torch.arange(len(places))
    )
    return ranks


Tap = tuple[Tensor, Tensor, Tensor]
"""A block's input, its shortcut's output and what it adds to that.

The graph leads from the first to the others.
"""


def _taps(subject: Subject, x: Tensor, y: Tensor) -> tuple[list[Tap], Tensor]:
    """The taps of all blocks, each with a graph of its own, and the loss's gradient at the end."""
    taps: list[Tap] = []

    def visit(_: int, block: Block, h: Tensor) -> Tensor:
        h.requires_grad_()
        skip = bypass(block, h)
        whole: Tensor = block(h)
        taps.append((h, skip, whole - skip))
        return whole.detach()

    network = subject.network
    h = network.follow(network.stem(x).detach(), visit).requires_grad_()
    return taps, torch.autograd.grad(subject.losses(h, y).sum(), h)[0]


def _along(taps: Sequence[Tap], through: Tensor, g: Tensor) -> Tensor:
    """The gradient that comes back through some blocks, `through` (replica, block), by the rest."""
    for place in reversed(range(len(taps))):
        h, skip, added = taps[place]
        mine = through[:, place].to(g.device)
        if mine.all():
            g = _back(added, h, g)
        elif not mine.any():
            g = _back(skip, h, g)
        else:
            inside = _back(added, h, g)
            g = torch.where(spread(mine, inside), inside, _back(skip, h, g))
    return g


def _back(way: Tensor, h: Tensor, g: Tensor) -> Tensor:
    if way is h:
        return g
    if not way.requires_grad:  # what does not depend on h
        return torch.zeros_like(h)
    return torch.autograd.grad(way, h, g, retain_graph=True, materialize_grads=True)[0]


def _states(open_: Tensor, seeds: Sequence[int], lost: tuple[int, int], draw: int) -> Tensor:
    """States (block, replica), with as many open blocks removed and cut as `lost` says."""
    states = torch.full(open_.T.shape, OPEN)
    removed, cut = lost
    for replica, (each, seed) in enumerate(zip(open_, seeds, strict=True)):
        places = each.nonzero().flatten()
        chosen = places[torch.randperm(len(places), generator=stream(seed, f"lost {draw}"))]
        states[chosen[:removed], replica] = CLOSED
        states[chosen[removed : removed + cut], replica] = CUT
    return states
