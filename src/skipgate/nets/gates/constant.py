"""A fixed factor: 1 and 1 make a residual block, 1 and 0 a plain one."""

from torch import Tensor

from skipgate.nets.gate import Gate, Slot


class Constant(Gate):
    """T = `value`."""

    def __init__(self, slot: Slot, value: float = 1.0) -> None:
        super().__init__()
        self.value = value

    def forward(self, x: Tensor, f: Tensor, t: Tensor | float | None = None) -> float:
        return self.value


def is_one(gate: Gate) -> bool:
    """Whether the gate is 1 whatever comes."""
    return isinstance(gate, Constant) and gate.value == 1
