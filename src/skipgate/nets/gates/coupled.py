"""The carry gate C = 1 - T of coupled highway networks.

Srivastava et al. 2015; unrolled Equation 4.
"""

from torch import Tensor

from skipgate.nets.gate import Gate, Slot


class Coupled(Gate):
    """C = 1 - T."""

    places = ("C",)

    def __init__(self, slot: Slot) -> None:
        super().__init__()

    def forward(self, x: Tensor, f: Tensor, t: Tensor | float | None = None) -> Tensor | float:
        assert t is not None
        return 1 - t
