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
BORROWED = 8
"""Degrees of freedom that the other cells' spread counts for beside a cell's own, at the most.

The most, in steps of four, at which `pipeline.calibrate` finds no more false alarms than promised.
"""
UNLIKE = 0.01
"""A spread that is less probable than this beside the rest's is not pooled with them."""


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
    freedom: float


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
    """The spread of each cell of a table, its own shrunk towards that of the others.

    Cells at different levels spread differently, but in proportion to what is expected at their
    level; so deviations are divided by their scales, shrunk, and multiplied back. As in the
    moderated t (Smyth 2004), s~^2 = (d0 s0^2 + d s^2) / (d0 + d) with d0 + d degrees of freedom,
    where s0 is pooled over the other cells; and as in its robust form (Phipson et al. 2016) d0 is
    smaller for a cell that spreads further than they do, down to 0.
    """
    prior = 1.0 if scales_are_prior else None
    ratios = [
        Estimate(g.mean / s, 0.0, g.deviation / s, g.count)
        for g, s in zip(groups, scales, strict=True)
    ]
    alike = _alike(ratios, prior)
    found = []
    for place, scale in enumerate(scales):
        others = [ratios[i] for i in alike if i != place]
        shrunk = _shrunk(ratios[place], others, prior)
        found.append(Spread(shrunk.deviation * scale, shrunk.freedom))
    return found


def _alike(ratios: Sequence[Estimate], prior: float | None) -> list[int]:
    """The cells that can be pooled: the largest spread is left out while it is unlike the rest.

    A network that sometimes fails to train varies by tens of points, and says nothing of others.
    """
    kept = sorted(range(len(ratios)), key=lambda i: ratios[i].deviation)
    while len(kept) > 1:
        *rest, largest = kept
        if _likeness(ratios[largest], [ratios[i] for i in rest], prior) >= UNLIKE:
            break
        kept = rest
    return kept


def _likeness(own: Estimate, others: Sequence[Estimate], prior: float | None) -> float:
    """The chance of a spread at least as large, if the cell spreads as the others do."""
    shared, freedom = pooled_deviation(others, prior)
    if not shared:
        return float(not own.deviation)
    return float(special.fdtrc(own.count - 1, freedom, (own.deviation / shared) ** 2))


def _shrunk(own: Estimate, others: Sequence[Estimate], prior: float | None) -> Spread:
    freedom = own.count - 1
    if not others and prior is None:
        return Spread(own.deviation, freedom)
    shared, behind = pooled_deviation(others, prior)
    borrowed = min(1.0, 2 * _likeness(own, others, prior)) * min(BORROWED, behind)
    squares = borrowed * shared**2 + freedom * own.deviation**2
    return Spread(math.sqrt(squares / (borrowed + freedom)), borrowed + freedom)


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
