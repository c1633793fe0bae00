"""CReLU and the weights that make it look linear (Balduzzi et al. 2017, in the lecture)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from skipgate.nets.layers import Conv, Linear

CHANNELS = -3
"""The axis of an image's channels, and of a convolution's inputs."""


def crelu(x: Tensor, axis: int = -1) -> Tensor:
    """phi(x): max(0, x_q) in column 2q, max(0, -x_q) in column 2q + 1."""
    return _paired(F.relu(x), F.relu(-x), axis)


def looking_linear(V: Tensor, axis: int = -1) -> Tensor:
    """W with column 2q that of V and column 2q + 1 its opposite, so that W phi(x) = V x."""
    return _paired(V, -V, axis)


def _paired(a: Tensor, b: Tensor, axis: int) -> Tensor:
    """The columns of both by turns; `axis`, from the end, has them."""
    return torch.stack([a, b], axis).flatten(axis - 1, axis)


class CreluLinear(Linear):
    """y = phi(x) W^T + b, with its own W and b per replica; W has twice as many columns as x."""

    def __init__(self, replicas: int, in_features: int, out_features: int) -> None:
        super().__init__(replicas, 2 * in_features, out_features)

    def forward(self, x: Tensor) -> Tensor:
        """(replica, batch, in) to (replica, batch, out)."""
        return super().forward(crelu(x))


class CreluConv(Conv):
    """The same with a convolution: phi doubles the channels."""

    def __init__(
        self,
        replicas: int,
        in_features: int,
        out_features: int,
        kernel: int = 3,
        stride: int = 1,
        *,
        bias: bool = False,
    ) -> None:
        super().__init__(replicas, 2 * in_features, out_features, kernel, stride, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """(replica, batch, in, height, width) to (replica, batch, out, ...)."""
        return super().forward(crelu(x, CHANNELS))
