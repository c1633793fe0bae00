"""S of the block equation: what a block is when its gate is closed."""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from skipgate.nets.layers import Conv


class Pad(nn.Module):
    """Every stride-th pixel, and zeros for the new channels (He et al. 2015, option A).

    The new channels come after the old.
    """

    def __init__(self, extra: int, stride: int) -> None:
        super().__init__()
        self.extra = extra
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x[..., :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.extra))


class Pool(nn.Module):
    """Average pooling, and zeros on both sides of the old channels.

    So does the code of epsilon-ResNet's authors.
    """

    def __init__(self, extra: int, stride: int) -> None:
        super().__init__()
        self.extra = extra
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        small = F.avg_pool2d(x.flatten(0, 1), self.stride).unflatten(0, x.shape[:2])
        return F.pad(small, (0, 0, 0, 0, self.extra // 2, self.extra - self.extra // 2))


def shortcut(kind: Literal["pad", "pool", "project"], affine: Conv) -> nn.Module:
    """The shortcut beside a transform that begins with `affine` and ends with its width.

    It is the identity if nothing changes.
    """
    extra = affine.out_features - affine.in_features
    stride = affine.stride
    if extra == 0 and stride == 1:
        return nn.Identity()
    if kind == "project":
        return Conv(
            len(affine.weight), affine.in_features, affine.out_features, kernel=1, stride=stride
        )
    return Pad(extra, stride) if kind == "pad" else Pool(extra, stride)
