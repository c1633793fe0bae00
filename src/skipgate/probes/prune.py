"""Pruning: the error as more and more blocks become their shortcuts (gresnet-v2 Figure 5, right)."""

from typing import Any

import torch
from torch import Tensor

from skipgate.evaluation import Images, evaluate
from skipgate.nets.network import Network
from skipgate.nets.surgery import closed
from skipgate.params import Probes
from skipgate.probes.gates import gate_means
from skipgate.training.streams import stream


def probe(network: Network, images: Images, settings: Probes) -> dict[str, Any]:
    """Error in % after removing 0, 1, ... blocks: at random as [order][removed][seed], smallest gate first as [removed][seed].

    Where all gates of a network are equal there is no smallest, and `smallest` is null.
    """
    count = len(network.blocks)
    orders = [torch.randperm(count, generator=stream(draw, "prune")) for draw in range(settings.prune_orders)]
    shared = [order.unsqueeze(1).expand(-1, network.replicas) for order in orders]
    strength = gate_means(network, images, settings.batch, [block.T for block in network.blocks])
    ranked = strength.argsort(dim=0, stable=True)
    tied = bool((strength == strength[0]).all())
    return {
        "random": [_errors(network, images, settings.batch, order) for order in shared],
        "smallest": None if tied else _errors(network, images, settings.batch, ranked),
    }


def _errors(network: Network, images: Images, batch: int, order: Tensor) -> list[list[float]]:
    """The error after each step of removing blocks in `order` (step, replica)."""
    masks = torch.zeros(order.shape, dtype=torch.bool)
    errors = []
    for step in range(len(order) + 1):
        if step:
            masks.scatter_(0, order[step - 1 : step], True)
        with closed(network, masks):
            errors.append(evaluate(network, images, network.replicas, batch)[0].tolist())
    return errors
