"""Stochastic depth (Huang et al. 2016; in the lecture).

Whole blocks are dropped at random in training, none at test.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from skipgate.nets.gate import Gate, Slot
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
        self.dropped: Tensor
        self.register_buffer(
            "dropped", torch.zeros(slot.replicas, dtype=torch.bool), persistent=False
        )

    def draw(self, generators: Sequence[torch.Generator]) -> None:
        draws = torch.cat([torch.rand(1, generator=g) for g in generators])
        self.dropped = (draws >= self.probability).to(self.dropped.device)

    def closed(self) -> Tensor | None:
        if not self.training or not bool(self.dropped.any()):
            return self.shut
        return self.dropped if self.shut is None else self.dropped | self.shut

    def forward(self, x: Tensor, f: Tensor, t: Tensor | float | None = None) -> float:
        return 1.0 if self.training else self.probability
