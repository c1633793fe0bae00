"""All parameters of a network in a few flat tensors.

So an optimiser makes a few large steps, not many small ones.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from skipgate.nets import native
from skipgate.nets.layers import BatchNorm
from skipgate.nets.network import Network
from skipgate.settings import Decay, Sgd
from skipgate.settings import Nadam as NadamSettings
from skipgate.training.nadam import Nadam

Kind = Literal["decayed", "gates", "bare"]
"""How weight decay acts on a parameter: as on weights, at the rate of gates, or not at all."""
PIECE = 65536
"""Numbers an optimiser steps over at once.

With their gradients and moments they fit into a core's cache.
"""


def optimiser(
    network: Network, settings: Sgd | NadamSettings, decay: Decay
) -> torch.optim.Optimizer:
    """The optimiser over the network's flattened parameters.

    Parameters that are decayed alike form a group.
    """
    groups = []
    by_kind: dict[Kind, list[nn.Parameter]] = {"decayed": [], "gates": [], "bare": []}
    for parameter, kind in _with_decay(network, decay):
        by_kind[kind].append(parameter)
    rates = {"decayed": decay.rate, "gates": decay.gate_rate, "bare": 0.0}
    for kind, members in by_kind.items():
        if members:
            pieces = [_flatten(piece) for piece in _pieces(members)]
            groups.append({"params": pieces, "weight_decay": rates[kind]})
    if isinstance(settings, Sgd):
        return torch.optim.SGD(groups, settings.rate, settings.momentum, nesterov=settings.nesterov)
    betas = settings.beta1, settings.beta2
    compiled = next(network.parameters()).device.type == "cpu" and native.available()
    make = Nadam if compiled else torch.optim.NAdam
    return make(groups, settings.rate, betas, momentum_decay=settings.momentum_decay)


def _with_decay(network: Network, decay: Decay) -> list[tuple[nn.Parameter, Kind]]:
    found: dict[nn.Parameter, Kind] = {}  # one that blocks share stands, and is stepped, once
    of_gates = {id(p) for gate in network.gates for p in gate.parameters()}
    for module in network.modules():
        for name, parameter in module.named_parameters(recurse=False):
            if id(parameter) in of_gates:
                own: Kind = "gates" if decay.gate_rate else "decayed"
                found[parameter] = own if decay.gates else "bare"
            elif isinstance(module, BatchNorm):
                found[parameter] = "decayed" if decay.norms else "bare"
            else:
                found[parameter] = "decayed" if decay.biases or name != "bias" else "bare"
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
