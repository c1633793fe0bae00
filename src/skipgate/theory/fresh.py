"""Freshly initialised networks of this project, for the studies of theory."""

import dataclasses
import math

from torch import Tensor

from skipgate.nets.bodies import Plan, build
from skipgate.nets.network import Network
from skipgate.nets.weights import initialise
from skipgate.settings import Body, Classify, GateChoice
from skipgate.streams import streams

ONE = GateChoice("constant")
ZERO = GateChoice("constant", {"value": 0.0})
SCALAR = GateChoice("scalar")
COUPLED = GateChoice("coupled")
IMAGES = Classify("classify", (1, 4, 4), 10, 1, 0, "")
"""Made-up images of 16 pixels in 10 classes."""
ROUNDING = 1e-9
"""What is smaller than this, in float64 and of numbers about 1, is taken for rounding."""


@dataclasses.dataclass(frozen=True)
class Sample:
    """A network to initialise: its gates, how many replicas, and the name of its random numbers."""

    T: GateChoice = ONE
    C: GateChoice = ONE
    replicas: int = 1
    purpose: str = "theory"


def fresh(body: Body, sample: Sample) -> Network:
    """The network in float64, as it is evaluated.

    Equal purposes draw equal weights where the maps are the same.
    """
    plan = Plan(sample.T, sample.C, IMAGES.shape, IMAGES.outputs, sample.replicas)
    network = build(body, plan).double()
    initialise(network, body.init, streams(range(sample.replicas), sample.purpose))
    return network.eval().requires_grad_(False)


def farthest(a: Tensor, b: Tensor) -> float:
    """The largest absolute difference."""
    return float((a - b).abs().max())


def settled(deviation: float) -> float:
    """A deviation; of a rounding error the power of ten above it, as machines differ in digits."""
    return 10.0 ** math.ceil(math.log10(deviation)) if 0 < deviation < ROUNDING else deviation
