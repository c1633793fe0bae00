"""How a net is trained."""

import math
from dataclasses import dataclass, field
from typing import Literal

from skipgate.reader import between, positive
from skipgate.settings.schedules import ConstantRate, Fractions, Steps


@dataclass(frozen=True)
class Augment:
    """Random crops after padding by `pad` pixels, and horizontal flips."""

    pad: int = 0
    flip: bool = False

    def __post_init__(self) -> None:
        between(0, 100, pad=self.pad)


@dataclass(frozen=True)
class Sgd:
    """Stochastic gradient descent with (Nesterov) momentum."""

    kind: Literal["sgd"]
    rate: float
    momentum: float = 0.9
    nesterov: bool = True

    def __post_init__(self) -> None:
        positive(rate=self.rate)
        between(0, 1, momentum=self.momentum)
        if self.nesterov and self.momentum == 0:
            raise ValueError("nesterov needs a momentum above 0")


@dataclass(frozen=True)
class Nadam:
    """Adam with Nesterov momentum (Dozat 2016); the defaults are Keras's of 2016."""

    kind: Literal["nadam"]
    rate: float = 0.002
    beta1: float = 0.9
    beta2: float = 0.999
    momentum_decay: float = 0.004

    def __post_init__(self) -> None:
        positive(rate=self.rate)
        between(0, 0.999999, beta1=self.beta1, beta2=self.beta2)


@dataclass(frozen=True)
class Decay:
    """Weight decay (an L2 term of the loss), always on weights; on the rest where switched on."""

    rate: float = 0.0
    gates: bool = False
    """All that belongs to a gate: "k decay" in gresnet-v2 section 3.2."""
    biases: bool = False
    norms: bool = False

    def __post_init__(self) -> None:
        between(0, 1, rate=self.rate)


Pixels = Literal["unit", "centred", "standardised"]


@dataclass(frozen=True)
class Recipe:
    """How a net is trained."""

    epochs: int
    batch: int
    optimiser: Sgd | Nadam
    schedule: ConstantRate | Steps | Fractions
    pixels: Pixels = "unit"
    decay: Decay = field(default_factory=Decay)
    augment: Augment = field(default_factory=Augment)
    images: int = 0
    """How many examples, from the first, are trained on; 0 means all."""
    evaluation_batch: int = 1000
    """Examples that are evaluated at once.

    A gate that looks at the whole mini-batch (epsilon) must be tested on batches of the size it was
    trained on.
    """
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int = 1
    """Fixed, because sums over more threads round differently.

    The bytes must not depend on the machine's cores.
    """

    def __post_init__(self) -> None:
        positive(
            epochs=self.epochs,
            batch=self.batch,
            evaluation_batch=self.evaluation_batch,
            threads=self.threads,
        )
        between(0, math.inf, images=self.images)
