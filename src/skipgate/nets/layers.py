"""Affine maps and batch normalisation for a stack of replicas: one kernel call serves all seeds.

Shapes are (replica, batch, width) or (replica, batch, channel, height, width). In memory the
features come before the batch, so that a map's result is already what batch normalisation wants;
`.mT` and `permute` only relabel axes.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from skipgate.settings import Norm


class Linear(nn.Module):
    """y = x W^T + b, with its own W and b per replica; without `bias`, b stays 0."""

    def __init__(
        self, replicas: int, in_features: int, out_features: int, *, bias: bool = True
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.fan_in = in_features
        self.fan_out = out_features
        self.weight = nn.Parameter(torch.empty(replicas, out_features, in_features))
        self.bias: Tensor
        if bias:
            self.bias = nn.Parameter(torch.empty(replicas, out_features))
        else:
            self.register_buffer("bias", torch.zeros(replicas, out_features), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(replica, batch, in) to (replica, batch, out)."""
        return torch.baddbmm(self.bias.unsqueeze(-1), self.weight, x.mT).mT


class Conv(nn.Module):
    """A square convolution per replica that keeps the image's size, divided by `stride`."""

    def __init__(
        self,
        replicas: int,
        in_features: int,
        out_features: int,
        kernel: int = 3,
        stride: int = 1,
        *,
        bias: bool = False,
    ):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.stride = stride
        self.fan_in = in_features * kernel**2
        self.fan_out = out_features * kernel**2
        self.weight = nn.Parameter(torch.empty(replicas, out_features, in_features, kernel, kernel))
        self.bias = nn.Parameter(torch.empty(replicas, out_features)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Replicas become groups of channels, so that one grouped convolution serves them all."""
        replicas = self.weight.shape[0]
        kernel = self.weight.shape[-1]
        bias = None if self.bias is None else self.bias.flatten()
        weight = self.weight.flatten(0, 1)
        joined = _joined(x)
        if replicas == 1:
            # Kernels for a single network are faster on it, and everything after keeps it. Groups
            # of channels are slower so.
            joined = joined.contiguous(memory_format=torch.channels_last)
        y = F.conv2d(joined, weight, bias, self.stride, (kernel - 1) // 2, groups=replicas)
        return _parted(y, replicas)


Affine = Linear | Conv


class BatchNorm(nn.Module):
    """Batch normalisation (Ioffe and Szegedy 2015) per replica and channel, as in PyTorch."""

    def __init__(self, replicas: int, width: int, norm: Norm) -> None:
        super().__init__()
        self.momentum = norm.momentum
        self.epsilon = norm.epsilon
        self.start = norm.start
        self.weight: Tensor
        if norm.scale:
            self.weight = nn.Parameter(torch.ones(replicas, width))
        else:
            self.register_buffer("weight", torch.ones(replicas, width), persistent=False)
        self.bias = nn.Parameter(torch.zeros(replicas, width))
        self.running_mean: Tensor
        self.running_var: Tensor
        self.register_buffer("running_mean", torch.zeros(replicas, width))
        self.register_buffer("running_var", torch.ones(replicas, width))

    def forward(self, x: Tensor, shut: Tensor | None = None) -> Tensor:
        """Normalise.

        A replica whose block is `shut` sees no batch, so its running statistics do not move.
        """
        scale = self.weight.flatten()
        shift = self.bias.flatten()
        mean = self.running_mean
        var = self.running_var
        if shut is not None:
            mean = mean.clone()
            var = var.clone()
        moving = mean.view(-1), var.view(-1)
        y = F.batch_norm(
            _joined(x), *moving, scale, shift, self.training, self.momentum, self.epsilon
        )
        if shut is not None and self.training:
            asleep = shut.unsqueeze(1)
            self.running_mean.copy_(torch.where(asleep, self.running_mean, mean))
            self.running_var.copy_(torch.where(asleep, self.running_var, var))
        return _parted(y, len(self.weight))


class Unnormed(nn.Module):
    """Stands where batch normalisation is left out."""

    def forward(self, x: Tensor, shut: Tensor | None = None) -> Tensor:
        return x


def normalisation(replicas: int, width: int, norm: Norm) -> BatchNorm | Unnormed:
    """What the settings put wherever there may be batch normalisation."""
    return Unnormed() if norm.absent else BatchNorm(replicas, width, norm)


def _joined(x: Tensor) -> Tensor:
    """(replica, batch, ...) with replicas and channels joined to one axis, the second."""
    if x.ndim == 3:
        return x.mT.flatten(0, 1).unsqueeze(0)
    return x.transpose(0, 1).flatten(1, 2)


def _parted(x: Tensor, replicas: int) -> Tensor:
    """The inverse of `_joined`."""
    if x.ndim == 3:
        return x.view(replicas, -1, x.shape[-1]).mT
    return x.view(len(x), replicas, -1, *x.shape[2:]).transpose(0, 1)
