"""What a net is made of: its body and its gates."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from skipgate.files import Problem
from skipgate.reader import between, nearest, positive

GATES = sorted(
    p.stem
    for p in (Path(__file__).parents[1] / "nets" / "gates").glob("*.py")
    if p.stem != "__init__"
)


@dataclass(frozen=True)
class Norm:
    """Batch normalisation; `momentum` is the share of the newest batch in the running statistics."""

    momentum: float = 0.1
    epsilon: float = 0.00001

    def __post_init__(self) -> None:
        between(0, 1, momentum=self.momentum)
        positive(epsilon=self.epsilon)


Init = Literal["glorot-uniform", "he-normal", "he-normal-out", "gaussian", "torch", "looks-linear"]


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
        _divides(self.depth, self.layers)


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


@dataclass(frozen=True)
class Crelu:
    """Multilayer network without batch normalisation: linear, `depth` layers W phi(x) + b, linear (Balduzzi et al. 2017).

    phi is CReLU. Looks-linear weights make the whole network linear at the start; `he-normal` is its ordinary start.
    """

    kind: Literal["crelu"]
    depth: int
    width: int = 50
    layers: int = 2
    init: Init = "looks-linear"

    def __post_init__(self) -> None:
        positive(depth=self.depth, width=self.width, layers=self.layers)
        _divides(self.depth, self.layers)


Body = Mlp | Resnet | Fleuret | Crelu


def _divides(depth: int, layers: int) -> None:
    if depth % layers:
        below = depth - depth % layers
        fitting = " or ".join(str(d) for d in (below, below + layers) if d)
        raise ValueError(f"depth {depth} does not divide into blocks of {layers}; use {fitting}")


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
            raise Problem(
                f"{path}: there is no gate {word!r} in nets/gates; {nearest(str(word), GATES)}"
            )
        return cls(word, settings)

    def to_plain(self) -> dict[str, Any]:
        """The same in the form that `from_plain` reads."""
        return {"gate": self.gate, **self.settings}
