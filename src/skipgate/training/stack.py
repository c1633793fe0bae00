"""All parameters of a network in a few flat tensors.

So an optimiser makes a few large steps, not many small ones.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from skipgate.nets import native
from skipgate.nets.layers import BatchNorm
from skipgate.nets.network import Network
from skipgate.settings import Decay, Sgd
from skipgate.settings import Nadam as NadamSettings
from skipgate.training.nadam import Nadam

PIECE = 65536
"""Numbers an optimiser steps over at once.

With their gradients and moments they fit into a core's cache.
"""


def optimiser(
    network: Network, settings: Sgd | NadamSettings, decay: Decay
) -> torch.optim.Optimizer:
    """The optimiser over the network's flattened parameters.

    Decayed parameters form a group of their own.
    """
    groups = []
    for decayed in (True, False):
        members = [p for p, choice in _with_decay(network, decay) if choice == decayed]
        if members:
            pieces = [_flatten(piece) for piece in _pieces(members)]
            groups.append({"params": pieces, "weight_decay": decay.rate if decayed else 0.0})
    if isinstance(settings, Sgd):
        return torch.optim.SGD(groups, settings.rate, settings.momentum, nesterov=settings.nesterov)
    betas = settings.beta1, settings.beta2
    compiled = next(network.parameters()).device.type == "cpu" and native.available()
    kind = Nadam if compiled else torch.optim.NAdam
    return kind(groups, settings.rate, betas, momentum_decay=settings.momentum_decay)


def _with_decay(network: Network, decay: Decay) -> list[tuple[nn.Parameter, bool]]:
    found: dict[nn.Parameter, bool] = {}  # one that blocks share stands, and is stepped, once
    of_gates = {id(p) for gate in network.gates for p in gate.parameters()}
    for module in network.modules():
        for name, parameter in module.named_parameters(recurse=False):
            if id(parameter) in of_gates:
                found[parameter] = decay.gates
            elif isinstance(module, BatchNorm):
                found[parameter] = decay.norms
            else:
                found[parameter] = decay.biases if name == "bias" else True
    return list(found.items())


def _pieces(members: Sequence[nn.Parameter]) -> list[list[nn.Parameter]]:
    """The members in order, cut into pieces of at most `PIECE` numbers where that is possible."""
    pieces: list[list[nn.Parameter]] = [[]]
    for p in members:
        if pieces[-1] and sum(map(torch.numel, pieces[-1])) + p.numel() > PIECE:
            pieces.append([])
        pieces[-1].append(p)
    return pieces


def _flatten(members: Sequence[nn.Parameter]) -> Tensor:
    """One leaf whose slices the members and their gradients become.

    Backward then fills its gradient in place.
    """
    flat = torch.cat([p.detach().flatten() for p in members]).requires_grad_()
    flat.grad = torch.zeros_like(flat)
    offset = 0
    for p in members:
        piece = slice(offset, offset + p.numel())
        p.data = flat.detach()[piece].view(p.shape)
        p.grad = flat.grad[piece].view(p.shape)
        offset += p.numel()
    return flat
