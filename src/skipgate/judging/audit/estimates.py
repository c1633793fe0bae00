"""The unrolled paper's derivation of highway layers and the lecture's of linear ones.

Both are evaluated at a few values.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import optimize, special

from skipgate.judging.audit.check import Check, Printed, holds_if

SIGNS = "stated-signs"
ESTIMATES = ((1.0, 4.0, 0.0), (1.0, 4.0, 0.5), (3.0, 2.0, -0.7), (2.0, 2.0, 0.9))
"""Variance of the old and of the new estimate's error, and their covariance."""
WEIGHTS = [(a - c) / (a - 2 * c + b) for a, b, c in ESTIMATES]
"""Best weight of the new estimate in each case, by Equation 16."""


def _variance(new: float, old_variance: float, new_variance: float, covariance: float) -> float:
    """Variance of a mix with the weight `new` on the new estimate."""
    return (1 - new) ** 2 * old_variance + new**2 * new_variance + 2 * new * (1 - new) * covariance


def _short(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:.3g}" for number in numbers)


def mixes(p: Printed) -> Iterator[Check]:
    """The best mix of two estimates, and how sections 3.3 and A.1 name its parts."""
    found = [float(optimize.minimize_scalar(_variance, args=estimate).x) for estimate in ESTIMATES]
    says = "the weights of least variance"
    follows = f"{_short(WEIGHTS)}; by minimising {_short(found)}"
    yield p.check(
        "best mix", "Equations 15 and 16", says, follows, np.allclose(found, WEIGHTS, atol=1e-6)
    )
    places = [
        p(SIGNS, place, "alpha_1 belongs to the old estimate")
        for place in ("section 3.3", "appendix")
    ]
    first = [[(a if old else b) - c for a, b, c in ESTIMATES] for old in places]
    both = "both mixes are right, the names trade places"
    follows = f"alpha_1 = {_short(first[0])} by section 3.3, {_short(first[1])} by A.1: {both}"
    yield p.check(
        "names of alpha",
        "section 3.3, A.1",
        "A.1 derives the alphas of section 3.3",
        follows,
        first[0] == first[1],
    )


def covariances(p: Printed) -> Iterator[Check]:
    """Covariances that are printed in place of others."""
    errors = p(SIGNS, "section 3.3", "new estimate in the covariance's second term") > 0
    # Cov[a - A, a - H] is the old error's variance less the covariance of the two errors.
    printed = [c if errors else a - c for a, _, c in ESTIMATES]
    weights = [(a - c) / (a - 2 * c + b) for (a, b, _), c in zip(ESTIMATES, printed, strict=True)]
    says = (
        f"the alphas subtract the covariance of {'the two errors' if errors else 'a - A and a - H'}"
    )
    follows = (
        f"H would get the weights {_short(weights)} for {_short(WEIGHTS)}: none at all if the "
        "errors are independent"
    )
    yield p.check("covariance", "section 3.3", says, follows, np.allclose(weights, WEIGHTS))
    latent = p(SIGNS, "appendix", "latent variable in the covariance")
    c = ESTIMATES[1][2]
    follows = (
        f"Cov[A - C, B - C] is used: {c:g}, where Cov[A, B] is {c + latent:g} if C varies by 1 "
        "apart from the errors"
    )
    yield p.check(
        "definition of the covariance", "A.1", "sigma_AB^2 = Cov[A, B]", follows, latent == 0
    )


def gates(p: Printed) -> Iterator[Check]:
    """What the transform gate's pre-activation and bias stand for."""
    power = p(SIGNS, "pre-activation of T", "power of alpha_2 / alpha_1 in the logarithm")
    ratio = "alpha_2 / alpha_1" if power > 0 else "alpha_1 / alpha_2"
    alphas = [(a - c, b - c) for a, b, c in ESTIMATES]
    found = [float(special.expit(power * np.log(second / first))) for first, second in alphas]
    follows = (
        f"its sigmoid is {_short(found)}, while T = alpha_1 / (alpha_1 + alpha_2) is "
        f"{_short(WEIGHTS)}"
    )
    says = f"the pre-activation of T estimates log({ratio})"
    yield p.check(
        "pre-activation", "section 4.1, Equation 12", says, follows, np.allclose(found, WEIGHTS)
    )
    low, high = (power * float(np.log(variance)) for variance in (2.0, 8.0))
    says = "a low bias stands for a new estimate of high variance"
    follows = f"log({ratio}) goes from {low:.2f} to {high:.2f} as that variance goes from 2 to 8"
    yield p.check("bias", "section 4.1", says, follows, high < low)


def bounds(p: Printed) -> Iterator[Check]:
    """What positive weights ensure."""
    old, new, _ = ESTIMATES[0]
    mixed = _variance(0.5, *ESTIMATES[0])
    says = "positive weights keep the variance at or below the previous layer's"
    follows = (
        f"half and half of variances {old:g} and {new:g} has {mixed:g}; the best weights keep it, "
        "not any positive ones"
    )
    yield p.check("bounded variance", "section 4.1", says, follows, mixed <= old)
    best = [
        _variance(weight, *estimate) for weight, estimate in zip(WEIGHTS, ESTIMATES, strict=True)
    ]
    kept = all(value <= estimate[0] + 1e-9 for value, estimate in zip(best, ESTIMATES, strict=True))
    says = "the best mix has no more variance than the old estimate"
    follows = f"{_short(best)} of {_short([e[0] for e in ESTIMATES])}"
    yield p.check("best variance", "section 3.3", says, follows, kept)


def forms(p: Printed) -> Iterator[Check]:
    """Residual and highway layers as one form."""
    T = np.array([0.1, 0.6, 0.9])
    H = np.array([2.0, -1.0, 0.5])
    x = np.array([0.3, 0.8, -2.0])
    same = np.allclose(T * (H - x) + x, H * T + x * (1 - T))
    yield p.check(
        "residual form",
        "section 3.1",
        "F = T (H - x) turns Equation 5 into 4",
        f"equal at T = {T.tolist()}",
        same,
    )


def zero_mean(p: Printed) -> Iterator[Check]:
    """What residuals of zero mean ensure."""
    start = 1.0
    residuals = np.array([[0.5, -0.5], [-2.0, 2.0], [1.0, -1.0]])
    bias = start + float(np.mean(np.sum(residuals, axis=0)))
    follows = (
        f"an estimate that starts {start:g} off stays {bias:g} off; true if A is the last block's "
        "own output"
    )
    yield p.check(
        "zero mean",
        "section 3.2",
        "residuals of zero mean give Equation 1",
        follows,
        holds_if(bias == 0, "unclear"),
    )


def looks_linear(p: Printed) -> Iterator[Check]:
    """CReLU with mirrored weights."""
    x = np.array([0.3, -1.2, 2.0])
    W = np.array([[1.0, -2.0, 0.5], [0.2, 0.4, -3.0]])
    crelu = np.stack([np.maximum(x, 0), np.maximum(-x, 0)], axis=1).ravel()
    mirrored = np.stack([W, -W], axis=2).reshape(len(W), -1)
    same = np.allclose(mirrored @ crelu, W @ x)
    says = "mirrored weights on CReLU are the weights themselves"
    yield p.check(
        "looks linear", "slides on Balduzzi et al.", says, "equal for a matrix of both signs", same
    )


CHECKS = {
    "unrolled": (mixes, covariances, gates, bounds, forms, zero_mean),
    "fleuret": (looks_linear,),
}
