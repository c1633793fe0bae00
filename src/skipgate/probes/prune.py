"""Pruning: the error as more and more blocks become their shortcuts (gresnet-v2 Figure 5, right)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from skipgate.nets.surgery import none_closed
from skipgate.params import Probes
from skipgate.probes.gates import gate_means
from skipgate.probes.subject import Subject
from skipgate.probes.walk import Walk, with_closed
from skipgate.training.streams import stream


def probe(subject: Subject, settings: Probes) -> dict[str, Any]:
    """Error in % after removing 0, 1, ... blocks: at random as [order][removed][seed], smallest gate first as [removed][seed].

    Where all gates of a network are equal there is no smallest, and `smallest` is null.
    """
    network = subject.network
    count = len(network.blocks)
    drawn = [torch.randperm(count, generator=stream(draw, "prune")) for draw in range(settings.prune_orders)]
    orders = [order.unsqueeze(1).expand(-1, network.replicas) for order in drawn]
    strength = gate_means(subject, [block.T for block in network.blocks])
    tied = bool((strength == strength[0]).all())
    if not tied:
        orders.append(strength.argsort(dim=0, stable=True))
    errors = _errors(subject, orders)
    return {"random": errors[: settings.prune_orders], "smallest": None if tied else errors[-1]}


def _errors(subject: Subject, orders: Sequence[Tensor]) -> list[list[list[float]]]:
    """The error after each step of removing blocks in each order (step, replica)."""
    walks = [walk for order in orders for walk in _walks(order, none_closed(subject.network))]
    found, steps = subject.errors_of(walks), len(subject.network.blocks) + 1
    return [found[start : start + steps] for start in range(0, len(found), steps)]


def _walks(order: Tensor, masks: Tensor) -> list[Walk]:
    walks = [with_closed(masks)]
    for step in order:
        masks = masks.scatter(0, step.unsqueeze(0), True)
        walks.append(with_closed(masks))
    return walks
