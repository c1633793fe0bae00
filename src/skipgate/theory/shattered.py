"""Shattered gradients (Balduzzi et al. 2017, in the lecture) of fresh networks by depth.

White and brown noise serve for comparison.
"""

from typing import Any

import torch
from torch import Tensor

from skipgate.nets.layers import BatchNorm
from skipgate.nets.network import Network
from skipgate.probes.gradients import along_line, autocorrelation
from skipgate.settings import Body, Crelu, GateChoice, Init, Mlp, Norm
from skipgate.streams import stream
from skipgate.theory.fresh import COUPLED, IMAGES, ONE, SCALAR, ZERO, Sample, fresh

DEPTHS = (1, 2, 10, 20, 24, 50, 100)
"""Among them the 1, 24 and 50 layers of Balduzzi et al.'s Figure 1."""
PANELS = (("plain", 1), ("plain", 24), ("residual", 50))
REPLICAS = 20
POINTS = 256
LAGS = (1, 2, 3, 5, 8, 12, 16, 24, 32)
NORM = Norm(momentum=1.0)
"""The running statistics are those of the latest batch alone."""
HIGHWAY = GateChoice("sigmoid", {"bias": -2.0})
PAIRS = {
    "plain": (ONE, ZERO),
    "residual": (ONE, ONE),
    "gated": (SCALAR, ONE),
    "highway": (HIGHWAY, COUPLED),
}


def study() -> dict[str, Any]:
    """Autocorrelation of the gradient as [depth][lag][replica], by family.

    `peak` as [depth][replica] is the share of the squared gradient that lies at a single point:
    near 1 there is nothing left to correlate. `series` is one gradient along the line, for the
    panels of Balduzzi et al.'s Figure 1.
    """
    line = _line()
    slopes = {
        name: [_slopes(name, depth, line) for depth in DEPTHS]
        for name in (*PAIRS, "looks-linear", "CReLU")
    }
    return {
        "depths": list(DEPTHS),
        "points": POINTS,
        "lags": list(LAGS),
        "networks": {
            name: [_correlated(series) for series in each] for name, each in slopes.items()
        },
        "peak": {
            name: [_rounded(peak(series)) for series in each] for name, each in slopes.items()
        },
        "noise": {"white": _correlated(_noise()), "brown": _correlated(_noise().cumsum(1))},
        "series": {
            **{f"{n}, d = {d}": _series(slopes[n][DEPTHS.index(d)]) for n, d in PANELS},
            "brown noise": _series(_noise().cumsum(1)),
            "white noise": _series(_noise()),
        },
    }


def body_of(name: str, depth: int) -> Body:
    """The networks that are compared: small versions of those in `mnist`."""
    layers = 1 if name == "highway" or depth == 1 else 2
    if name in PAIRS:
        return Mlp("mlp", depth, layers=layers, norm=NORM)
    init: Init = "looks-linear" if name == "looks-linear" else "he-normal"
    return Crelu("crelu", depth, layers=layers, init=init)


def settle(network: Network, points: Tensor) -> None:
    """Let batch normalisation take its statistics from these points.

    Half of all units are then active on them.
    """
    norms = [module for module in network.modules() if isinstance(module, BatchNorm)]
    if not norms:
        return
    with torch.no_grad():
        network.train()(points.expand(network.replicas, *points.shape))
        # Training divides by n, the running variance by n - 1; depth would amplify the difference.
        for norm in norms:
            norm.running_var *= (len(points) - 1) / len(points)
    network.eval()


def peak(series: Tensor) -> Tensor:
    """The largest share of one point in the sum of squares; the axes are replica, point, pixel."""
    squares = series.square().sum(2)
    return squares.max(1).values / squares.sum(1)


def _slopes(name: str, depth: int, line: Tensor) -> Tensor:
    network = fresh(
        body_of(name, depth), Sample(*PAIRS.get(name, (ONE, ZERO)), REPLICAS, "shattered")
    )
    settle(network, line)
    return along_line(network, line)


def _correlated(series: Tensor) -> list[list[float]]:
    return [_rounded(row) for row in autocorrelation(series, LAGS)]


def _series(series: Tensor) -> list[float]:
    """The first pixel's gradient in the first network, in units of its standard deviation."""
    values = series[0, :, 0]
    return _rounded((values - values.mean()) / values.std())


def _rounded(values: Tensor) -> list[float]:
    """To three decimals: more would differ between machines."""
    return [round(value, 3) for value in values.tolist()]


def _line() -> Tensor:
    """Points at equal distances on a straight line that misses the origin."""
    start, way = (
        torch.randn(IMAGES.shape, generator=stream(0, f"line {end}"), dtype=torch.float64)
        for end in ("a", "b")
    )
    return start + torch.linspace(-2, 2, POINTS, dtype=torch.float64).view(-1, 1, 1, 1) * way


def _noise() -> Tensor:
    shape = REPLICAS, POINTS, IMAGES.shape[1] * IMAGES.shape[2]
    return torch.randn(shape, generator=stream(0, "noise"), dtype=torch.float64)
