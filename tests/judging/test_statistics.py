"""Means over seeds."""

import math

import pytest

from skipgate.judging.statistics import estimate


def test_an_estimate_is_a_mean_with_a_t_interval():
    """2 and 7 as mean and variance; t of 2 degrees of freedom at 97.5% is 4.303."""
    found = estimate([0.0, 1.0, 5.0])
    assert (found.mean, found.count) == (2.0, 3)
    assert found.deviation == pytest.approx(math.sqrt(7))
    assert found.half == pytest.approx(4.303 * math.sqrt(7 / 3), rel=1e-3)


def test_a_seed_without_a_number_counts_for_nothing():
    assert estimate([1.0, None, 3.0]) == estimate([1.0, 3.0])
    assert estimate([None]) is None
