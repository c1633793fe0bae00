"""Learning rates. A schedule is asked at a moment of a training, and may end it."""

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from skipgate.reader import between, later, positive

WARM = 0.1
History = dict[str, list[list[float]]]
"""A metric's values as [epoch][seed]; a loss that is NaN is kept as such."""


@dataclass(frozen=True)
class Moment:
    """Where a training stands, before its next step."""

    epoch: int
    """Epochs that are behind it."""
    epochs: int
    """Epochs that the recipe allows."""
    step: int = 0
    """Steps that are behind it, over all epochs."""
    history: History = field(default_factory=dict)


class Schedule(ABC):
    """The rate at every moment, given the first one."""

    by_seed: ClassVar[bool] = False
    """Whether the rate depends on a seed's own results: such nets need `stack: 1`."""

    @abstractmethod
    def rate(self, first: float, moment: Moment) -> float:
        """The learning rate of the next step."""

    def is_over(self, moment: Moment) -> bool:
        """Whether the training ends here."""
        return moment.epoch >= moment.epochs

    def milestones(self, epochs: int) -> list[int]:
        """A few epochs that show all that the schedule does; the twin trains these alone.

        Here the first of every stretch of equal rate: a schedule of many rates names its own.
        """
        late = sys.maxsize  # past all steps that a schedule begins with
        rates = [self.rate(1.0, Moment(epoch, epochs, late)) for epoch in range(epochs)]
        return [e for e in range(epochs) if e == 0 or rates[e] != rates[e - 1]]


@dataclass(frozen=True)
class ConstantRate(Schedule):
    """The same learning rate all along."""

    kind: Literal["constant"]

    def rate(self, first: float, moment: Moment) -> float:  # noqa: ARG002  it is the same always
        return first


@dataclass(frozen=True)
class Steps(Schedule):
    """Multiply the learning rate by `factor` at each of these epochs."""

    kind: Literal["steps"]
    at: tuple[int, ...]
    factor: float
    warm: int = later(0)
    """So many steps before all others take a tenth of the rate (He et al. 2015, section 4.2)."""

    def __post_init__(self) -> None:
        positive(factor=self.factor, **{"an epoch of at": min(self.at, default=1)})
        between(0, math.inf, warm=self.warm)

    def rate(self, first: float, moment: Moment) -> float:
        if moment.step < self.warm:
            return first * WARM
        return float(first * self.factor ** sum(moment.epoch >= at for at in self.at))


@dataclass(frozen=True)
class Fractions(Schedule):
    """Multiply the learning rate by `factor` after each of these fractions of all epochs."""

    kind: Literal["fractions"]
    at: tuple[float, ...]
    factor: float

    def __post_init__(self) -> None:
        positive(factor=self.factor)
        for fraction in self.at:
            between(0, 1, **{"a fraction of at": fraction})

    def rate(self, first: float, moment: Moment) -> float:
        done = moment.epoch / moment.epochs
        return float(first * self.factor ** sum(done >= at for at in self.at))
