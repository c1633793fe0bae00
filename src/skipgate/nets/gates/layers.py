"""The gate of convolutional highway networks that is as deep as what it gates.

unrolled section 5.1: "two sets of layers to learn H and T".
"""

import torch
from torch import Tensor, nn

from skipgate.files import Problem
from skipgate.nets.gate import Gate, Slot
from skipgate.nets.layers import BatchNorm


class LayersGate(Gate):
    """T = sigmoid(H'(x)), where H' has layers like the transform's, with weights of its own.

    In a bottleneck these are Conv-BN-ReLU-Conv-BN-ReLU-Conv-BN, so T has the receptive field of
    what it gates. `bias` is what the last of them begins to add. It cannot be a carry gate: its
    batch normalisation would see batches of replicas in which T is closed.
    """

    places = ("T",)

    def __init__(self, slot: Slot, bias: float = -2.0) -> None:
        super().__init__()
        if slot.layers is None:
            raise Problem("the gate 'layers' needs a body whose blocks have layers to copy")
        self.layers = slot.layers()
        self.first_bias = bias

    def start(self) -> None:
        norm = self.layers.norms[-1]
        last = norm if isinstance(norm, BatchNorm) else self.layers.affines[-1]
        nn.init.constant_(last.get_parameter("bias"), self.first_bias)

    def forward(self, x: Tensor, f: Tensor, t: Tensor | float | None = None) -> Tensor:
        return torch.sigmoid(self.layers(x))
