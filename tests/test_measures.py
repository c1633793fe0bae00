"""A measure says how its numbers are read."""

import math

import pytest

from skipgate.settings import MEAN_GATE, Classify, Measure
from skipgate.settings.measures import error_rate

ERROR = error_rate(10)
LARGER = Measure("r", "correlation", "r", lower_is_better=False, failed=0.1)


def test_an_error_rate():
    assert (ERROR.key, ERROR.axis, ERROR.text(2.345)) == ("test_error", "test error (%)", "2.35%")
    assert ERROR.guessing == pytest.approx(90)
    assert error_rate(100).guessing == pytest.approx(99)
    assert ERROR.has_learnt(49.9)
    assert not ERROR.has_learnt(50.0)
    assert Classify("classify", (3, 32, 32), 100, 255, 10, "").measure == error_rate(100)


def test_direction():
    assert ERROR.best([3.0, 1.0, 2.0]) == ERROR.worst([1.0]) == 1.0
    assert LARGER.best([3.0, 1.0]) == LARGER.worst([3.0, 5.0]) == 3.0
    assert LARGER.has_learnt(0.2)
    assert not LARGER.has_learnt(0.1)
    assert ERROR.best([]) is None


def test_the_spread_to_expect():
    """Binomial: sqrt(e (1 - e) / 2n) in %, never 0; proportional: the level itself."""
    assert ERROR.deviation(1.6, 10000) == pytest.approx(100 * math.sqrt(0.016 * 0.984 / 20000))
    assert ERROR.deviation(0.0, 100) > 0
    assert ERROR.is_known
    assert MEAN_GATE.deviation(-2.5, 0) == 2.5
    assert not MEAN_GATE.is_known


def test_names_of_curves_and_figures_are_refused():
    for name in ("loss", "training", "paths"):
        with pytest.raises(ValueError, match=f"a measure cannot be called '{name}'"):
            Measure(name, "x", "")


def test_where_nothing_is_known_of_failing_every_network_has_learnt():
    assert Measure("mse", "mean squared error", "").has_learnt(1e9)
    assert Measure("r", "correlation", "", lower_is_better=False).has_learnt(-1.0)
