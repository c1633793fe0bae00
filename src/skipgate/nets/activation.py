"""BN-ReLU, as one compiled step where there is one, and with the convolution that follows it."""

from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from skipgate.nets import native
from skipgate.nets.layers import BatchNorm, Conv, normalisation
from skipgate.settings import Norm

Layer = tuple[nn.Module, nn.Module]
"""What normalises the inputs of a map, and the map."""


class Activation(nn.Sequential):
    """BN-ReLU before or after a map."""

    def __init__(self, replicas: int, width: int, norm: Norm) -> None:
        super().__init__(normalisation(replicas, width, norm), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        return norm_relu(self[0], x)


def norm_relu(norm: nn.Module, x: Tensor, shut: Tensor | None = None) -> Tensor:
    """ReLU(BN(x)), where there is BN.

    The parts give the same numbers to rounding. They go over the images of a convolution twice as
    often, which takes a fifth of a training step.
    """
    if not (isinstance(norm, BatchNorm) and shut is None and _is_compiled(norm, x)):
        return F.relu(norm(x, shut))
    images = _images(x)
    learned = norm.weight.squeeze(0), norm.bias.squeeze(0)
    running = norm.running_mean[0], norm.running_var[0]
    constants = norm.epsilon, norm.momentum
    y: Tensor = torch.ops.skipgate.norm_relu(images, *learned, *running, *constants)
    return y.unsqueeze(0)


def is_compiled_chain(layers: Sequence[Layer], x: Tensor) -> bool:
    """Whether there is a step for all these layers, of networks like x."""
    plain = all(type(affine) is Conv and affine.bias is None for _, affine in layers)
    known = all(isinstance(norm, BatchNorm) and _is_compiled(norm, x) for norm, _ in layers)
    return plain and known and not torch.is_autocast_enabled("cpu")


def norm_relu_conv(x: Tensor, layers: Sequence[Layer], s: Tensor | None = None) -> Tensor:
    """The layers Conv(ReLU(BN(x))), and s added to them, as the compiled step.

    The parts give the same numbers to rounding. The step takes a few images at a time, so that
    little of what is between its convolutions goes through the memory.
    """
    norms = cast(list[BatchNorm], [norm for norm, _ in layers])
    convs = cast(list[Conv], [conv for _, conv in layers])
    images = _images(x)
    shortcut = images if s is x else None if s is None else _images(s)
    learned = [c.weight for c in convs], [n.weight for n in norms], [n.bias for n in norms]
    running = [n.running_mean for n in norms], [n.running_var for n in norms]
    constants = [c.stride for c in convs], norms[0].epsilon, norms[0].momentum
    y: Tensor = torch.ops.skipgate.norm_relu_conv(images, shortcut, *learned, *running, *constants)
    return y.unsqueeze(0)


def _images(x: Tensor) -> Tensor:
    """Those of a single network, as its convolutions want them."""
    return x.squeeze(0).contiguous(memory_format=torch.channels_last)


def _is_compiled(norm: BatchNorm, x: Tensor) -> bool:
    """Whether there is a step for this: images of a single network in training, on a CPU."""
    is_one = x.ndim == 5 and len(x) == 1 and x.dtype == norm.running_mean.dtype
    # Fake tensors have no content, and compilers do not see into the step.
    is_real = type(x) is Tensor and not torch.compiler.is_compiling()
    return norm.training and is_one and is_real and x.device.type == "cpu" and native.available()
