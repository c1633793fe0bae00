"""CReLU networks, with looks-linear or ordinary weights (in the lecture)."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from skipgate.reader import positive
from skipgate.settings.body import Body, Init, divides


@dataclass(frozen=True)
class Crelu(Body):
    """Multilayer network without batch normalisation (Balduzzi et al. 2017).

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

    def __post_init__(self) -> None:
        positive(depth=self.depth, width=self.width, layers=self.layers)
        divides(self.depth, self.layers)

    @property
    def size(self) -> str:
        return f"CReLU, d = {self.depth}"

    @property
    def count(self) -> int:
        return self.depth // self.layers

    def shallow(self) -> Self:
        return replace(self, depth=min(self.depth, 2 * self.layers))
