"""Shuffles: the error after blocks trade places within their stage.

Veit et al. 2016, in unrolled section 2.
"""

import itertools
from typing import Any

import torch

from skipgate.nets.network import Network
from skipgate.probes.subject import Subject
from skipgate.probes.walk import in_order
from skipgate.settings import Probes
from skipgate.streams import stream


def probe(subject: Subject, settings: Probes) -> dict[str, Any]:
    """Kendall's tau of each drawn order with the trained one as [draw], scores as [draw][seed].

    The draws make from no swap to as many swaps as there are movable blocks, with more draws near
    the trained order, where the score changes most. `full` has whole shuffles, and `reversed` each
    stage from its end to its beginning. A network in which nothing can move has none of them.
    """
    network = subject.network
    groups = _movable(network)
    swaps = _swaps(sum(map(len, groups)), settings.shuffle.draws)
    orders = _orders(len(network.blocks), groups, swaps, settings.shuffle.draws // 4)
    walks = [in_order(network, order) for kind in orders.values() for order in kind]
    errors = iter(subject.scores_of(walks))
    found = {
        kind: {
            "tau": [kendall(order) for order in drawn],
            "errors": list(itertools.islice(errors, len(drawn))),
        }
        for kind, drawn in orders.items()
    }
    return {"swaps": swaps, **found.pop("swapped"), **found}


def _swaps(movable: int, draws: int) -> list[int]:
    """How many swaps each draw makes."""
    if not movable:
        return []
    return [round(movable * (draw / (draws - 1)) ** 2) for draw in range(draws)]


def _orders(
    count: int, groups: list[list[int]], swaps: list[int], full: int
) -> dict[str, list[list[int]]]:
    """The orders of all three kinds; none where nothing can move."""
    if not groups:
        return {"swapped": [], "full": [], "reversed": []}
    return {
        "swapped": [
            swapped(count, groups, times, stream(draw, "shuffle"))
            for draw, times in enumerate(swaps)
        ],
        "full": [
            placed(count, groups, _permuted(groups, stream(draw, "full shuffle")))
            for draw in range(full)
        ],
        "reversed": [placed(count, groups, [list(range(len(g)))[::-1] for g in groups])],
    }


def _permuted(groups: list[list[int]], generator: torch.Generator) -> list[list[int]]:
    """A random order of each group."""
    return [torch.randperm(len(group), generator=generator).tolist() for group in groups]


def kendall(order: list[int]) -> float:
    """Kendall's tau of a permutation with the trained order.

    SciPy's takes as long to import as a small probe to run.
    """
    pairs = list(itertools.combinations(order, 2))
    return 1 - 2 * sum(a > b for a, b in pairs) / len(pairs)


def placed(count: int, groups: list[list[int]], permutations: list[list[int]]) -> list[int]:
    """The order in which each group's blocks stand as its permutation says."""
    order = list(range(count))
    for group, permutation in zip(groups, permutations, strict=True):
        for place, source in zip(group, permutation, strict=True):
            order[place] = group[source]
    return order


def swapped(
    count: int, groups: list[list[int]], swaps: int, generator: torch.Generator
) -> list[int]:
    """The order after `swaps` swaps, each within a group; larger groups are drawn more often."""
    order = list(range(count))
    weights = torch.tensor([float(len(group)) for group in groups])
    for _ in range(swaps):
        group = groups[int(torch.multinomial(weights, 1, generator=generator))]
        a, b = (group[i] for i in torch.randperm(len(group), generator=generator)[:2].tolist())
        order[a], order[b] = order[b], order[a]
    return order


def _movable(network: Network) -> list[list[int]]:
    """Places of each stage's blocks that keep the shape, where there are two or more."""
    stages: dict[int, list[int]] = {}
    for place, block in enumerate(network.blocks):
        if block.site.keeps_shape:
            stages.setdefault(block.site.stage, []).append(place)
    return [places for places in stages.values() if len(places) > 1]
