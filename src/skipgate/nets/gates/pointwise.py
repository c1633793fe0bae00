"""The 1x1 gate of He et al. 2016, section 4.1: "exclusive gating".

unrolled section 5.1 holds it responsible for highway networks that did not train.
"""

import torch
from torch import Tensor, nn

from skipgate.nets.gate import Gate, Slot
from skipgate.nets.layers import Conv


class Pointwise(Gate):
    """T = sigmoid(W_T x + b_T) with a map that sees one pixel; where maps are dense, `sigmoid`."""

    def __init__(self, slot: Slot, bias: float = -2.0) -> None:
        super().__init__()
        self.affine = slot.affine()
        if isinstance(self.affine, Conv):
            widths = self.affine.in_features, self.affine.out_features
            self.affine = Conv(slot.replicas, *widths, 1, self.affine.stride, bias=True)
        self.first_bias = bias

    def start(self) -> None:
        assert self.affine.bias is not None
        nn.init.constant_(self.affine.bias, self.first_bias)

    def forward(self, x: Tensor, f: Tensor, t: Tensor | float | None = None) -> Tensor:
        return torch.sigmoid(self.affine(x))
