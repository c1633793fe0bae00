"""The residual gate of Savarese et al.: u = g(k) f(x) + x with g = ReLU and one k per block."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from skipgate.nets.gate import Gate, Slot, spread


class Scalar(Gate):
    """T = ReLU(k), one k per block and replica (gresnet-v1 section 3, gresnet-v2 section 2.2).

    k = 1 is the original layer, k <= 0 the identity.
    """

    def __init__(self, slot: Slot, start: float = 1.0) -> None:
        super().__init__()
        self.k = nn.Parameter(torch.full((slot.replicas,), start))

    def forward(self, x: Tensor, f: Tensor, t: Tensor | float | None = None) -> Tensor:
        return spread(F.relu(self.k), f)
