"""The two parts of a dense block, each as one compiled step for all replicas."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor

from skipgate.nets import native
from skipgate.nets.layers import BatchNorm, Linear

Layer = tuple[Linear, BatchNorm]


def fused(x: Tensor) -> bool:
    """Whether the compiled step can be taken for this input, which must have content."""
    return x.device.type == "cpu" and not isinstance(x, FakeTensor) and native.available()


def compiled(blocks: nn.Module) -> bool:
    """Whether training these blocks takes compiled steps.

    Dense maps do, and so does the batch normalisation of a single network (`activation.py`).
    """
    dense = any(isinstance(module, Linear) for module in blocks.modules())
    norms = [module for module in blocks.modules() if isinstance(module, BatchNorm)]
    alone = any(len(norm.weight) == 1 for norm in norms)
    return (dense or alone) and fused(next(blocks.parameters()))


def dot_norm_relu(x: Tensor, layers: Sequence[Layer], *, last_relu: bool) -> Tensor:
    """The layers y = ReLU(BN(x W^T + b)) with the statistics of this batch.

    These move the running statistics. The last ReLU may be left out. The parts one after the other
    (`layers`) give the same numbers to rounding, but at these sizes they spend most of their time
    between the matrix products.
    """
    learned = zip(
        *((dot.weight, norm.weight, norm.bias, dot.bias) for dot, norm in layers), strict=True
    )
    running = zip(*((norm.running_mean, norm.running_var) for _, norm in layers), strict=True)
    first = layers[0][1]
    constants = first.epsilon, first.momentum, last_relu
    y: Tensor = torch.ops.skipgate.dot_norm_relu(x, *learned, *running, *constants)
    return y


def gated_sum(t: Tensor, f: Tensor, c: Tensor | float, s: Tensor) -> Tensor | None:
    """The sum t f + c s for f and s of (replica, batch, width).

    None where there is no compiled step for such gates. There is one for gates with one value per
    replica (gresnet: u = g(k) f + x) and with one per element (highway).
    """
    if isinstance(c, float) and t.numel() == len(f):
        c = torch.full_like(t, c)
    if not isinstance(c, Tensor) or c.shape != t.shape or t.numel() not in (len(f), f.numel()):
        return None
    if f.ndim != 3 or s.shape != f.shape or not fused(f):
        return None
    y: Tensor = torch.ops.skipgate.gated_sum(f, s, t, c)
    return y
