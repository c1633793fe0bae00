"""How a net is trained."""

import math
from abc import ABC
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from skipgate.reader import between, fields_of, later, positive
from skipgate.settings.schedules import Adaptive, ConstantRate, Fractions, Halving, Steps


@dataclass(frozen=True)
class Window:
    """A random part of a photograph, resized (Szegedy et al. 2015, section 6)."""

    area: tuple[float, float] = (1.0, 1.0)
    """Its smallest and largest share of the whole."""
    ratio: tuple[float, float] = (1.0, 1.0)
    """The smallest and largest ratio of its width to its height."""

    def __post_init__(self) -> None:
        for name, (low, high) in (("area", self.area), ("ratio", self.ratio)):
            positive(**{name: low})
            if high < low:
                raise ValueError(f"{name} goes from {low:g} down to {high:g}; turn the two round")
        between(0, 1, area=self.area[1])

    @property
    def is_whole(self) -> bool:
        """Whether nothing is cut off."""
        return self == Window()


@dataclass(frozen=True)
class Jitter:
    """Photometric distortions (Howard 2013), each by a factor of [1 - spread, 1 + spread]."""

    brightness: float = 0.0
    """Pixels are multiplied by it."""
    contrast: float = 0.0
    """Distances from the image's mean grey value are."""
    saturation: float = 0.0
    """Distances from a pixel's own grey value are."""

    def __post_init__(self) -> None:
        between(
            0, 1, brightness=self.brightness, contrast=self.contrast, saturation=self.saturation
        )


@dataclass(frozen=True)
class Lighting:
    """A random step along each principal component of colours (Krizhevsky et al. 2012)."""

    deviation: float = 0.0
    """Standard deviation of the steps; 0 takes none."""
    values: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """How far a step of 1 goes along each component, of pixels from 0 to 1."""
    vectors: tuple[tuple[float, float, float], ...] = (
        (1.0, 0.0, 0.0),
        (0.0, 1.0, 0.0),
        (0.0, 0.0, 1.0),
    )
    """A row each for red, green and blue, with their shares in the three components."""

    def __post_init__(self) -> None:
        between(0, math.inf, deviation=self.deviation)
        if len(self.vectors) != 3:
            raise ValueError(f"vectors must have 3 rows, found {len(self.vectors)}")


WHOLE = Window()
NO_JITTER = Jitter()
NO_LIGHTING = Lighting()


