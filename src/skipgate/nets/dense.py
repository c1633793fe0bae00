"""The two sums of a dense block, each as one compiled step for all replicas."""

import torch
from torch import Tensor

from skipgate.nets import native
from skipgate.nets.layers import BatchNorm, Linear


def fused(x: Tensor) -> bool:
    """Whether the compiled step can be taken for this input."""
    return x.device.type == "cpu" and native.available()


def dot_norm_relu(x: Tensor, linear: Linear, norm: BatchNorm, *, relu: bool) -> Tensor:
    """The layer y = ReLU(BN(x W^T + b)) with the statistics of this batch, which move the running ones; ReLU may be left out.

    The parts one after the other (`layers`) give the same numbers to rounding, but at these sizes they spend most of their
    time between the matrix products.
    """
    learned, running = (linear.weight, norm.weight, norm.bias), (norm.running_mean, norm.running_var)
    constants = norm.epsilon, norm.momentum, relu
    y: Tensor = torch.ops.skipgate.dot_norm_relu(x.mT.contiguous(), *learned, linear.bias, *running, *constants)
    return y.mT


def gated_sum(t: Tensor, f: Tensor, s: Tensor) -> Tensor:
    """The mix t f + s with one t a replica (gresnet: u = g(k) f + x), for f and s of (replica, batch, width)."""
    y: Tensor = torch.ops.skipgate.gated_sum(f.mT.contiguous(), s.mT.contiguous(), t.flatten())
    return y.mT
