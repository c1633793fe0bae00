"""Claims that follow without training, decided by the results of the theory study."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from skipgate.judging.evidence import Outcome, decide, paired

Theory = dict[str, Any]
ROUNDING = 1e-9
"""What counts as 0 in computations with 64 bits."""
DEEP = 10
"""Layers from which on shortcuts can tell; with one or two, networks are all but linear."""
WHITE = 0.1
"""A correlation below this is taken for that of white noise."""


@dataclass(frozen=True)
class Computed:
    """How a claim is tested on one part of the theory study's results."""

    part: str
    sentence: str
    run: Callable[[Theory], Outcome]


def _answer(right: bool, reason: str) -> Outcome:
    return Outcome("holds" if right else "fails", reason=reason)


def _strict_zero(found: Theory) -> Outcome:
    right = (
        not any(found["below"])
        and set(found["above"]) == {1.0}
        and found["samples that differ"] == 0
    )
    reason = (
        f"of {found['samples']:,} samples {found['samples that differ']} differ; at exactly "
        "epsilon the gate is shut"
    )
    return _answer(right, reason)


def _slices(found: Theory) -> Outcome:
    """Of the cost, at all k; of the layer's output beside it."""
    layer = max(found["deviations"].values())
    blocks = found["loss"].values()
    between, all_ = (max(b[key] for b in blocks) for key in ("bend between 0 and 1", "bend"))
    reason = (
        f"the cost leaves the line through k = 0 and k = 1 by up to {between:.2g} between them "
        f"and {all_:.2g} for k from {found['k'][0]:g} to {found['k'][-1]:g}; of the layer's "
        f"output the sentence is true for all k from 0 on (largest deviation {layer:g})"
    )
    return _answer(max(layer, all_) < ROUNDING, reason)


def _combination(found: Theory) -> Outcome:
    beaten = [
        name
        for name, case in found["cases"].items()
        if min(case["grid variance"]) < case["variance"] - 4 * case["error"]
    ]
    reason = (
        f"in {len(found['cases'])} cases of two errors, {len(beaten)} times some other weight on "
        "the grid did better"
    )
    return _answer(not beaten, reason)


def _looks_linear(found: Theory) -> Outcome:
    ours, ordinary = (
        max(max(values) for values in found[kind].values()) for kind in ("looks-linear", "ordinary")
    )
    reason = (
        f"{max(found['depths'])} layers: deviation from linear {ours:g}, with ordinary weights "
        f"{ordinary:.3g}"
    )
    return _answer(ours < ROUNDING < ordinary, reason)


def _shattered(found: Theory) -> Outcome:
    """Neighbouring points of the line, network by network."""
    depths = found["depths"]
    curves = {name: [rows[0] for rows in found["networks"][name]] for name in ("plain", "residual")}
    plain = curves["plain"]
    residual = curves["residual"]
    parts = [
        paired(f"plain, d = {depths[0]} above d = {depths[-1]}", plain[0], plain[-1], ""),
        paired(
            f"plain, d = {depths[-1]}, less than {WHITE:g}",
            [WHITE] * len(plain[-1]),
            list(map(abs, plain[-1])),
            "",
        ),
        *(
            paired(f"residual above plain, d = {depth}", a, b, "")
            for depth, a, b in zip(depths, residual, plain, strict=True)
            if depth >= DEEP
        ),
    ]
    return decide(parts, [])


TESTS: dict[str, Computed] = {
    "strict-zero": Computed(
        "epsilon",
        "The gate is 0 just below epsilon and 1 just above it, and S(F) is 0 or F in every sample.",
        _strict_zero,
    ),
    "surface-slices": Computed(
        "slices",
        "In a fresh gated network the cost along one block's k, at every k from -1 to 6, is the "
        f"mix of the costs at k = 0 and k = 1, to {ROUNDING:g}.",
        _slices,
    ),
    "optimal-combination": Computed(
        "mixes",
        "In no case does another weight on a grid give less variance, beyond four standard errors.",
        _combination,
    ),
    "looks-linear": Computed(
        "linear",
        f"At every depth the network's deviation from a linear map is below {ROUNDING:g}, and is "
        "not with ordinary weights.",
        _looks_linear,
    ),
    "shattered-gradients": Computed(
        "shattered",
        "Between neighbouring inputs, the gradient's correlation in plain networks falls from the "
        f"smallest depth to the largest and ends below {WHITE:g}, and at every depth of "
        f"{DEEP} and more it is higher in residual networks.",
        _shattered,
    ),
}
