"""Looks-linear initialisation (Balduzzi et al. 2017, in the lecture).

With CReLU, W phi(x) = V x, layer after layer: phi(x) has max(0, x_q) and max(0, -x_q) next to each
other for each q, and W has each column of V next to its negative. The network is thus the product
of its V's until training makes the paired columns differ.
"""

from typing import Any

import torch
from torch import Tensor

from skipgate.nets.crelu import crelu, looking_linear
from skipgate.streams import stream
from skipgate.theory.fresh import farthest, settled

WIDTH = 32
DEPTHS = (1, 2, 5, 10, 20, 50)
BATCH = 64


def study() -> dict[str, Any]:
    """Relative deviations from a linear map by depth, with looks-linear and ordinary weights."""
    orthogonal = [torch.linalg.qr(_normal(WIDTH, i))[0] for i in range(max(DEPTHS))]
    looks_linear = [looking_linear(V) for V in orthogonal]
    # He's variance 2 / fan-in for the 2 WIDTH inputs that CReLU makes of WIDTH.
    ordinary = [_normal(2 * WIDTH, i) / WIDTH**0.5 for i in range(max(DEPTHS))]
    x, y = (
        torch.randn(BATCH, WIDTH, generator=stream(0, f"linear {name}"), dtype=torch.float64)
        for name in "xy"
    )
    return {
        "width": WIDTH,
        "depths": list(DEPTHS),
        "looks-linear": _each(looks_linear, x, y),
        "ordinary": _each(ordinary, x, y),
        "looks-linear from its product": settled(
            _apart(network(looks_linear, x), x @ torch.linalg.multi_dot(orthogonal[::-1]).T)
        ),
    }


def network(weights: list[Tensor], x: Tensor) -> Tensor:
    """The output of layers x -> W phi(x), one per W."""
    for W in weights:
        x = crelu(x) @ W.T
    return x


def _each(weights: list[Tensor], x: Tensor, y: Tensor) -> dict[str, list[float]]:
    """Deviations by depth: N(x + y) from N(x) + N(y), and N(sx) from s N(x) for s in {2, -1}."""
    found: dict[str, list[float]] = {"sum": [], "times 2": [], "times -1": []}
    for depth in DEPTHS:
        some = weights[:depth]
        at_x = network(some, x)
        deviations = (
            _apart(network(some, x + y), at_x + network(some, y)),
            _apart(network(some, 2 * x), 2 * at_x),
            _apart(network(some, -x), -at_x),
        )
        for column, deviation in zip(found.values(), deviations, strict=True):
            column.append(settled(deviation))
    return found


def _apart(a: Tensor, b: Tensor) -> float:
    """The largest difference, in units of the root mean square of b."""
    return farthest(a, b) / float(b.square().mean().sqrt())


def _normal(columns: int, layer: int) -> Tensor:
    return torch.randn(
        WIDTH, columns, generator=stream(layer, f"linear {columns}"), dtype=torch.float64
    )
