"""The best mix of two estimates of one quantity, which a highway gate could compute.

unrolled section 3.3 and Appendix A.1: a and H are unbiased estimates of A with errors of variance
v_a, v_H and covariance v_aH. Among all (1 - T) a + T H, the one with the least variance has
T = alpha_1 / (alpha_1 + alpha_2), where alpha_1 = v_a - v_aH and alpha_2 = v_H - v_aH (Equations
10, 15 and 16).
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from skipgate.streams import stream

DRAWS = 100000
GRID = [i / 20 for i in range(-20, 41)]
"""Values of T to try besides the best one; a sigmoid reaches those between 0 and 1."""
LATENT = 3.0
"""E[A]: not 0, so that weights that do not sum to 1 show their bias."""


@dataclass(frozen=True)
class Errors:
    """Second moments of the two estimates' errors."""

    a: float
    H: float
    both: float
    """Their covariance."""

    @property
    def alphas(self) -> tuple[float, float]:
        """alpha_1 and alpha_2 of section 3.3, with the errors' covariance, as in Appendix A.1."""
        return self.a - self.both, self.H - self.both

    def variance(self, T: float) -> float:
        """Variance of the error of (1 - T) a + T H."""
        return (1 - T) ** 2 * self.a + T**2 * self.H + 2 * T * (1 - T) * self.both


CASES = {
    "equal": Errors(1.0, 1.0, 0.0),
    "new one worse": Errors(1.0, 4.0, 0.0),
    "new one better": Errors(4.0, 1.0, 0.0),
    "correlated": Errors(1.0, 4.0, 0.6),
    "opposed": Errors(1.0, 4.0, -1.0),
    "strongly correlated": Errors(1.0, 4.0, 1.6),
}


def study() -> dict[str, Any]:
    """Each case by formula and by simulation, and with the formulas as section 3.3 prints them."""
    return {
        "draws": DRAWS,
        "grid": GRID,
        "cases": {
            name: {**_formula(errors), **_simulated(errors, name)} for name, errors in CASES.items()
        },
        "bias": bias(0.6, 0.6),
    }


def best(errors: Errors) -> float:
    """T of least variance: alpha_1 / (alpha_1 + alpha_2)."""
    first, second = errors.alphas
    return first / (first + second)


def as_printed(errors: Errors) -> float | None:
    """T with the covariance that section 3.3 prints in both alphas, None if they sum to 0.

    That covariance is Cov[a - A, a - H] = v_a - v_aH.
    """
    printed = errors.a - errors.both
    first = errors.a - printed
    second = errors.H - printed
    # Adding 0.0 turns -0.0 into 0.0.
    return first / (first + second) + 0.0 if first + second else None


def sigmoid(z: float) -> float:
    """1 / (1 + e^-z)."""
    return 1 / (1 + math.exp(-z))


def bias(keep: float, take: float) -> dict[str, float]:
    """Mean error of keep * a + take * H, by formula and sampled.

    It is (keep + take - 1) E[A], so the weights of an unbiased mix sum to 1 (Equation 14).
    """
    A, a, H = _draw(CASES["equal"], "bias")
    error = keep * a + take * H - A
    expected = (keep + take - 1) * LATENT
    return {
        "keep": keep,
        "take": take,
        "formula": expected,
        "sampled": float(error.mean()),
        "error": float(error.std()) / math.sqrt(DRAWS),
    }


def _formula(errors: Errors) -> dict[str, Any]:
    first, second = errors.alphas
    T = best(errors)
    printed = as_printed(errors)
    reachable = 0 < T < 1
    z = math.log(first / second) if reachable else None
    return {
        "variance a": errors.a,
        "variance H": errors.H,
        "covariance": errors.both,
        "T": T,
        "variance": errors.variance(T),
        "reachable": reachable,
        "z": z,
        "sigmoid of log(alpha1/alpha2)": sigmoid(z) if z is not None else None,
        "sigmoid of log(alpha2/alpha1)": sigmoid(-z) if z is not None else None,
        "T as printed": printed,
        "variance as printed": None if printed is None else errors.variance(printed),
        "largest harmless T": 2 * T,
        "variance at T = 0.95": errors.variance(0.95),
    }


def _simulated(errors: Errors, name: str) -> dict[str, Any]:
    """The variance at the best T and over the grid; `error` is the standard error of the former."""
    A, a, H = _draw(errors, name)

    def spread(T: float) -> float:
        return float(((1 - T) * a + T * H - A).var())

    at_best = spread(best(errors))
    grid = [spread(T) for T in GRID]
    return {
        "sampled variance": at_best,
        "error": at_best * math.sqrt(2 / DRAWS),
        "best of grid": GRID[grid.index(min(grid))],
        "grid variance": grid,
    }


def _draw(errors: Errors, name: str) -> tuple[Tensor, Tensor, Tensor]:
    """A and its two estimates."""
    A, one, other = torch.randn(3, DRAWS, generator=stream(0, f"mixes {name}"), dtype=torch.float64)
    A = A + LATENT
    along = errors.both / math.sqrt(errors.a)
    return (
        A,
        A + math.sqrt(errors.a) * one,
        A + along * one + math.sqrt(errors.H - along**2) * other,
    )
