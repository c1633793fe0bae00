"""Faster predictions: time and memory of a network that has lost blocks (gresnet-v1 section 4.1, gresnet-v2 section 3.1)."""

import time
from typing import Any

import torch

from skipgate.evaluation import evaluating
from skipgate.params import Probes
from skipgate.probes.gates import gate_means
from skipgate.probes.subject import Subject
from skipgate.probes.walk import in_order, outputs

ROUNDS = 5


@torch.no_grad()
def probe(subject: Subject, _: Probes) -> dict[str, Any]:
    """Without 0, a quarter, half and three quarters of the blocks that keep the shape, those with the smallest gates first.

    `seconds` is the best of a few rounds for one batch of all replicas together, `bytes` what one replica's weights take.
    """
    network = subject.network
    strength = gate_means(subject, [block.T for block in network.blocks]).mean(1)
    ranked = [i for i in strength.argsort(stable=True).tolist() if network.blocks[i].site.keeps_shape]
    removed = [round(len(ranked) * share) for share in (0, 0.25, 0.5, 0.75)]
    kept = [[i for i in range(len(network.blocks)) if i not in ranked[:count]] for count in removed]
    x, _labels = next(subject.batches())
    seconds = [float("inf")] * len(kept)
    with evaluating(network):
        for _round in range(ROUNDS):
            for number, order in enumerate(kept):
                seconds[number] = min(seconds[number], _seconds(subject, order, x))
    return {"removed": removed, "images": x.shape[1], "seconds": seconds, "bytes": [_bytes(subject, order) for order in kept]}


def _seconds(subject: Subject, order: list[int], x: torch.Tensor) -> float:
    start = time.perf_counter()
    for _ in outputs(subject.network, [in_order(subject.network, order)], x):
        pass
    return time.perf_counter() - start


def _bytes(subject: Subject, order: list[int]) -> int:
    network = subject.network
    parts = [network.stem, *(network.blocks[i] for i in order), network.head]
    return sum(p.numel() * p.element_size() for part in parts for p in part.parameters()) // network.replicas
