"""What all bodies know about themselves."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from skipgate.reader import Chosen, between, later, positive

TWIN_SIDE = 32

Init = Literal[
    "glorot-uniform",
    "he-normal",
    "he-normal-out",
    "gaussian",
    "uniform",
    "torch",
    "looks-linear",
    "uniform-all",
]

Addition = Literal["after", "before", "both", "neither"]
"""Whether a post-activation block adds its shortcut after or before its last ReLU.

With `both` there is one on either side of the addition, with `neither` there is none. unrolled's
Highway-Full has its third ReLU at the end of F; whether another follows the sum, as in He et al.,
is not said: `both` or `after`, and `before` or `neither` for its Highway.
"""

Shared = Literal["maps", "gates"]
"""What the blocks of a stage that keep the shape have in common: the maps of F, the gates' numbers.

unrolled section 4.3, after Liao and Poggio 2016, and Lu and Renals 2015.
"""

Shortcut = Literal["pad", "pool", "project", "project-norm"]
"""What a block's shortcut is where the shape changes: zeros, pooling and zeros, a 1x1 map, or such
a map with batch normalisation. Plain networks, whose C is 0, want `pad`: it has no parameters.
"""


@dataclass(frozen=True)
class Norm:
    """Batch normalisation.

    `momentum` is the share of the newest batch in the running statistics.
    """

    momentum: float = 0.1
    epsilon: float = 0.00001
    scale: bool = later(True)
    """Whether it multiplies what it has normalised by a factor that is learnt."""
    start: Literal["one", "uniform"] = later("one")
    """Where that factor begins: Torch of 2016 draws it from 0 to 1."""
    kind: Literal["batch", "none"] = later("batch")
    """`none` leaves it out of the whole network (unrolled section 5.1)."""

    def __post_init__(self) -> None:
        between(0, 1, momentum=self.momentum)
        positive(epsilon=self.epsilon)

    @property
    def absent(self) -> bool:
        """Whether it is left out: convolutions then have biases, as nothing else shifts them."""
        return self.kind == "none"


class Body(Chosen):
    """All of a network but its gates. Each kind is a file of `settings/bodies`.

    The file of the same name in `nets/bodies` builds it.
    """

    folder: ClassVar[str] = "skipgate.settings.bodies"
    family: ClassVar[str] = ""
    """What networks of this body are called, where their gates do not say it."""
    told_by_init: ClassVar[bool] = False
    """Whether networks of this body are set beside each other by how they start."""

    reads_text: ClassVar[bool] = False
    """Whether its inputs are words and their characters."""

    kind: str
    init: Init
    """How weights start."""

    @property
    @abstractmethod
    def size(self) -> str:
        """The size, in words, by which networks of different gates are set side by side."""

    @property
    def count(self) -> int:
        """How many blocks it has; 0 for a body that no claim of a paper is about."""
        return 0

    @property
    def twin_side(self) -> int:
        """The largest side of an image that its twin is trained on."""
        return TWIN_SIDE

    @abstractmethod
    def shallow(self) -> Self:
        """A twin with the same parts but few blocks, for checks that must be quick and stable."""


def check_side(side: float, blocks: int) -> None:
    """Refuse a side head where there is no block in the middle."""
    between(0, math.inf, side=side)
    if side and blocks < 2:
        raise ValueError(f"side needs a network of at least 2 blocks, found {blocks}")


def divides(depth: int, layers: int) -> None:
    """Refuse a depth that does not divide into blocks."""
    if depth % layers:
        below = depth - depth % layers
        fitting = " or ".join(str(d) for d in (below, below + layers) if d)
        raise ValueError(f"depth {depth} does not divide into blocks of {layers}; use {fitting}")
