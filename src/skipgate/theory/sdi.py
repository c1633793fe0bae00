"""Squared distance from a fresh layer's parameters to an identity (gresnet-v1 sections 2 and 3).

For parameters that start at W and are an identity at W', SDI = E[(W - W')^2] element by element
(Equations 1 and 2), and TSDI is its sum over weights and biases (Equation 3). The paper lets every
bias start with variance 2/n, like the weights (Equations 5, 10 and 13): the convention "paper".
This project starts biases at a constant: the convention "project".
"""

import math
from dataclasses import dataclass
from typing import Any, cast

import torch
from scipy import stats
from torch import Tensor

from skipgate.nets.gates.scalar import Scalar
from skipgate.nets.gates.sigmoid import Sigmoid
from skipgate.nets.layers import Linear
from skipgate.settings import GateChoice, Mlp
from skipgate.streams import stream
from skipgate.theory.fresh import COUPLED, ONE, ZERO, Sample, fresh

DRAWS = {10: 2000, 30: 1000, 100: 300, 300: 40, 1000: 6}
"""Number of sampled layers by width.

Wide layers are expensive, and TSDI has about the same standard deviation at any width.
"""
BIAS = -4.0
"""Where the highway gate's bias starts; Table 1 lets it go to -4, -4.5 and -5."""
STARTS = (0.5, 1.0, 2.0)
"""k_init of the scalar gate; the paper starts it at 1."""
CONVENTIONS = ("paper", "project")
LEVEL = 0.95


@dataclass(frozen=True)
class Family:
    """A kind of layer, and where it is an identity: weights `diagonal` times I, biases `goal`.

    `start` is where the biases start.
    """

    kind: str
    diagonal: float = 0.0
    start: float = 0.0
    goal: float = 0.0


HIGHWAY = GateChoice("sigmoid", {"bias": BIAS})
LAYERS = {"classical": (ONE, ZERO), "highway": (HIGHWAY, COUPLED), "residual": (ONE, ONE)}
FAMILIES = {
    "classical": Family("classical", diagonal=1.0),
    "highway -4.0": Family("highway", start=BIAS, goal=-4.0),
    "highway -4.5": Family("highway", start=BIAS, goal=-4.5),
    "highway -5.0": Family("highway", start=BIAS, goal=-5.0),
    "residual": Family("residual"),
}


@dataclass(frozen=True)
class Distances:
    """Squared distances to the identity."""

    total: Tensor
    """Sum over a layer, one value per draw."""
    elements: dict[str, float]
    """Mean SDI of one element, by its place."""


def study() -> dict[str, Any]:
    """Table 1 and the totals, by formula and by sampling the layers of this project."""
    table = {
        f"{name} gate": gate_at(family.goal)
        for name, family in FAMILIES.items()
        if family.kind == "highway"
    }
    found: dict[str, Any] = {}
    layers = {(kind, n): _layer(kind, n, draws) for kind in LAYERS for n, draws in DRAWS.items()}
    for name, family in FAMILIES.items():
        for convention in CONVENTIONS:
            word = name if convention == "paper" else f"{name} project"
            sampled = {n: sample(family, layers[family.kind, n], convention) for n in DRAWS}
            slope, intercept = closed_form(family, convention)
            lines = {"slope": slope, "intercept": intercept, **fitted(sampled)}
            table |= {f"{word} {key}": value for key, value in lines.items()}
            found[word] = {
                str(n): _beside(family, convention, n, one) for n, one in sampled.items()
            }
    table |= {f"gated {start:g}": gated(start) for start in STARTS}
    table["gated power"] = math.log2(gated(2.0) / gated(1.0))
    return {
        "draws": {str(n): draws for n, draws in DRAWS.items()},
        "table": table,
        "widths": found,
        "misprint": misprint(),
    }


def closed_form(family: Family, convention: str) -> tuple[float, float]:
    """Slope and intercept of TSDI in n (Equations 6, 11 and 14).

    Without a variance of the biases the intercept is 0.
    """
    slope = 2 + family.diagonal**2 + (family.start - family.goal) ** 2
    intercept = 2.0 if convention == "paper" else 0.0
    return slope, intercept


