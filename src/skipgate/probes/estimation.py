"""Estimation error (unrolled Equation 1 and Figure 3).

It is how far a block's output is from that of its stage's last block.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from skipgate.evaluation import evaluating
from skipgate.nets.block import Block
from skipgate.nets.network import Network
from skipgate.probes.subject import Subject
from skipgate.settings import Probes
from skipgate.streams import stream

SOME = 1000
"""Units that are watched from resample to resample."""


Found = dict[str, list[list[float]]]


@torch.no_grad()
def probe(subject: Subject, settings: Probes) -> dict[str, Any]:
    """Mean and standard deviation of the error as [block][seed].

    They are taken per unit over examples, then averaged over units. `size` is the same standard
    deviation of the last block's output itself, so that errors can be set against it. `before` has
    all three again for the sums before the last ReLU, where settings ask for them.
    """
    network = subject.network
    stages = [block.site.stage for block in network.blocks]
    after = Errors(subject, stages)
    before = Errors(subject, stages) if settings.estimation.sums else None
    with evaluating(network), _summed(network if before else None) as sums:
        for x, _targets in subject.batches():
            after.add(_outputs(network, x))
            if before is not None:
                before.add(sums)
            sums.clear()
    sides = {} if before is None else {"before": before.found()}
    return {"stage": stages, **after.found(), **sides}


class Errors:
    """Estimation errors of all blocks."""

    def __init__(self, subject: Subject, stages: Sequence[int]) -> None:
        self._last = [max(i for i, s in enumerate(stages) if s == mine) for mine in stages]
        self._errors = [Moments(subject) for _ in stages]
        self._ends = {end: Moments(subject) for end in self._last}

    def add(self, outputs: Sequence[Tensor]) -> None:
        """Take up what all blocks give for a batch."""
        for place, end in enumerate(self._last):
            self._errors[place].add(outputs[place] - outputs[end])
        for end, moments in self._ends.items():
            moments.add(outputs[end])

    def found(self) -> Found:
        """All numbers as [block][seed]."""
        return {
            "mean": [m.mean().tolist() for m in self._errors],
            "deviation": [m.deviation().tolist() for m in self._errors],
            "size": [self._ends[end].deviation().tolist() for end in self._last],
        }


@contextmanager
def _summed(network: Network | None) -> Iterator[list[Tensor]]:
    """What blocks hand to their last step, the sum of their two paths, block by block.

    Without a network nothing is watched.
    """
    found: list[Tensor] = []
    hooks = [
        block.after.register_forward_pre_hook(lambda _, inputs: found.append(inputs[0]))
        for block in (network.blocks if network is not None else ())
    ]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def _outputs(network: Network, x: Tensor) -> list[Tensor]:
    """What every block gives."""
    found: list[Tensor] = []

    def visit(_: int, block: Block, h: Tensor) -> Tensor:
        found.append(block(h))
        return found[-1]

    network.follow(network.stem(x), visit)
    return found


def _some_of(units: int) -> Tensor:
    """Units in a random order that is always the same; all of them where they are few."""
    return torch.randperm(units, generator=stream(0, "units"))[:SOME]


class Moments:
    """Mean and standard deviation over examples, unit by unit, of values (replica, batch, ...).

    Where a subject is resampled, the spread of a thousand units says by how much the deviation of
    all units varies from resample to resample.
    """

    def __init__(self, subject: Subject | None = None) -> None:
        self._counts = subject.counts if subject is not None and subject.resamples else None
        self._count = 0
        self._sum: Tensor | float = 0.0
        self._squares: Tensor | float = 0.0
        self._means: list[Tensor] = []
        self._some: list[Tensor] = []

    def add(self, values: Tensor) -> None:
        """Take up a batch."""
        values = values.double()
        self._count += values.shape[1]
        self._sum = self._sum + values.sum(1)
        self._squares = self._squares + values.square().sum(1)
        if self._counts is not None:
            units = values[0].flatten(1)
            self._means.append(units.mean(1))
            self._some.append(units[:, _some_of(units.shape[1])])

    def mean(self) -> Tensor:
        """The mean of each unit, averaged over units, by replica or resample."""
        if self._counts is not None:
            return self._counts @ torch.cat(self._means) / self._count
        return (torch.as_tensor(self._sum) / self._count).flatten(1).mean(1)

    def deviation(self) -> Tensor:
        """The standard deviation of each unit, averaged over units, by replica or resample."""
        mean = torch.as_tensor(self._sum) / self._count
        variance = torch.as_tensor(self._squares) / self._count - mean.square()
        whole = variance.clamp(min=0).sqrt().flatten(1).mean(1)
        return whole if self._counts is None else whole * self._relative(self._counts)

    def _relative(self, counts: Tensor) -> Tensor:
        """The deviation of some units in each resample, over that in the examples as they are."""
        some = torch.cat(self._some)
        mean = counts @ some / self._count
        variance = counts @ some.square() / self._count - mean.square()
        found = variance.clamp(min=0).sqrt().mean(1)
        return torch.where(found[0] > 0, found / found[0], 1.0)
