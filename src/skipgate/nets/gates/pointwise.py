"""The 1x1 gate of He et al. 2016, section 4.1: "exclusive gating".

unrolled section 5.1 holds it responsible for highway networks that did not train.
"""

from skipgate.nets.gate import Slot
from skipgate.nets.gates.sigmoid import Sigmoid
from skipgate.nets.layers import Conv


class Pointwise(Sigmoid):
    """T = sigmoid(W_T x + b_T) with a map that sees one pixel; where maps are dense, `sigmoid`."""

    def __init__(self, slot: Slot, bias: float = -2.0) -> None:
        super().__init__(slot, bias)
        if isinstance(self.affine, Conv):
            widths = self.affine.in_features, self.affine.out_features
            self.affine = Conv(slot.replicas, *widths, 1, self.affine.stride, bias=True)
