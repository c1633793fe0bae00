"""CReLU and the weights that make it look linear (Balduzzi et al. 2017, in the lecture)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from skipgate.nets.layers import Linear


def crelu(x: Tensor) -> Tensor:
    """phi(x): max(0, x_q) in column 2q, max(0, -x_q) in column 2q + 1."""
    return torch.stack([F.relu(x), F.relu(-x)], -1).flatten(-2)


def looking_linear(V: Tensor) -> Tensor:
    """W with column 2q that of V and column 2q + 1 its opposite, so that W phi(x) = V x."""
    return torch.stack([V, -V], -1).flatten(-2)


class CreluLinear(Linear):
    """y = phi(x) W^T + b, with its own W and b per replica; W has twice as many columns as x."""

    def __init__(self, replicas: int, in_features: int, out_features: int) -> None:
        super().__init__(replicas, 2 * in_features, out_features)

    def forward(self, x: Tensor) -> Tensor:
        """(replica, batch, in) to (replica, batch, out)."""
        return super().forward(crelu(x))
