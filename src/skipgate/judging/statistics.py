"""Means over seeds, and how far they can be trusted.

Also what a paper's one number may have been a draw of.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import integrate, special, stats

PRIOR_FREEDOM = 4
"""Degrees of freedom, as if from seeds, that a spread from the size of the test set counts for."""
WILD = 5.0
"""Seeds that spread this many times as far as expected are of another kind.

Such a network sometimes fails to train.
"""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its 95% interval (mean +- half)."""

    mean: float
    half: float
    deviation: float
    count: int

    def __str__(self) -> str:
        if self.count == 1:
            return f"{self.mean:.2f} (one seed)"
        return f"{self.mean:.2f} ± {self.half:.2f}"


@dataclass(frozen=True)
class Spread:
    """A seed-to-seed standard deviation, and the degrees of freedom behind it."""

    deviation: float
    freedom: int


def estimate(values: Sequence[float | None]) -> Estimate | None:
    """The mean of the seeds that gave a number; None if none did."""
    numbers = [v for v in values if v is not None]
    if not numbers:
        return None
    if len(numbers) == 1:
        return Estimate(numbers[0], math.inf, 0.0, 1)
    deviation = float(np.std(numbers, ddof=1))
    half = float(stats.t.ppf(0.975, len(numbers) - 1)) * deviation / math.sqrt(len(numbers))
    return Estimate(float(np.mean(numbers)), half, deviation, len(numbers))


def difference(a: Sequence[float | None], b: Sequence[float | None]) -> list[float | None]:
    """The difference a - b per seed; None where either is None.

    Seeds that only one of them has are left out.
    """
    pairs = zip(a, b, strict=False)
    return [None if x is None or y is None else x - y for x, y in pairs]


def pooled_deviation(groups: Sequence[Estimate], prior: float | None) -> tuple[float, int]:
    """The spread pooled over groups, with its degrees of freedom.

    A prior, where one is known, is worth `PRIOR_FREEDOM` of these.
    """
    freedom = sum(group.count - 1 for group in groups)
    squares = sum((group.count - 1) * group.deviation**2 for group in groups)
    if prior is not None:
        freedom = freedom + PRIOR_FREEDOM
        squares = squares + PRIOR_FREEDOM * prior**2
    return (math.sqrt(squares / freedom), freedom) if freedom else (math.inf, 1)


def spreads(
    groups: Sequence[Estimate], scales: Sequence[float], *, scales_are_prior: bool
) -> list[Spread]:
    """The spread of each cell of a table, pooled over the table in units of each cell's `scale`.

    Cells at different levels spread differently, but in proportion to what is expected at their
    level; so deviations are divided by their scales, pooled, and multiplied back. A cell that
    spreads `WILD` times as far is not pooled and stands for itself.
    """
    tame = [g.deviation <= WILD * scale for g, scale in zip(groups, scales, strict=True)]
    ratios = [
        Estimate(g.mean / s, 0.0, g.deviation / s, g.count)
        for g, s, ok in zip(groups, scales, tame, strict=True)
        if ok
    ]
    shared = pooled_deviation(ratios, 1.0 if scales_are_prior else None)
    found = []
    for group, scale, ok in zip(groups, scales, tame, strict=True):
        own = pooled_deviation([group], None)
        found.append(Spread(shared[0] * scale, shared[1]) if ok else Spread(*own))
    return found


@functools.cache
def draw_moments(statistic: str, runs: int) -> tuple[float, float]:
    """Mean and variance of a statistic of `runs` draws from the standard normal.

    `best` is the smallest.
    """
    if statistic == "mean" or runs == 1:
        return 0.0, 1 / runs
    if statistic == "median" and runs % 2 == 0:
        raise ValueError("the median of an even number of runs is not a single run; say 'mean'")
    place = 1 if statistic == "best" else (runs + 1) // 2
    ways = runs * special.comb(runs - 1, place - 1, exact=True)

    def moment(power: int) -> float:
        def density(x: float) -> float:
            below = float(special.ndtr(x))
            return (
                x**power
                * ways
                * below ** (place - 1)
                * (1 - below) ** (runs - place)
                * float(stats.norm.pdf(x))
            )

        return float(integrate.quad(density, -12, 12)[0])

    mean = moment(1)
    return mean, moment(2) - mean**2
