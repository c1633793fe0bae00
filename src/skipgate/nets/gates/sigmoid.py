"""The data-dependent gate of highway networks.

Srivastava et al. 2015; unrolled Equations 3 and 4.
"""

import torch
from torch import Tensor, nn

from skipgate.nets.gate import Gate, Slot


class Sigmoid(Gate):
    """T = sigmoid(W_T x + b_T), one value per unit and sample.

    A negative bias starts the block near its shortcut.
    """

    def __init__(self, slot: Slot, bias: float = -2.0) -> None:
        super().__init__()
        self.affine = slot.affine()
        self.first_bias = bias

    def start(self) -> None:
        assert self.affine.bias is not None
        nn.init.constant_(self.affine.bias, self.first_bias)

    def forward(self, x: Tensor, f: Tensor, t: Tensor | float | None = None) -> Tensor:
        return torch.sigmoid(self.affine(x))