def sample(family: Family, layer: Linear, convention: str) -> Distances:
    """The distances of fresh layers, one per replica."""
    draws, n = layer.bias.shape
    weights = (layer.weight - family.diagonal * torch.eye(n, dtype=torch.float64)) ** 2
    biases = layer.bias - family.goal
    if convention == "paper":
        generator = stream(n, f"sdi {family.kind} bias")
        noise = torch.randn(draws, n, generator=generator, dtype=torch.float64)
        biases = biases + noise * math.sqrt(2 / n)
    diagonal = weights.diagonal(dim1=1, dim2=2).sum(1)
    everywhere = weights.sum((1, 2))
    elements = {
        "diagonal": float(diagonal.mean()) / n,
        "off diagonal": float((everywhere - diagonal).mean()) / (n * (n - 1)),
        "bias": float((biases**2).mean()),
    }
    return Distances(everywhere + (biases**2).sum(1), elements)


def fitted(sampled: dict[int, Distances]) -> dict[str, float]:
    """Slope and intercept of the sampled TSDI by least squares over all draws.

    The margins are half of the 95% intervals.
    """
    x = [n for n, one in sampled.items() for _ in one.total]
    line = stats.linregress(x, torch.cat([one.total for one in sampled.values()]).numpy())
    wide = float(stats.t.ppf((1 + LEVEL) / 2, len(x) - 2))
    return {
        "sampled slope": float(line.slope),
        "slope margin": wide * float(line.stderr),
        "sampled intercept": float(line.intercept),
        "intercept margin": wide * float(line.intercept_stderr),
    }


def gate_at(c: float) -> float:
    """g(c): the highway gate of a layer with all weights at 0 and the bias at c (Table 1)."""
    gate = cast(Sigmoid, fresh(_body(2), Sample(HIGHWAY, COUPLED)).blocks[0].T)
    gate.affine.weight.data.zero_()
    cast(Tensor, gate.affine.bias).data.fill_(c)
    x = torch.ones(1, 1, 2, dtype=torch.float64)
    return float(gate(x, x).mean())


def gated(start: float) -> float:
    """TSDI of a layer with a scalar gate: k_init^2, whatever the width (section 3)."""
    network = fresh(_body(10), Sample(GateChoice("scalar", {"start": start}), COUPLED))
    gate = cast(Scalar, network.blocks[0].T)
    return float((gate.k**2).sum())


def misprint(mean: float = 0.5, variance: float = 0.1, draws: int = 100000) -> dict[str, float]:
    """E[(W - 1)^2] of Equation 15: sigma^2 + (mu - 1)^2.

    The last line of the equation prints sigma^2 + (mu^2 - 1)^2.
    """
    noise = torch.randn(draws, generator=stream(0, "sdi misprint"), dtype=torch.float64)
    squares = (mean + math.sqrt(variance) * noise - 1) ** 2
    return {
        "mean": mean,
        "variance": variance,
        "derived": variance + (mean - 1) ** 2,
        "as printed": variance + (mean**2 - 1) ** 2,
        "sampled": float(squares.mean()),
        "error": float(squares.std()) / math.sqrt(draws),
    }


def _body(n: int) -> Mlp:
    return Mlp("mlp", depth=1, width=n, layers=1, init="he-normal")


def _layer(kind: str, n: int, draws: int) -> Linear:
    """The affine map, in fresh layers, whose parameters have to move to reach an identity.

    It is the gate's in a highway layer and the transform's in others.
    """
    block = fresh(_body(n), Sample(*LAYERS[kind], draws, f"sdi {kind} {n}")).blocks[0]
    moving = block.T if kind == "highway" else block.transform
    return next(module for module in moving.modules() if isinstance(module, Linear))


def _beside(family: Family, convention: str, n: int, sampled: Distances) -> dict[str, float]:
    """Formula and sample at one width; `error` is the standard error of the sampled mean."""
    slope, intercept = closed_form(family, convention)
    error = float(sampled.total.std()) / math.sqrt(len(sampled.total))
    return {
        "formula": slope * n + intercept,
        "sampled": float(sampled.total.mean()),
        "error": error,
        **sampled.elements,
    }
