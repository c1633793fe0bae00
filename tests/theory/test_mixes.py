"""The best mix of two estimates."""

import math

import pytest

from skipgate.theory import mixes
from skipgate.theory.mixes import CASES, Errors, best


@pytest.fixture(scope="module")
def found():
    return mixes.study()["cases"]


@pytest.mark.parametrize("name", CASES)
def test_no_other_weight_has_less_variance(name):
    errors = CASES[name]
    least = errors.variance(best(errors))
    others = [T for T in mixes.GRID if abs(T - best(errors)) > 1e-9]
    assert all(errors.variance(T) > least for T in others)
    assert least <= min(errors.a, errors.H)


@pytest.mark.parametrize("name", CASES)
def test_samples_agree_with_the_formula(found, name):
    case = found[name]
    assert abs(case["sampled variance"] - case["variance"]) < 5 * case["error"]
    assert abs(case["best of grid"] - case["T"]) <= 0.05  # the grid's step


@pytest.mark.parametrize("name", CASES)
def test_no_sampled_weight_beats_the_formula_by_more_than_its_error(found, name):
    case = found[name]
    assert min(case["grid variance"]) > case["sampled variance"] - case["error"]
    assert max(case["grid variance"]) > case["sampled variance"] + 50 * case["error"]


def test_the_pre_activation_is_the_logarithm_of_alpha_1_over_alpha_2():
    errors = Errors(2.0, 5.0, 0.5)
    first, second = errors.alphas
    assert mixes.sigmoid(math.log(first / second)) == pytest.approx(best(errors), rel=1e-12)
    assert mixes.sigmoid(math.log(second / first)) == pytest.approx(1 - best(errors), rel=1e-12)


def test_a_sigmoid_reaches_the_best_weight_unless_errors_are_strongly_correlated(found):
    assert [name for name, case in found.items() if not case["reachable"]] == [
        "strongly correlated"
    ]


def test_the_covariance_as_printed_is_worse_wherever_it_gives_a_weight(found):
    given = {name: case for name, case in found.items() if case["T as printed"] is not None}
    assert len(given) == len(CASES) - 1
    assert all(case["variance as printed"] > case["variance"] for case in given.values())


def test_positive_weights_do_not_bound_the_variance_but_twice_the_best_does():
    errors = CASES["new one worse"]
    most = 2 * best(errors)
    assert errors.variance(most) == pytest.approx(errors.a)
    assert errors.variance(most - 0.05) < errors.a < errors.variance(most + 0.05)
    assert most + 0.05 < 1


@pytest.mark.parametrize(("keep", "take"), [(0.3, 0.7), (0.6, 0.6), (1.0, -0.4)])
def test_a_mix_is_unbiased_exactly_if_its_weights_sum_to_1(keep, take):
    found = mixes.bias(keep, take)
    assert abs(found["sampled"] - found["formula"]) < 5 * found["error"]
    assert (abs(found["sampled"]) < 5 * found["error"]) == (abs(keep + take - 1) < 1e-9)
