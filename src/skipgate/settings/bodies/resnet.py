"""Convolutional networks in stages: He et al.'s on CIFAR, and Wide ResNets."""

from dataclasses import dataclass, field, replace
from typing import Literal, Self

from skipgate.reader import between, later, positive
from skipgate.settings.body import Addition, Body, Init, Norm, Shared, Shortcut, check_side

TWIN_WIDTH = 4


@dataclass(frozen=True)
class Resnet(Body):
    """Convolutional network in stages of `blocks` blocks of two 3x3 layers.

    Each later stage halves the image. Stages have widen * width * (1, 2, 4, ...) channels; the stem
    has `width`. Three stages of width 16 are the CIFAR network of He et al.; widen > 1 makes it a
    Wide ResNet.
    """

    kind: Literal["resnet"]
    blocks: int
    width: int = 16
    widen: int = 1
    stages: int = 3
    order: Literal["post", "pre"] = "pre"
    addition: Addition = "before"
    shortcut: Shortcut = "pad"
    init: Init = "he-normal-out"
    norm: Norm = field(default_factory=Norm)
    dropout: float = later(0.0)
    """Share of the units dropped between a block's maps (Zagoruyko and Komodakis 2016: 0.3)."""
    share: tuple[Shared, ...] = later(())
    side: float = later(0.0)
    """The weight of the loss of a second head, after half of the blocks; 0 means none."""

    def __post_init__(self) -> None:
        positive(blocks=self.blocks, width=self.width, widen=self.widen, stages=self.stages)
        between(0, 0.99, dropout=self.dropout)
        check_side(self.side, self.count)

    @property
    def size(self) -> str:
        if self.widen > 1:
            return f"Wide ResNet ({self.blocks}, {self.widen})"
        return f"resnet, n = {self.blocks}"

    @property
    def count(self) -> int:
        return self.blocks * self.stages

    @property
    def twin_side(self) -> int:
        return 1 << self.stages

    def shallow(self) -> Self:
        few = replace(self, blocks=min(self.blocks, 2))
        if self.widen == 1:
            return few
        return replace(few, width=min(self.width, TWIN_WIDTH), widen=min(self.widen, 2))
