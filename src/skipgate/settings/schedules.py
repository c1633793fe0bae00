"""Learning rates. A schedule is asked at a moment of a training, and may end it."""

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Literal

from skipgate.files import Problem
from skipgate.reader import between, later, nearest, positive

WARM = 0.1
SHOWN = 4
"""Epochs of the twin of a schedule that looks back at two."""
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

    counts_blocks: ClassVar[bool] = False
    """Whether the rate depends on how many blocks are discarded: some gates must close alone."""

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
class Adaptive(Schedule):
    """Steps that begin anew, and come sooner, whenever more blocks are discarded (Yu et al. 2018).

    Until the first loss the rate is multiplied by `factor` at each epoch of `at`. After an epoch
    in which more blocks were strict identity than in the one before, it is the first rate again,
    and is multiplied after each of `after` more epochs.
    """

    kind: Literal["adaptive"]
    at: tuple[int, ...]
    after: tuple[int, ...]
    factor: float
    last_rate: float = 0.0
    """What the rate is in the end, from `last_at` or, after a loss, from `last_after` more epochs.

    0 means no such step.
    """
    last_at: int = 0
    last_after: int = 0
    by_seed: ClassVar[bool] = True
    counts_blocks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("at", "after"):
            epochs = getattr(self, name)
            positive(**{f"an epoch of {name}": min(epochs, default=1)})
            if list(epochs) != sorted(set(epochs)):
                raise ValueError(f"the epochs of {name} must rise, found {list(epochs)}")
        positive(factor=self.factor)
        self._check_last()

    def _check_last(self) -> None:
        between(0, math.inf, last_rate=self.last_rate)
        if not self.last_rate:
            if self.last_at or self.last_after:
                raise ValueError("last_at and last_after need a last_rate")
        elif self.last_at <= max(self.at, default=0) or self.last_after <= max(
            self.after, default=0
        ):
            raise ValueError("last_rate needs a last_at past at, and a last_after past after")

    def rate(self, first: float, moment: Moment) -> float:
        lost = _last_loss(moment.history)
        passed = moment.epoch - lost
        steps, last = (self.after, self.last_after) if lost else (self.at, self.last_at)
        if self.last_rate and passed >= last:
            return self.last_rate
        return float(first * self.factor ** sum(passed >= step for step in steps))


def _last_loss(history: History) -> int:
    """The epoch that follows the last in which the count of discarded blocks grew; 0 if none."""
    counts = [0.0, *(row[0] for row in history.get("discarded", ()))]
    grown = [epoch for epoch in range(1, len(counts)) if counts[epoch] > counts[epoch - 1]]
    return grown[-1] if grown else 0


@dataclass(frozen=True)
class Halving(Schedule):
    """Multiply the rate by `factor` after every epoch that brought too little (Kim et al. 2015).

    Too little is a metric of the validation text, of which less is better, that is not lower than
    after the epoch before by `unless` or more.
    """

    kind: Literal["halving"]
    metric: str
    unless: float
    factor: float = 0.5
    by_seed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(factor=self.factor)

    def rate(self, first: float, moment: Moment) -> float:
        if moment.epoch and self.metric not in moment.history:
            known = nearest(self.metric, moment.history)
            raise Problem(f"the schedule 'halving' looks at {self.metric}, not recorded; {known}")
        values = [row[0] for row in moment.history.get(self.metric, ())]
        # A value that is NaN has brought nothing.
        poor = sum(not before - after >= self.unless for before, after in pairwise(values))
        return float(first * self.factor**poor)

    def milestones(self, epochs: int) -> list[int]:
        """Those of which the second and the third may follow too little."""
        return list(range(min(epochs, SHOWN)))


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
