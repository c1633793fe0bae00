"""The derivations of the gated and the epsilon networks.

Both sides of each equation are evaluated at a few values.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import special

from skipgate.judging.audit.check import Check, Printed, holds_if, listed, rounds_to

Numbers = NDArray[np.float64]
POINTS = np.array([-1.5, -0.4, 0.3, 2.0])
"""Arbitrary values: no two of the expressions compared agree on them by accident."""
WIDTH = 50
"""The width of the papers' multilayer networks."""
SET = "sdi-assumptions"
HIGHWAY = "sdi-highway"
TOTAL = "sdi-total"
ORDERS = "distance-orders"
BIAS = "transform bias"
STRICT = "strict-function"


def _bias(row: str) -> float:
    return float(row.removeprefix("c = "))


def highway_distance(p: Printed) -> Iterator[Check]:
    """Table 1 of the first version: gates and slopes."""
    gates = p.column(HIGHWAY, "g(c)")
    slopes = p.column(HIGHWAY, "slope")
    found = {row: float(special.expit(_bias(row))) for row in gates}
    fits = all(rounds_to(found[row], gate, p.unit(HIGHWAY)) for row, gate in gates.items())
    yield p.check(
        "gates of Table 1", "v1 Table 1", f"g(c) = {listed(gates)}", listed(found, ".4f"), fits
    )
    mean = p(SET, BIAS, "mean")
    variance = p(SET, "weights", "n times variance")
    ours = {row: variance + (mean - _bias(row)) ** 2 for row in slopes}
    yield p.check(
        "slopes of Table 1", "v1 Table 1", f"slopes {listed(slopes)}", listed(ours), ours == slopes
    )


def highway_bias(p: Printed) -> Iterator[Check]:
    """Table 1 of the first version: the bias with the smallest slope, and the bias's variance."""
    mean = p(SET, BIAS, "mean")
    variance = p(SET, "weights", "n times variance")
    slopes = p.column(HIGHWAY, "slope")
    best = min(slopes, key=lambda row: slopes[row])
    says = f"smallest at c = {mean:g}"
    yield p.check("least of Table 1", "v1 Table 1", says, f"at {best}", _bias(best) == mean)
    kept, chosen = (p(SET, BIAS, f"n times variance {what}") for what in ("in Equation 10", "set"))
    follows = (
        f"that variance was set to {chosen:g}: TSDI = ({variance:g} + (4 + c)^2) n, where Equation "
        f"11 and Table 1 add {kept:g}"
    )
    says = f"B_i has the bias variance {kept:g}/n"
    yield p.check("Equation 10", "v1 Equations 10 and 11", says, follows, kept == chosen)


def totals(p: Printed) -> Iterator[Check]:
    """Sums of squared distances."""
    n = WIDTH
    variance = p(SET, "weights", "n times variance") / WIDTH
    for kind, diagonal, place in (
        ("classical", 1.0, "v1 Equation 6"),
        ("residual", 0.0, "v1 Equation 14"),
    ):
        slope = p(TOTAL, kind, "slope")
        intercept = p(TOTAL, kind, "intercept")
        found = float(np.sum(np.full((n, n), variance) + diagonal * np.eye(n)) + n * variance)
        says = f"TSDI = {slope:g}n + {intercept:g}"
        follows = f"{found:g} at n = {n}, for {slope * n + intercept:g}"
        yield p.check(
            f"TSDI, {kind}", place, says, follows, bool(np.isclose(found, slope * n + intercept))
        )


def comparisons(p: Printed) -> Iterator[Check]:
    """Which layer's distance is the smallest, and what it bounds."""
    n = WIDTH
    residual = p(TOTAL, "residual", "slope") * n + p(TOTAL, "residual", "intercept")
    rows = {
        row: slope * n + p(HIGHWAY, row, "intercept")
        for row, slope in p.column(HIGHWAY, "slope").items()
    }
    corrected = p(TOTAL, "highway", "slope") * n + p(SET, BIAS, "n times variance set")
    follows = (
        f"at n = {n}: residual {residual:g}; highway {listed(rows)}, or {corrected:g} with the "
        "bias variance that was set"
    )
    says = "of the three networks, the residual one has the smallest TSDI"
    yield p.check("smallest TSDI", "v1 section 2.4", says, follows, residual < min(rows.values()))
    for place, power in p.column(SET, "power of the path length bounded").items():
        says = f"TSDI is a lower bound of the path's {'squared length' if power == 2 else 'length'}"
        follows = f"at n = {n} it is {residual:g}, and a straight path is {residual**0.5:.1f} long"
        fits = residual <= residual ** (power / 2) + 1e-9
        yield p.check(f"bound, {place}", f"v1 {place}", says, follows, fits)


def moments(p: Printed) -> Iterator[Check]:
    """Equations 15 and 19 of the first version."""
    power = p.whole(SET, "Equation 15", "power of mu in the last line")
    sigma = 0.3
    mu = POINTS
    gap = np.max(abs((sigma**2 + mu**2 - 2 * mu + 1) - (sigma**2 + (mu**power - 1) ** 2)))
    says = f"sigma^2 + (mu^{power} - 1)^2"
    follows = f"up to {gap:.3g} from the line above, at mu = {mu.tolist()}"
    yield p.check("Equation 15", "v1 Equation 15", says, follows, bool(np.isclose(gap, 0)))
    yield _letters(p)
    mean = p(SET, BIAS, "mean")
    gap = np.max(abs(mean**2 - 2 * mu * mean + mu**2 - (4 + mu) ** 2))
    says = "(mu_b - c)^2, which Equation 10 writes (4 + c)^2"
    follows = f"up to {gap:.3g} apart at c = {mu.tolist()}"
    yield p.check("Equation 19", "v1 Equations 10 and 19", says, follows, bool(np.isclose(gap, 0)))


