"""F of the block equation: affine maps with batch normalisation and ReLU, in one of two orders."""

from collections.abc import Sequence
from typing import Literal, cast

from torch import Tensor, nn

from skipgate.nets.activation import is_compiled_chain, norm_relu, norm_relu_conv
from skipgate.nets.dense import Layer, dot_norm_relu, fused
from skipgate.nets.dropout import Dropout
from skipgate.nets.gate import Layers
from skipgate.nets.layers import Affine, normalisation
from skipgate.settings import Norm

Ending = Literal["relu", "norm", "map"]
"""What a post-activation transform ends with, before its shortcut is added."""


class Post(Layers):
    """(affine, BN, ReLU) for each map, as He et al. 2015.

    The last ReLU, or the last BN and ReLU, may be left to come after the addition.
    """

    def __init__(
        self, affines: Sequence[Affine], norm: Norm, ending: Ending, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.affines = nn.ModuleList(affines)
        normed = affines[:-1] if ending == "map" else affines
        self.norms = nn.ModuleList(
            normalisation(len(a.weight), a.out_features, norm) for a in normed
        )
        self.drops = _drops(affines, dropout)
        self.last_relu = ending != "norm"
        self.fusible = not norm.absent and not dropout

    def forward(self, x: Tensor, shut: Tensor | None = None) -> Tensor:
        layers = list(zip(self.affines, self.norms, strict=False))
        fusible = self.fusible and layers and self.training and shut is None
        if fusible and x.ndim == 3 and fused(x):
            x = dot_norm_relu(x, cast(list[Layer], layers), last_relu=self.last_relu)
        else:
            for i, (affine, norm) in enumerate(layers, start=1):
                x = affine(x)
                activated = self.last_relu or i < len(layers)
                x = norm_relu(norm, x, shut) if activated else norm(x, shut)
                x = self.drops[i - 1](x) if i <= len(self.drops) else x
        for bare in self.affines[len(layers) :]:
            x = bare(x)
        return x


class Bare(nn.Module):
    """The maps one after the other, without batch normalisation."""

    def __init__(self, affines: Sequence[Affine]) -> None:
        super().__init__()
        self.affines = nn.ModuleList(affines)

    def forward(self, x: Tensor, shut: Tensor | None = None) -> Tensor:
        for affine in self.affines:
            x = affine(x)
        return x


class Pre(nn.Module):
    """(BN, ReLU, affine) for each map: the full pre-activation of He et al. 2016.

    Where the block's input is `activated` already, before the paths part, the first map stands
    alone.
    """

    def __init__(
        self, affines: Sequence[Affine], norm: Norm, dropout: float = 0.0, *, activated: bool
    ) -> None:
        super().__init__()
        self.affines = nn.ModuleList(affines)
        later = affines[1:] if activated else affines
        self.norms = nn.ModuleList(normalisation(len(a.weight), a.in_features, norm) for a in later)
        self.drops = _drops(affines, dropout)

    def forward(self, x: Tensor, shut: Tensor | None = None) -> Tensor:
        whole = self.fused(x) if shut is None else None
        if whole is not None:
            return whole
        bare = len(self.affines) - len(self.norms)
        for i, affine in enumerate(self.affines):
            x = x if i < bare else norm_relu(self.norms[i - bare], x, shut)
            x = self.drops[i - 1](x) if i and self.drops else x
            x = affine(x)
        return x

    def fused(self, x: Tensor, s: Tensor | None = None) -> Tensor | None:
        """F(x), or F(x) + s, as one compiled step; None where there is no such step."""
        bare = len(self.affines) - len(self.norms)
        layers = list(zip(self.norms, self.affines[bare:], strict=True))
        if self.drops or not is_compiled_chain(layers, x):
            return None
        h = x
        for affine in self.affines[:bare]:
            h = affine(h)
        return norm_relu_conv(h, layers, s)


def _drops(affines: Sequence[Affine], share: float) -> nn.ModuleList:
    """Dropout before every map but the first, or none: after the ReLU between two maps."""
    replicas = len(affines[0].weight)
    return nn.ModuleList(Dropout(replicas, share) for _ in affines[1:] if share)
