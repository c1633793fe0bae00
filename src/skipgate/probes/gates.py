"""The values of the gates over the test set, block by block."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from skipgate.params import Probes
from skipgate.probes.subject import Subject


def probe(subject: Subject, _: Probes) -> dict[str, Any]:
    """Mean of T and of C over images and units, as [block][seed]."""
    blocks = subject.network.blocks
    values = gate_means(subject, [block.T for block in blocks] + [block.C for block in blocks]).tolist()
    return {"T": values[: len(blocks)], "C": values[len(blocks) :]}


def gate_means(subject: Subject, gates: Sequence[nn.Module]) -> Tensor:
    """Mean value of each gate, (gate, replica), watched during an ordinary evaluation."""
    totals = torch.zeros(len(gates), subject.network.replicas, dtype=torch.float64)
    weights = [0] * len(gates)

    def watch(index: int) -> Callable[[nn.Module, Any, Tensor | float], None]:
        def add(_: nn.Module, inputs: tuple[Tensor, ...], value: Tensor | float) -> None:
            images = inputs[0].shape[1]
            weights[index] += images
            mean = value.double().flatten(1).mean(1).cpu() if isinstance(value, Tensor) else value
            totals[index] += images * mean

        return add

    hooks = [gate.register_forward_hook(watch(i)) for i, gate in enumerate(gates)]
    try:
        subject.errors()
    finally:
        for hook in hooks:
            hook.remove()
    return totals / torch.tensor(weights).unsqueeze(1)
