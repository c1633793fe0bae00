"""The lecture's network."""

from dataclasses import dataclass, field, replace
from typing import Literal, Self

from skipgate.reader import positive
from skipgate.settings.body import Body, Init, Norm


@dataclass(frozen=True)
class Fleuret(Body):
    """The lecture's MNIST network: a 1x1 stem, `blocks` blocks at full size, average pooling."""

    kind: Literal["fleuret"]
    blocks: int = 25
    width: int = 16
    init: Init = "torch"
    norm: Norm = field(default_factory=Norm)

    def __post_init__(self) -> None:
        positive(blocks=self.blocks, width=self.width)

    @property
    def size(self) -> str:
        return f"fleuret, n = {self.blocks}"

    @property
    def count(self) -> int:
        return self.blocks

    def shallow(self) -> Self:
        return replace(self, blocks=min(self.blocks, 2))
