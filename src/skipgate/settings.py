"""How a net may be built and trained: the values of `params.yaml`, as frozen dataclasses that say what they mean."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from skipgate.files import Problem
from skipgate.reader import between, nearest, positive

GATES = sorted(p.stem for p in (Path(__file__).parent / "nets" / "gates").glob("*.py") if p.stem != "__init__")


@dataclass(frozen=True)
class Dataset:
    """A labelled set of images: where it comes from and what its decoded bytes must hash to."""

    kind: Literal["digits", "mnist"]
    shape: tuple[int, int, int]
    classes: int
    top: int
    """The largest pixel value; `unit` pixels are divided by it."""
    test: int
    """How many images the test set has."""
    sha256: str
    """Of the decoded arrays."""
    files: dict[str, str] = field(default_factory=dict)
    """Raw files with their SHA-256: training images and labels, test images and labels."""
    package: str = ""
    """Where the npm registry has them."""


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
class Constant:
    """The same learning rate all along."""

    kind: Literal["constant"]


@dataclass(frozen=True)
class Steps:
    """Multiply the learning rate by `factor` at each of these epochs."""

    kind: Literal["steps"]
    at: tuple[int, ...]
    factor: float

    def __post_init__(self) -> None:
        positive(factor=self.factor, **{"an epoch of at": min(self.at, default=1)})


@dataclass(frozen=True)
class Fractions:
    """Multiply the learning rate by `factor` after each of these fractions of all epochs."""

    kind: Literal["fractions"]
    at: tuple[float, ...]
    factor: float

    def __post_init__(self) -> None:
        positive(factor=self.factor)
        for fraction in self.at:
            between(0, 1, **{"a fraction of at": fraction})


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
    schedule: Constant | Steps | Fractions
    pixels: Pixels = "unit"
    decay: Decay = field(default_factory=Decay)
    augment: Augment = field(default_factory=Augment)
    images: int = 0
    """Train on the first so many images only; 0 means all."""
    evaluation_batch: int = 1000
    """A gate that looks at the whole mini-batch (epsilon) must be tested on batches of the size it was trained on."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int = 1
    """Fixed, because sums over more threads round differently: the bytes must not depend on the machine's cores."""

    def __post_init__(self) -> None:
        positive(epochs=self.epochs, batch=self.batch, evaluation_batch=self.evaluation_batch, threads=self.threads)
        between(0, math.inf, images=self.images)


@dataclass(frozen=True)
class Norm:
    """Batch normalisation; `momentum` is the share of the newest batch in the running statistics."""

    momentum: float = 0.1
    epsilon: float = 0.00001

    def __post_init__(self) -> None:
        between(0, 1, momentum=self.momentum)
        positive(epsilon=self.epsilon)


Init = Literal["glorot-uniform", "he-normal", "he-normal-out", "gaussian", "torch"]


@dataclass(frozen=True)
class Mlp:
    """Multilayer network of gresnet: linear, `depth` layers in blocks of `layers`, linear."""

    kind: Literal["mlp"]
    depth: int
    width: int = 50
    layers: int = 2
    order: Literal["post", "pre"] = "post"
    addition: Literal["after", "before"] = "after"
    """Whether a post-activation block adds its shortcut after or before its last ReLU."""
    init: Init = "glorot-uniform"
    norm: Norm = field(default_factory=Norm)

    def __post_init__(self) -> None:
        positive(depth=self.depth, width=self.width, layers=self.layers)
        if self.depth % self.layers:
            below = self.depth - self.depth % self.layers
            fitting = " or ".join(str(d) for d in (below, below + self.layers) if d)
            raise ValueError(f"depth {self.depth} does not divide into blocks of {self.layers}; use {fitting}")


@dataclass(frozen=True)
class Resnet:
    """Convolutional network in stages of `blocks` blocks of two 3x3 layers; each later stage halves the image.

    Stages have widen * width * (1, 2, 4, ...) channels; the stem has `width`. Three stages of width 16 are the CIFAR
    network of He et al.; widen > 1 makes it a Wide ResNet.
    """

    kind: Literal["resnet"]
    blocks: int
    width: int = 16
    widen: int = 1
    stages: int = 3
    order: Literal["post", "pre"] = "pre"
    addition: Literal["after", "before"] = "before"
    shortcut: Literal["pad", "pool", "project"] = "pad"
    init: Init = "he-normal-out"
    norm: Norm = field(default_factory=Norm)

    def __post_init__(self) -> None:
        positive(blocks=self.blocks, width=self.width, widen=self.widen, stages=self.stages)


@dataclass(frozen=True)
class Fleuret:
    """The lecture's MNIST network: a 1x1 stem, `blocks` blocks at full size, average pooling."""

    kind: Literal["fleuret"]
    blocks: int = 25
    width: int = 16
    init: Init = "torch"
    norm: Norm = field(default_factory=Norm)

    def __post_init__(self) -> None:
        positive(blocks=self.blocks, width=self.width)


Body = Mlp | Resnet | Fleuret


@dataclass(frozen=True)
class GateChoice:
    """A gate by the name of its file in `nets/gates/`, with settings for its constructor."""

    gate: str
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_plain(cls, value: Any, path: str) -> "GateChoice":
        """Read `scalar`, or `{gate: sigmoid, bias: -2}`."""
        settings = dict(value) if isinstance(value, dict) else {"gate": value}
        word = settings.pop("gate", None)
        if word not in GATES:
            raise Problem(f"{path}: there is no gate {word!r} in nets/gates; {nearest(str(word), GATES)}")
        return cls(word, settings)

    def to_plain(self) -> dict[str, Any]:
        """The same in the form that `from_plain` reads."""
        return {"gate": self.gate, **self.settings}
