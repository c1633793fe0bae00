"""The sparsity-promoting gate of epsilon-ResNet.

Yu et al. 2018, Equations 3 to 5 and Figure 4c.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from skipgate.nets.gate import Gate, Slot


class Epsilon(Gate):
    """T = 0 if every |F_i| < epsilon, else 1, by four ReLUs and large weights L.

    With s = max_i( relu(F_i - epsilon) + relu(-F_i - epsilon) ), T = relu(1 - L relu(1 - L s)). The
    maximum runs over the whole mini-batch, as in the authors' code, or over each sample, as the
    equations can be read. A closed gate passes no gradient, so only weight decay acts on the block
    from then on.

    Half precision is left before the threshold: bfloat16 would round epsilon, so that responses
    just above it would not count, and float16 has no L of a million. A response above epsilon by
    less than 1 / L does not open the gate in any precision.
    """

    def __init__(
        self,
        slot: Slot,
        epsilon: float = 2.0,
        over: Literal["batch", "sample"] = "batch",
        steep: float = 1000000.0,
    ) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.over = over
        self.steep = steep
        self.watch(slot.replicas)

    def forward(self, x: Tensor, f: Tensor, t: Tensor | float | None = None) -> Tensor:
        kind = f.dtype
        f = f.to(torch.promote_types(kind, torch.float32))
        excess = F.relu(f - self.epsilon) + F.relu(-f - self.epsilon)
        kept = 1 if self.over == "batch" else 2
        largest = excess.amax(dim=tuple(range(kept, f.ndim)), keepdim=True)
        gate = F.relu(1 - self.steep * F.relu(1 - self.steep * largest)).to(kind)
        self.note(gate)
        return gate
