"""F of the block equation: affine maps with batch normalisation and ReLU, in one of two orders."""

from collections.abc import Sequence
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from skipgate.nets.layers import Affine, BatchNorm
from skipgate.settings import Norm


class Post(nn.Module):
    """(affine, BN, ReLU) for each map, as He et al. 2015; the last ReLU may be left to come after the addition."""

    def __init__(self, affines: Sequence[Affine], norm: Norm, *, last_relu: bool) -> None:
        super().__init__()
        self.affines = nn.ModuleList(affines)
        self.norms = nn.ModuleList(BatchNorm(len(a.weight), a.wide_out, norm) for a in affines)
        self.last_relu = last_relu

    def forward(self, x: Tensor, shut: Tensor | None = None) -> Tensor:
        for i, (affine, norm) in enumerate(zip(self.affines, self.norms, strict=True)):
            x = norm(affine(x), shut)
            if self.last_relu or i + 1 < len(self.affines):
                x = F.relu(x)
        return x


class Pre(nn.Module):
    """(BN, ReLU, affine) for each map: the full pre-activation of He et al. 2016."""

    def __init__(self, affines: Sequence[Affine], norm: Norm) -> None:
        super().__init__()
        self.affines = nn.ModuleList(affines)
        self.norms = nn.ModuleList(BatchNorm(len(a.weight), a.wide_in, norm) for a in affines)

    def forward(self, x: Tensor, shut: Tensor | None = None) -> Tensor:
        for affine, norm in zip(self.affines, self.norms, strict=True):
            x = affine(F.relu(norm(x, shut)))
        return x


def transform(affines: Sequence[Affine], norm: Norm, order: Literal["post", "pre"], *, last_relu: bool) -> nn.Module:
    """The transform of that order."""
    return Pre(affines, norm) if order == "pre" else Post(affines, norm, last_relu=last_relu)
