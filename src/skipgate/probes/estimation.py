"""Estimation error (unrolled Equation 1 and Figure 3).

It is how far a block's output is from that of its stage's last block.
"""

from typing import Any

import torch
from torch import Tensor

from skipgate.evaluation import evaluating
from skipgate.nets.block import Block
from skipgate.nets.network import Network
from skipgate.probes.subject import Subject
from skipgate.settings import Probes


@torch.no_grad()
def probe(subject: Subject, _: Probes) -> dict[str, Any]:
    """Mean and standard deviation of the error as [block][seed].

    They are taken per unit over examples, then averaged over units. `size` is the same standard
    deviation of the last block's output itself, so that errors can be set against it.
    """
    network = subject.network
    stages = [block.site.stage for block in network.blocks]
    last = [max(i for i, stage in enumerate(stages) if stage == mine) for mine in stages]
    moments = [Moments() for _ in range(2 * len(stages))]
    with evaluating(network):
        for x, _targets in subject.batches():
            outputs = _outputs(network, x)
            for place, end in enumerate(last):
                moments[place].add(outputs[place] - outputs[end])
                moments[len(stages) + place].add(outputs[end])
    errors = moments[: len(stages)]
    ends = moments[len(stages) :]
    return {
        "stage": stages,
        "mean": [m.mean().tolist() for m in errors],
        "deviation": [m.deviation().tolist() for m in errors],
        "size": [m.deviation().tolist() for m in ends],
    }


def _outputs(network: Network, x: Tensor) -> list[Tensor]:
    """What every block gives."""
    found: list[Tensor] = []

    def visit(_: int, block: Block, h: Tensor) -> Tensor:
        found.append(block(h))
        return found[-1]

    network.follow(network.stem(x), visit)
    return found


class Moments:
    """Mean and standard deviation over examples, unit by unit, of values (replica, batch, ...)."""

    def __init__(self) -> None:
        self._count = 0
        self._sum: Tensor | float = 0.0
        self._squares: Tensor | float = 0.0

    def add(self, values: Tensor) -> None:
        """Take up a batch."""
        values = values.double()
        self._count += values.shape[1]
        self._sum = self._sum + values.sum(1)
        self._squares = self._squares + values.square().sum(1)

    def mean(self) -> Tensor:
        """The mean of each unit, averaged over units, by replica."""
        return (torch.as_tensor(self._sum) / self._count).flatten(1).mean(1)

    def deviation(self) -> Tensor:
        """The standard deviation of each unit, averaged over units, by replica."""
        mean = torch.as_tensor(self._sum) / self._count
        variance = torch.as_tensor(self._squares) / self._count - mean.square()
        return variance.clamp(min=0).sqrt().flatten(1).mean(1)
