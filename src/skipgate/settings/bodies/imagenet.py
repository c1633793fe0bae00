"""He et al.'s networks for large images."""

from dataclasses import dataclass, field, replace
from typing import Literal, Self

from skipgate.reader import later, positive
from skipgate.settings.body import Addition, Body, Init, Norm, Shared, Shortcut, check_side

EXPANSION = 4
"""A bottleneck gives so many times the channels that it works on."""
TWIN_WIDTH = 4


@dataclass(frozen=True)
class Imagenet(Body):
    """A 7x7 stem, max-pooling, and stages of as many blocks as `blocks` says (He et al. 2015).

    Each later stage halves the image and doubles the channels. A basic block has two 3x3 maps; a
    bottleneck has 1x1, 3x3 and 1x1, and gives four times its width.
    """

    kind: Literal["imagenet"]
    blocks: tuple[int, ...]
    bottleneck: bool = False
    width: int = 64
    stride: Literal["first", "3x3"] = "3x3"
    """Which map of a bottleneck halves the image: He et al.'s first, or PyTorch's 3x3."""
    bias: bool = False
    """Whether maps have biases, which batch normalisation takes away again."""
    order: Literal["post", "pre"] = "post"
    addition: Addition = "before"
    shortcut: Shortcut = "project-norm"
    init: Init = "he-normal-out"
    norm: Norm = field(default_factory=Norm)
    share: tuple[Shared, ...] = later(())
    side: float = later(0.0)
    """The weight of the loss of a second head, after half of the blocks; 0 means none."""

    def __post_init__(self) -> None:
        positive(width=self.width, **{"blocks of a stage": min(self.blocks, default=0)})
        check_side(self.side, self.count)

    @property
    def size(self) -> str:
        return f"{(3 if self.bottleneck else 2) * self.count + 2} layers"

    @property
    def count(self) -> int:
        return sum(self.blocks)

    @property
    def expansion(self) -> int:
        """Channels that a block gives, in widths of its stage."""
        return EXPANSION if self.bottleneck else 1

    def shallow(self) -> Self:
        few = tuple(min(blocks, 2) for blocks in self.blocks)
        return replace(self, blocks=few, width=min(self.width, TWIN_WIDTH))
