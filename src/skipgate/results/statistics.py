"""Means over seeds, and how far they can be trusted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

PRIOR_FREEDOM = 4
"""A spread from the size of the test set counts as much as this many degrees of freedom from seeds."""


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


def prior_deviation(error: float, images: int) -> float:
    """Seed-to-seed spread expected of an error in % on so many test images: sqrt(e (1 - e) / 2n)."""
    share = min(max(error / 100, 0.5 / images), 1 - 0.5 / images)
    return 100 * math.sqrt(share * (1 - share) / (2 * images))


def pooled_deviation(groups: Sequence[Estimate], prior: float | None) -> tuple[float, int]:
    """Spread pooled over groups and, where one is known, a prior worth a few degrees of freedom; with its freedom."""
    freedom = sum(group.count - 1 for group in groups)
    squares = sum((group.count - 1) * group.deviation**2 for group in groups)
    if prior is not None:
        freedom, squares = freedom + PRIOR_FREEDOM, squares + PRIOR_FREEDOM * prior**2
    return (math.sqrt(squares / freedom), freedom) if freedom else (math.inf, 1)
