"""S of the block equation: what a block is when its gate is closed."""

import torch.nn.functional as F
from torch import Tensor, nn

from skipgate.nets.layers import Conv, normalisation
from skipgate.settings import Norm, Shortcut


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


def shortcut(kind: Shortcut, conv: Conv, norm: Norm) -> nn.Module:
    """The shortcut from the inputs to the outputs of a 1x1 map, or that map itself.

    It is the identity if nothing changes.
    """
    extra = conv.out_features - conv.in_features
    if extra == 0 and conv.stride == 1:
        return nn.Identity()
    if kind == "project":
        return conv
    if kind == "project-norm":
        return nn.Sequential(conv, normalisation(len(conv.weight), conv.out_features, norm))
    return Pad(extra, conv.stride) if kind == "pad" else Pool(extra, conv.stride)
