"""From numbers per seed to one of three words about a sentence.

A claim is cut into parts, each a margin per seed that is positive where the claim is right. The
same seed gives two nets the same order of examples, so margins are differences within a seed. The
claim *holds* when every part's mean is above 0 at the 5% level (an intersection-union test, which
needs no correction); it *fails* when some part's mean is below 0 at 5% divided by the number of
parts; otherwise it is *undecided*.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from skipgate.judging.statistics import difference

Answer = Literal["holds", "fails", "undecided", "not run"]
ANSWERS: tuple[Answer, ...] = ("holds", "fails", "undecided", "not run")
LEVEL = 0.05


@dataclass(frozen=True)
class Part:
    """One thing that a claim says: its margin in each seed, positive where it holds."""

    name: str
    margins: tuple[float, ...]
    unit: str = ""

    @property
    def mean(self) -> float:
        """The effect."""
        return float(np.mean(self.margins))

    def bound(self, level: float) -> float:
        """How far the mean reaches to either side at a one-sided level."""
        count = len(self.margins)
        if count < 2:
            return math.inf
        return float(stats.t.isf(level, count - 1)) * self._deviation / math.sqrt(count)

    def __str__(self) -> str:
        half = self.bound(LEVEL)
        size = abs(self.mean) / self._deviation if self._deviation else None
        effect = "" if size is None else f", effect size {size:.1f}"
        return f"{self.name}: {self.mean:+.3g} ± {half:.2g} {self.unit}".rstrip() + effect

    @property
    def _deviation(self) -> float:
        return float(np.std(self.margins, ddof=1)) if len(self.margins) > 1 else 0.0


@dataclass(frozen=True)
class Outcome:
    """What the runs say about a claim, and the parts that say it."""

    answer: Answer
    parts: tuple[Part, ...] = ()
    reason: str = ""
    nets: tuple[str, ...] = ()

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
    return Outcome(answer, tuple(parts), nets=tuple(nets))


def paired(
    name: str, larger: Sequence[float | None], smaller: Sequence[float | None], unit: str = ""
) -> Part:
    """By how much `larger` exceeds `smaller`, in the seeds that have both."""
    margins = (m for m in difference(larger, smaller) if m is not None and math.isfinite(m))
    return Part(name, tuple(margins), unit)


def above(name: str, values: Sequence[float | None], threshold: float, unit: str = "") -> Part:
    """By how much values exceed a threshold."""
    return paired(name, values, [threshold] * len(values), unit)
