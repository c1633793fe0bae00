"""Stochastic depth (Huang et al. 2016; in the lecture).

Whole blocks are dropped at random in training, none at test.
"""

import operator
from collections.abc import Sequence

import torch
from torch import Tensor

from skipgate.nets.gate import Closed, Gate, Slot
from skipgate.reader import between


class Survival(Gate):
    """Block l of L survives a mini-batch with probability p_l = 1 - (l / L)(1 - p_L).

    At test T = p_l. There is one draw per mini-batch and replica. A block that does not survive is
    its shortcut: it is not computed when no replica needs it, and its running statistics do not
    move.
    """

    places = ("T",)

    def __init__(self, slot: Slot, last: float = 0.5) -> None:
        super().__init__()
        between(0, 1, last=last)
        self.probability = 1 - (slot.index + 1) / slot.count * (1 - last)
        self.dropped: Closed = (False,) * slot.replicas

    def draw(self, generators: Sequence[torch.Generator]) -> None:
        draws = torch.cat([torch.rand(1, generator=g) for g in generators])
        self.dropped = tuple((draws >= self.probability).tolist())

    def closed(self) -> Closed | None:
        if not self.training or not any(self.dropped):
            return self.shut
        if self.shut is None:
            return self.dropped
        return tuple(map(operator.or_, self.dropped, self.shut))

    def forward(self, x: Tensor, f: Tensor, t: Tensor | float | None = None) -> float:
        return 1.0 if self.training else self.probability
