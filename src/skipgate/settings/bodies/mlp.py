"""The multilayer network of gresnet."""

from dataclasses import dataclass, field, replace
from typing import Literal, Self

from skipgate.reader import later, positive
from skipgate.settings.body import Body, Init, Norm, Shared, check_side, divides


@dataclass(frozen=True)
class Mlp(Body):
    """Multilayer network of gresnet: linear, `depth` layers in blocks of `layers`, linear."""

    kind: Literal["mlp"]
    depth: int
    width: int = 50
    layers: int = 2
    order: Literal["post", "pre"] = "post"
    addition: Literal["after", "before", "before-norm"] = "after"
    """Whether a post-activation block adds its shortcut after or before its last ReLU.

    It may be added before the last batch normalisation too.
    """
    init: Init = "glorot-uniform"
    norm: Norm = field(default_factory=Norm)
    stem: Literal["linear", "relu", "norm-relu"] = later("linear")
    """What follows the first map before the blocks begin."""
    bias: bool = later(True)
    """Whether affine maps have biases; those before batch normalisation make no difference."""
    share: tuple[Shared, ...] = later(())
    side: float = later(0.0)
    """The weight of the loss of a second head, after half of the blocks; 0 means none."""

    def __post_init__(self) -> None:
        positive(depth=self.depth, width=self.width, layers=self.layers)
        divides(self.depth, self.layers)
        check_side(self.side, self.count)

    @property
    def size(self) -> str:
        return f"d = {self.depth}"

    @property
    def count(self) -> int:
        return self.depth // self.layers

    def shallow(self) -> Self:
        return replace(self, depth=min(self.depth, 2 * self.layers))