def _letters(p: Printed) -> Check:
    """What the letters of Equation 15 are called."""
    variance = p(SET, "weights", "n times variance") / WIDTH
    moment = {p(SET, "sigma", "moment"): variance**0.5, p(SET, "mu", "moment"): 0.0}
    found = moment[2] ** 2 + (moment[1] - 1) ** 2
    printed = variance + 1
    order = (
        "mean and the standard deviation"
        if p(SET, "sigma", "moment") == 1
        else "standard deviation and the mean"
    )
    follows = f"then E[(W - 1)^2] would be {found:.2f} at n = {WIDTH}; Equation 4 has {printed:.2f}"
    return p.check(
        "letters",
        "v1 appendix 7.1",
        f"sigma and mu are the {order}",
        follows,
        bool(np.isclose(found, printed)),
    )


def distances(p: Printed) -> Iterator[Check]:
    """How far the weights start from the origin, in the second version.

    A bound may be too high, but not too low.
    """
    spread = p(ORDERS, "variance", "power")
    count = p(ORDERS, "parameters", "power")
    for kind, found in (
        ("absolute distance", count + spread / 2),
        ("Euclidean distance", (count + spread) / 2),
    ):
        stated = p(ORDERS, kind, "power")
        squared = f"the squared Euclidean one is n^{count + spread:g}"
        follows = f"n^{count:g} parameters of deviation n^{spread / 2:g}: n^{found:g}; {squared}"
        word = holds_if(found == stated, "unclear" if found < stated else "contradicts")
        yield p.check(
            kind,
            "v2 section 2.1",
            f"the {kind} from the origin is of order n^{stated:g}",
            follows,
            word,
        )


def slices(p: Printed) -> Iterator[Check]:
    """The gated layer as a mix of the layer and the identity, and the cost as a mix of costs."""
    f = 0.7
    x = -0.4
    target = 1.1
    k = np.array([0.2, 0.5, 3.0])

    def layer(gate: Numbers) -> Numbers:
        return np.maximum(gate, 0) * f + (1 - np.maximum(gate, 0)) * x

    mixed = np.allclose(layer(k), k * f + (1 - k) * x)
    says = "the layer mixes itself and the identity linearly"
    follows = f"equal at k = {k.tolist()}"
    yield p.check("layer mix", "v2 section 2.2", says, follows, mixed)
    gap = np.max(
        abs((layer(k) - target) ** 2 - k * (f - target) ** 2 - (1 - k) * (x - target) ** 2)
    )
    below = abs(float(layer(np.array([-1.0]))[0]) - (2 * x - f))
    says = "every slice of the cost surface mixes those at k = 0 and k = 1 linearly"
    follows = (
        f"a squared cost is up to {gap:.2g} off the mix, and at k = -1 so is the layer, by "
        f"{below:.2g}, g being ReLU"
    )
    yield p.check("cost mix", "v2 section 2.2", says, follows, bool(np.isclose(gap + below, 0)))


def gated_residual(p: Printed) -> Iterator[Check]:
    """The gated residual layer in its short form."""
    x = -0.4
    gate = np.maximum(POINTS, 0)
    residual = 0.9
    same = np.allclose(gate * (residual + x) + (1 - gate) * x, gate * residual + x)
    follows = f"equal at k = {POINTS.tolist()}"
    yield p.check("gated residual", "v2 section 2.2", "u = g(k) f_r(x) + x", follows, same)


def strict(p: Printed) -> Iterator[Check]:
    """The epsilon paper's S, as the four rectifiers of its Figure 4 compute it."""
    large: float = p.stated("all", "L in the code")
    epsilon: float = p.stated("cifar", "epsilon")

    def share(response: float) -> float:
        over = max(response - epsilon, 0) + max(-response - epsilon, 0)
        return max(-large * max(-large * over + 1, 0) + 1, 0)

    found = {f"{times:g} epsilon": share(times * epsilon) for times in (-1.1, -0.9, 0.9, 1.1)}
    fits = list(found.values()) == [1, 0, 0, 1]
    says = "0 below epsilon, F above"
    follows = f"shares of F: {listed(found)}"
    yield p.check("S away from epsilon", "Equations 3 to 5", says, follows, fits)
    asked = p(STRICT, "Equation 3 at |F| = epsilon", "share of F let through")
    edge = share(epsilon)
    says = f"where |F| = epsilon, S(F) is {'F' if asked else '0'}"
    follows = (
        f"the rectifiers give {edge:g} of F there, and {share(epsilon + 0.9 / large):g} of it up "
        "to nearly epsilon + 1 / L"
    )
    yield p.check("S at epsilon", "Equations 3 to 5", says, follows, edge == asked)


CHECKS = {
    "gresnet": (
        highway_distance,
        highway_bias,
        totals,
        comparisons,
        moments,
        distances,
        slices,
        gated_residual,
    ),
    "epsilon": (strict,),
}