@dataclass(frozen=True)
class Augment:
    """Random crops after padding by `pad` pixels, horizontal flips, and changes of colours."""

    pad: int = 0
    flip: bool = False
    brightness: float = later(0.0)
    """A number of [-brightness, brightness] is added to all pixels of an image."""
    contrast: float = later(0.0)
    """The distance from the channel's mean is scaled by a number of [1 - contrast, 1 + contrast].

    Pixels are as they are stored, from 0 to the largest, and are cut to that.
    """
    window: Window = later(WHOLE)  # noqa: RUF009  a frozen one
    jitter: Jitter = later(NO_JITTER)  # noqa: RUF009
    lighting: Lighting = later(NO_LIGHTING)  # noqa: RUF009
    """Jitter and lighting come in a random order."""

    def __post_init__(self) -> None:
        between(0, 100, pad=self.pad)
        between(0, math.inf, brightness=self.brightness)
        between(0, 1, contrast=self.contrast)


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
    gate_rate: float = later(0.0)
    """Of gates, where it is another than that of weights."""
    fall: float = later(1.0)
    """What all rates are multiplied by after every so many steps (epsilon-ResNet's code: 0.2)."""
    every: int = later(0)

    def __post_init__(self) -> None:
        between(0, 1, rate=self.rate, gate_rate=self.gate_rate)
        if self.gate_rate and not self.gates:
            raise ValueError("gate_rate needs gates: true")
        between(0, 1, fall=self.fall)
        between(0, math.inf, every=self.every)
        if (self.fall != 1) != (self.every > 0):
            raise ValueError("fall, by how much, and every, after how many steps, go together")

    def left(self, step: int) -> float:
        """The share of the first rates that is left after so many steps."""
        return float(self.fall ** (step // self.every)) if self.every else 1.0


Pixels = Literal["unit", "centred", "standardised", "centred-128"]
Device = Literal["auto", "cpu", "cuda"]
Precision = Literal["float32", "tf32", "bfloat16"]


@dataclass(frozen=True)
class FixedPixels:
    """Numbers that are given, as those who trained a network took them.

    Pixels from 0 to `brightest`, channels in `order`, each less its mean and over its deviation;
    a single mean or deviation is that of all channels.
    """

    order: Literal["rgb", "bgr"] = "rgb"
    brightest: float = 1.0
    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        positive(brightest=self.brightest, deviation=min(self.deviation, default=0))


class Handling(ABC):
    """How examples reach a network, and where it runs."""

    pixels: Pixels | FixedPixels
    evaluation_batch: int
    device: Device
    threads: int

    @classmethod
    def from_plain(cls, value: Any, path: str) -> Self:
        """Read a recipe; one of the kind `given` has no training."""
        given = isinstance(value, dict) and "kind" in value
        made: Self = fields_of(Given if given else Recipe, value, path)
        return made


@dataclass(frozen=True)
class Given(Handling):
    """How a net is handled that comes with its weights."""

    kind: Literal["given"]
    pixels: FixedPixels = field(default_factory=FixedPixels)
    evaluation_batch: int = 100
    device: Device = "auto"
    threads: int = 1

    def __post_init__(self) -> None:
        positive(evaluation_batch=self.evaluation_batch, threads=self.threads)


@dataclass(frozen=True)
class Recipe(Handling):
    """How a net is trained."""

    epochs: int
    batch: int
    optimiser: Sgd | Nadam
    schedule: ConstantRate | Steps | Fractions | Adaptive | Halving
    pixels: Pixels | FixedPixels = "unit"
    decay: Decay = field(default_factory=Decay)
    augment: Augment = field(default_factory=Augment)
    images: int = 0
    """How many examples, from the first, are trained on; 0 means all."""
    evaluation_batch: int = 1000
    """Examples that are evaluated at once.

    A gate that looks at the whole mini-batch (epsilon) must be tested on batches of the size it was
    trained on.
    """
    device: Device = "auto"
    threads: int = 1
    """Fixed, because sums over more threads round differently.

    The bytes must not depend on the machine's cores.
    """
    validation: int = later(0)
    """How many of these, from the last, are held out: scored every epoch and not trained on."""
    shuffle: bool = later(True)
    """Whether every epoch has an order of its own, or all have that of the data set."""
    score_training: bool = later(False)
    """Whether the measure of every batch is recorded as it is trained on, beside its loss."""
    precision: Precision = later("float32")  # noqa: RUF009  a word
    """Of products on a GPU; parameters, sums and tests stay in float32."""
    compiled: bool = later(False)
    """Whether `torch.compile` makes one kernel of many, on a GPU with CUDA graphs.

    Last bits may then change from one version of its compiler to the next.
    """
    checkpointed: bool = later(False)
    """Whether blocks are computed again for their gradients, not kept (Chen et al. 2016).

    Activations then take the memory of the blocks' inputs, and a step takes a third longer.
    """
    steps: int = later(0)
    """Words of a text that a step goes back through; `batch` is how many texts run side by side."""
    clip: float = later(0.0)
    """What a seed's whole gradient is shortened to where its norm is above; 0 means never."""

    def __post_init__(self) -> None:
        positive(
            epochs=self.epochs,
            batch=self.batch,
            evaluation_batch=self.evaluation_batch,
            threads=self.threads,
        )
        between(0, math.inf, images=self.images, validation=self.validation)
        between(0, math.inf, steps=self.steps, clip=self.clip)
        if self.checkpointed and self.compiled:
            raise ValueError("checkpointed blocks cannot be compiled; set one of the two to false")
