"""CReLU networks, with looks-linear or ordinary weights (in the lecture)."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from skipgate.reader import between, later, positive
from skipgate.settings.body import TWIN_SIDE, Body, Init, divides

TWIN_WIDTH = 4
MOST_STAGES = 8


@dataclass(frozen=True)
class Crelu(Body):
    """Network without batch normalisation (Balduzzi et al. 2017).

    Linear, `depth` layers W phi(x) + b, linear; phi is CReLU. Looks-linear weights make the whole
    network linear at the start; `he-normal` is its ordinary start.
    """

    family: ClassVar[str] = "CReLU"
    told_by_init: ClassVar[bool] = True

    kind: Literal["crelu"]
    depth: int
    width: int = 50
    layers: int = 2
    init: Init = "looks-linear"
    stages: int = later(0)
    """Of 3x3 convolutions: each later one halves the image and doubles the channels, which begin
    with `width`. 0 means dense layers.
    """

    def __post_init__(self) -> None:
        positive(depth=self.depth, width=self.width, layers=self.layers)
        between(0, MOST_STAGES, stages=self.stages)
        divides(self.depth, self._step)

    @property
    def size(self) -> str:
        return f"CReLU, d = {self.depth}"

    @property
    def count(self) -> int:
        return self.depth // self.layers

    @property
    def twin_side(self) -> int:
        return 1 << self.stages if self.stages else TWIN_SIDE

    def shallow(self) -> Self:
        width = min(self.width, TWIN_WIDTH) if self.stages else self.width
        return replace(self, depth=min(self.depth, 2 * self._step), width=width)

    @property
    def _step(self) -> int:
        """Layers of a block in every stage: what the depth is a multiple of."""
        return self.layers * max(self.stages, 1)
