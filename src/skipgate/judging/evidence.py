"""From numbers per seed to one word about a sentence.

A claim is cut into parts, each a margin per seed that is positive where the claim is right. The
same seed gives two nets the same order of examples, so margins are differences within a seed. The
claim *holds* when every part's mean is above 0 at the 5% level (an intersection-union test, which
needs no correction); it *fails* when some part's mean is below 0 at 5% divided by the number of
parts; otherwise it is *undecided*.

Of a network that somebody else has trained there is one draw. Its margins are of images drawn again
and again: their spread is the standard error itself, and the margin of the images as they are is
the effect.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

from skipgate.judging.statistics import difference
from skipgate.judging.words import Answer

LEVEL = 0.05
SEEN = 0.8
"""How often an effect is to be seen: four times out of five."""
CERTAIN = 60.0
"""A mean of so many standard errors is seen every time, and SciPy's non-central t ends near it."""


@dataclass(frozen=True)
class Part:
    """One thing that a claim says: its margin in each seed, positive where it holds."""

    name: str
    margins: tuple[float, ...]
    unit: str = ""
    stated: float | None = None
    """The margin that the source's own numbers give."""
    effect: float | None = None
    """The margin of the images as they are, where margins are those of resamples."""

    @property
    def mean(self) -> float:
        """The effect."""
        return float(np.mean(self.margins)) if self.effect is None else self.effect

    @property
    def is_resampled(self) -> bool:
        """Whether its margins are those of images drawn again, and not of seeds."""
        return self.effect is not None

    def bound(self, level: float) -> float:
        """How far the mean reaches to either side at a one-sided level."""
        count = len(self.margins)
        if count < 2:
            return math.inf
        if self.is_resampled:
            return float(stats.norm.isf(level)) * self.error
        return float(stats.t.isf(level, count - 1)) * self.error

    def power(self, effect: float) -> float:
        """The chance that as many seeds of this spread put the mean above 0 if `effect` is true."""
        count = len(self.margins)
        if count < 2:
            return 0.0
        if not self.error:
            return float(effect > 0)
        if self.is_resampled:
            return float(stats.norm.sf(stats.norm.isf(LEVEL) - effect / self.error))
        return _power(count, effect / self.error)

    @property
    def visible(self) -> float:
        """The smallest effect that would have been seen four times out of five."""
        count = len(self.margins)
        if count < 2:
            return math.inf
        if self.is_resampled:
            return float(stats.norm.isf(LEVEL) + stats.norm.ppf(SEEN)) * self.error
        return _visible(count) * self.error

    def __str__(self) -> str:
        half = self.bound(LEVEL)
        told = self._deviation and not self.is_resampled
        size = abs(self.mean) / self._deviation if told else None
        effect = "" if size is None else f", effect size {size:.1f}"
        return f"{self.name}: {self.shown:+.3g} ± {half:.2g} {self.unit}".rstrip() + effect

    @property
    def shown(self) -> float:
        """The mean, without what rounding leaves of a 0."""
        return round(self.mean, 12) + 0.0

    @property
    def _deviation(self) -> float:
        # Of equal numbers the deviation is 0, and not what rounding leaves of it.
        return float(np.std(self.margins, ddof=1)) if len(set(self.margins)) > 1 else 0.0

    @property
    def error(self) -> float:
        """The standard error of the effect."""
        return self._deviation / (1 if self.is_resampled else math.sqrt(len(self.margins)))


def _power(count: int, errors: float) -> float:
    """Of a one-sided t test, where the true mean lies so many standard errors above 0."""
    limit = stats.t.isf(LEVEL, count - 1)
    return 1.0 if errors > CERTAIN else float(stats.nct.sf(limit, count - 1, errors))


@functools.cache
def _visible(count: int) -> float:
    """The true mean, in standard errors, that is seen with the chance `SEEN`."""
    return float(optimize.brentq(lambda errors: _power(count, errors) - SEEN, 0.0, CERTAIN))


@dataclass(frozen=True)
class Outcome:
    """What the runs say about a claim, and the parts that say it."""

    answer: Answer
    parts: tuple[Part, ...] = ()
    reason: str = ""
    nets: tuple[str, ...] = ()
    test: str = ""
    """How the sentence is tested, in one sentence."""
    beside: tuple[Part, ...] = ()
    """Margins that are shown and decide nothing."""

    @property
    def power(self) -> float | None:
        """The chance of `holds` if the source's own numbers are true; None where it has none.

        The product over parts, which is exact where they are independent.
        """
        found = [part.power(part.stated) for part in self.parts if part.stated is not None]
        return math.prod(found) if found and len(found) == len(self.parts) else None

    def __str__(self) -> str:
        return "; ".join(map(str, self.parts)) or self.reason


def decide(parts: Sequence[Part], nets: Sequence[str]) -> Outcome:
    """One word for all parts."""
    if not parts or any(not part.margins for part in parts):
        return Outcome(
            "undecided", reason="no seed has the numbers that this takes", nets=tuple(nets)
        )
    if all(part.mean - part.bound(LEVEL) > 0 for part in parts):
        answer: Answer = "holds"
    elif any(part.mean + part.bound(LEVEL / len(parts)) < 0 for part in parts):
        answer = "fails"
    else:
        answer = "undecided"
    return Outcome(answer, tuple(parts), nets=tuple(dict.fromkeys(nets)))


def paired(
    name: str, larger: Sequence[float | None], smaller: Sequence[float | None], unit: str = ""
) -> Part:
    """By how much `larger` exceeds `smaller`, in the seeds that have both."""
    margins = (m for m in difference(larger, smaller) if m is not None and math.isfinite(m))
    return Part(name, tuple(margins), unit)


def above(name: str, values: Sequence[float | None], threshold: float, unit: str = "") -> Part:
    """By how much values exceed a threshold."""
    return paired(name, values, [threshold] * len(values), unit)


def below(name: str, values: Sequence[float | None], threshold: float, unit: str = "") -> Part:
    """By how much values fall short of a threshold."""
    return paired(name, [threshold] * len(values), values, unit)
