"""Pruning: the error as more and more blocks become their shortcuts (gresnet-v2 Figure 5, right)."""

from typing import Any

import torch
from torch import Tensor

from skipgate.nets.surgery import closed
from skipgate.params import Probes
from skipgate.probes.gates import gate_means
from skipgate.probes.subject import Subject
from skipgate.training.streams import stream


def probe(subject: Subject, settings: Probes) -> dict[str, Any]:
    """Error in % after removing 0, 1, ... blocks: at random as [order][removed][seed], smallest gate first as [removed][seed].

    Where all gates of a network are equal there is no smallest, and `smallest` is null.
    """
    network = subject.network
    count = len(network.blocks)
    orders = [torch.randperm(count, generator=stream(draw, "prune")) for draw in range(settings.prune_orders)]
    shared = [order.unsqueeze(1).expand(-1, network.replicas) for order in orders]
    strength = gate_means(subject, [block.T for block in network.blocks])
    ranked = strength.argsort(dim=0, stable=True)
    tied = bool((strength == strength[0]).all())
    return {
        "random": [_errors(subject, order) for order in shared],
        "smallest": None if tied else _errors(subject, ranked),
    }


def _errors(subject: Subject, order: Tensor) -> list[list[float]]:
    """The error after each step of removing blocks in `order` (step, replica)."""
    masks = torch.zeros(order.shape, dtype=torch.bool)
    errors = []
    for step in range(len(order) + 1):
        if step:
            masks.scatter_(0, order[step - 1 : step], True)
        with closed(subject.network, masks):
            errors.append(subject.errors())
    return errors
