"""VGG networks: chains of 3x3 maps."""

from dataclasses import dataclass, field, replace
from typing import Literal, Self

from skipgate.reader import positive
from skipgate.settings.body import Body, Init, Norm

TWIN_WIDTH = 4


@dataclass(frozen=True)
class Vgg(Body):
    """Stages of 3x3 maps with batch normalisation and ReLU, each a block of its own.

    Max-pooling halves the image after every stage; stages have `width` channels, then twice as
    many, and so on up to `widest`. Two linear layers follow, with batch normalisation and ReLU
    between them. Simonyan and Zisserman 2014; with 13 maps and 2 linear ones it is the 15-layer
    network that Veit et al. 2016 lesion.
    """

    kind: Literal["vgg"]
    layers: tuple[int, ...] = (2, 2, 3, 3, 3)
    """Maps of each stage."""
    width: int = 64
    widest: int = 512
    hidden: int = 512
    """Units between the two linear layers."""
    bias: bool = True
    order: Literal["post"] = "post"
    addition: Literal["after"] = "after"
    init: Init = "he-normal-out"
    norm: Norm = field(default_factory=Norm)

    def __post_init__(self) -> None:
        positive(
            width=self.width,
            widest=self.widest,
            hidden=self.hidden,
            **{"layers of a stage": min(self.layers, default=0)},
        )

    @property
    def size(self) -> str:
        return f"VGG, {self.count + 2} layers"

    @property
    def count(self) -> int:
        return sum(self.layers)

    def width_of(self, stage: int) -> int:
        """Channels of a stage."""
        return min(self.width << stage, self.widest)

    def shallow(self) -> Self:
        few = tuple(min(layers, 2) for layers in self.layers)
        narrow = min(self.width, TWIN_WIDTH)
        return replace(self, layers=few, width=narrow, widest=2 * narrow, hidden=narrow)
