"""The values of the gates over the test set, block by block."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from skipgate.evaluation import Images, evaluate
from skipgate.nets.network import Network
from skipgate.params import Probes


def probe(network: Network, images: Images, settings: Probes) -> dict[str, Any]:
    """Mean of T and of C over images and units, as [block][seed]."""
    return {
        "T": gate_means(network, images, settings.batch, [block.T for block in network.blocks]).tolist(),
        "C": gate_means(network, images, settings.batch, [block.C for block in network.blocks]).tolist(),
    }


def gate_means(network: Network, images: Images, batch: int, gates: list[nn.Module]) -> Tensor:
    """Mean value of each gate, (gate, replica), watched during an ordinary evaluation."""
    totals = torch.zeros(len(gates), network.replicas, dtype=torch.float64)
    calls = [0] * len(gates)

    def watch(index: int) -> Callable[[nn.Module, Any, Tensor | float], None]:
        def add(_: nn.Module, __: Any, value: Tensor | float) -> None:
            calls[index] += 1
            if isinstance(value, Tensor):
                totals[index] += value.double().flatten(1).mean(1).cpu()
            else:
                totals[index] += value

        return add

    hooks = [gate.register_forward_hook(watch(i)) for i, gate in enumerate(gates)]
    try:
        evaluate(network, images, network.replicas, batch)
    finally:
        for hook in hooks:
            hook.remove()
    return totals / torch.tensor(calls).unsqueeze(1)
