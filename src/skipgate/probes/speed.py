"""Faster predictions: time and size of a network that has lost blocks (gresnet section 4.1)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from skipgate.evaluation import ROUNDS, evaluating, now
from skipgate.probes.adopt import Head
from skipgate.probes.gates import gate_means
from skipgate.probes.prune import response_norms
from skipgate.probes.subject import Subject
from skipgate.probes.walk import in_order, outputs
from skipgate.settings import Probes

SHARES = (0, 0.25, 0.5, 0.75)


@torch.no_grad()
def probe(subject: Subject, _: Probes) -> dict[str, Any]:
    """Without 0, a quarter, half and three quarters of the blocks that keep the shape.

    Those with the smallest gates go first; gates are means over seeds, and where all are equal, the
    smallest responses go first. `errors` has scores as [removed][seed], `seconds` is the best of a
    few rounds for one batch of all replicas together, `bytes` what one replica's weights take,
    `parameters` how many they are, and `flops` what its maps take for one example, a multiplication
    and an addition being two.
    """
    network = subject.network
    ranked = _ranked(subject)
    removed = [round(len(ranked) * share) for share in SHARES]
    kept = [[i for i in range(len(network.blocks)) if i not in ranked[:count]] for count in removed]
    x, _targets = next(subject.batches())
    with evaluating(network):
        seconds = _fastest(subject, kept, x)
        flops = _flops(subject, x[:, :1])
    sizes = [_sizes(subject, order) for order in kept]
    return {
        "removed": removed,
        "errors": subject.scores_of([in_order(network, order) for order in kept]),
        "images": x.shape[1],
        "seconds": seconds,
        "bytes": [size for _, size in sizes],
        "parameters": [count for count, _ in sizes],
        "flops": [flops[-1] + sum(flops[i] for i in order) for order in kept],
    }


def _ranked(subject: Subject) -> list[int]:
    """The blocks that keep the shape, from the weakest to the strongest."""
    blocks = subject.network.blocks
    gates = gate_means(subject, [block.T for block in blocks])
    strength = gates.nanmean(1)  # a seed that diverged says nothing
    if bool((strength == strength[0]).all()):
        strength = response_norms(subject).nanmean(1)
    return [i for i in strength.argsort(stable=True).tolist() if blocks[i].site.keeps_shape]


def _fastest(subject: Subject, orders: list[list[int]], x: Tensor) -> list[float]:
    """The best time of each order; the orders take turns."""
    seconds = [float("inf")] * len(orders)
    for _ in range(ROUNDS):
        for number, order in enumerate(orders):
            seconds[number] = min(seconds[number], _seconds(subject, order, x))
    return seconds


def _seconds(subject: Subject, order: list[int], x: Tensor) -> float:
    start = now(x.device)
    for _ in outputs(subject.network, [in_order(subject.network, order)], x):
        pass
    return now(x.device) - start


def _sizes(subject: Subject, order: list[int]) -> tuple[int, int]:
    """Numbers and bytes of one replica's weights without the blocks that are not in `order`."""
    network = subject.network
    gone, kept = (
        {
            id(p)
            for i, block in enumerate(network.blocks)
            if (i in order) == stays
            for p in block.parameters()
        }
        for stays in (False, True)
    )
    # Blocks may share their weights, which stay as long as one of them does.
    left = [p for p in network.parameters() if id(p) not in gone - kept]
    count = sum(p.numel() for p in left)
    size = sum(p.nbytes for p in left)
    return count // network.replicas, size // network.replicas


def _flops(subject: Subject, x: Tensor) -> list[int]:
    """For one example: of each block, and at the end of all the rest."""
    network = subject.network
    found: list[int] = []

    def counted(part: Callable[[Tensor], Tensor], h: Tensor) -> Tensor:
        with FlopCounterMode(display=False) as counter:
            y = part(h)
        found.append(counter.get_total_flops() // network.replicas)
        return y

    h = network.follow(counted(network.stem, x), lambda _, block, h: counted(block, h))
    counted(lambda h: network.finish(h).main, h)
    stem, *blocks, head = found
    return [*blocks, head if isinstance(network.head, Head) else stem + head]
