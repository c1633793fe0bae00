"""The residual gate as the abstracts of Savarese et al. have it: u = k f(x) + x, "linear" in k."""

import torch
from torch import Tensor, nn

from skipgate.nets.gate import Gate, Slot, spread


class LinearGate(Gate):
    """T = k, one k per block and replica, of either sign.

    It is `scalar` as long as k is above 0.
    """

    def __init__(self, slot: Slot, start: float = 1.0) -> None:
        super().__init__()
        self.k = nn.Parameter(torch.full((slot.replicas,), start))

    def forward(self, x: Tensor, f: Tensor, t: Tensor | float | None = None) -> Tensor:
        return spread(self.k, f)
