"""Sections of the theory page on how networks start."""

from collections.abc import Sequence
from statistics import fmean

from skipgate.reporting.theory.findings import Theory
from skipgate.reporting.theory.sections import linked, section

LAG = 5
"""Distance, in points, at which gradients are compared besides neighbouring points."""
MOST = 0.5
"""A point with a larger share than this outweighs all others together."""


def linear(theory: Theory) -> str:
    """Looks-linear networks."""
    linear = theory["linear"]
    words = {"sum": "sums", "times -1": "signs"}
    rows: list[dict[str, object]] = [
        {
            "layers": depth,
            **{
                f"{word}, {init} weights": linked("linear", f"{linear[init][key][i]:.2g}")
                for key, word in words.items()
                for init in ("looks-linear", "ordinary")
            },
        }
        for i, depth in enumerate(linear["depths"])
    ]
    about = (
        f"Networks of CReLU layers {linear['width']} wide: largest deviations from linearity, for "
        "sums from N(x + y) = N(x) + N(y) and for signs from N(-x) = -N(x), in units of the "
        "outputs' root mean square (Balduzzi et al., in the lecture). With "
        "looks-linear weights the deepest is the product of its matrices to "
        f"{linked('linear', format(linear['looks-linear from its product'], 'g'))}. Positive "
        "factors pass through any network of ReLUs without biases; sums and signs do not."
    )
    return section("Looks-linear initialisation", about, rows)


def shattered(theory: Theory) -> str:
    """Gradients along a line of inputs."""
    found = theory["shattered"]
    rows: list[dict[str, object]] = [
        {
            "network": name,
            **{
                f"d = {depth}": _correlations(curve, found["lags"])
                for depth, curve in zip(found["depths"], curves, strict=True)
            },
        }
        for name, curves in found["networks"].items()
    ]
    noise = ", ".join(
        f"{name} noise has {_correlations(curve, found['lags'])}"
        for name, curve in found["noise"].items()
    )
    about = (
        f"Gradient of the first output at {found['points']} points of a line of inputs: how alike "
        f"it is at neighbouring points, and {LAG} points apart (1: the same; 0: white noise), mean "
        f"over {len(found['noise']['white'][0])} fresh networks (Balduzzi et al., in the lecture). "
        "Batch normalisation takes its statistics from the line. A fresh gated network has k = 1 "
        "and is a residual one; CReLU networks have no batch normalisation. For comparison, "
        f"{noise}."
    )
    return section("Shattered gradients", about + _peaks(theory), rows)


def shattered_in_short(theory: Theory) -> str:
    """How plain and residual networks end."""
    found = theory["shattered"]
    ends = {name: fmean(found["networks"][name][-1][0]) for name in ("plain", "residual")}
    told = " and ".join(f"{linked('shattered', f'{v:.2f}')} in {n}" for n, v in ends.items())
    return (
        f"Gradients at neighbouring inputs correlate by {told} networks of {found['depths'][-1]} "
        "layers."
    )


def linear_in_short(theory: Theory) -> str:
    """How far from linear CReLU networks are at either start."""
    linear = theory["linear"]
    told = ", ".join(
        f"{linked('linear', f'{max(max(v) for v in linear[start].values()):.1g}')} with {start}"
        for start in ("looks-linear", "ordinary")
    )
    return (
        f"CReLU networks of up to {max(linear['depths'])} layers deviate from linear maps by at "
        f"most {told} weights, in units of their outputs."
    )


def _correlations(curve: Sequence[Sequence[float]], lags: Sequence[int]) -> str:
    """Means over networks, at neighbouring points and `LAG` points apart."""
    neighbours = fmean(curve[0])
    apart = fmean(curve[lags.index(LAG)])
    return linked("shattered", f"{neighbours:.2f}, {apart:.2f}")


def _peaks(theory: Theory) -> str:
    """Networks whose gradient lies mostly at a single point, if any."""
    found = theory["shattered"]
    peaks = [
        f"{name} networks of d = {depth} have {linked('shattered', f'{100 * fmean(shares):.0f}%')}"
        for name, each in found["peak"].items()
        for depth, shares in zip(found["depths"], each, strict=True)
        if fmean(shares) > MOST
    ]
    if not peaks:
        return ""
    return (
        " Where one point outweighs all others, there is nothing left to correlate: of the "
        f"squared gradient, {', '.join(peaks)} at a single point."
    )
