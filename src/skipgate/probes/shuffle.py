"""Shuffles: the error after blocks trade places within their stage (Veit et al. 2016, in unrolled section 2)."""

from typing import Any

import torch
from scipy.stats import kendalltau

from skipgate.nets.network import Network
from skipgate.params import Probes
from skipgate.probes.subject import Subject
from skipgate.probes.walk import in_order
from skipgate.training.streams import stream


def probe(subject: Subject, settings: Probes) -> dict[str, Any]:
    """Kendall's tau of each drawn order with the trained one as [draw], and the errors in % as [draw][seed].

    The draws make from no swap to as many swaps as there are movable blocks, with more draws near the trained order, where
    the error changes most; a network in which nothing can move has no draws.
    """
    network = subject.network
    groups = _movable(network)
    movable, last = sum(map(len, groups)), settings.shuffle_draws - 1
    swaps = [round(movable * (draw / last) ** 2) for draw in range(settings.shuffle_draws)] if groups else []
    orders = [swapped(len(network.blocks), groups, count, stream(draw, "shuffle")) for draw, count in enumerate(swaps)]
    taus = [float(kendalltau(range(len(order)), order).statistic) for order in orders]
    return {"swaps": swaps, "tau": taus, "errors": subject.errors_of([in_order(network, order) for order in orders])}


def swapped(count: int, groups: list[list[int]], swaps: int, die: torch.Generator) -> list[int]:
    """The order after so many swaps, each of two blocks of one group; larger groups are drawn more often."""
    order = list(range(count))
    weights = torch.tensor([float(len(group)) for group in groups])
    for _ in range(swaps):
        group = groups[int(torch.multinomial(weights, 1, generator=die))]
        a, b = (group[i] for i in torch.randperm(len(group), generator=die)[:2].tolist())
        order[a], order[b] = order[b], order[a]
    return order


def _movable(network: Network) -> list[list[int]]:
    """Places of each stage's blocks that keep the shape, where there are two or more."""
    stages: dict[int, list[int]] = {}
    for place, block in enumerate(network.blocks):
        if block.site.keeps_shape:
            stages.setdefault(block.site.stage, []).append(place)
    return [places for places in stages.values() if len(places) > 1]
