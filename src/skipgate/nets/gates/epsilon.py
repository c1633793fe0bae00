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
    from then on; none goes through the gate itself, which is flat but for a sliver at epsilon.

    s is relu( max |F_i| - epsilon ), to the last bit, as rounding keeps the order of numbers: so F
    is read twice, and nothing as large is made of it or kept.

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
        axes = tuple(range(1 if self.over == "batch" else 2, f.ndim))
        with torch.no_grad():
            largest = torch.maximum(f.amax(axes, keepdim=True), -f.amin(axes, keepdim=True))
            s = F.relu(largest.to(torch.promote_types(f.dtype, torch.float32)) - self.epsilon)
            gate = F.relu(1 - self.steep * F.relu(1 - self.steep * s)).to(f.dtype)
        self.note(gate)
        return gate
