"""What several bodies are put together from."""

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from skipgate.nets.activation import Activation
from skipgate.nets.block import Block, Paths
from skipgate.nets.layers import Affine, Conv, Linear
from skipgate.nets.network import Side
from skipgate.nets.transforms import Ending, Post, Pre
from skipgate.settings import Imagenet, Mlp, Resnet, Vgg

Style = Mlp | Resnet | Imagenet | Vgg
"""Bodies that say in which order their blocks normalise, activate and add."""
ENDINGS: dict[str, Ending] = {
    "after": "relu",
    "before": "norm",
    "before-norm": "map",
    "both": "relu",
    "neither": "norm",
}
"""What a block's transform ends with, by where its shortcut is added."""


class Flat(nn.Module):
    """All numbers of an input as one vector."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(2)


class Pooled(nn.Module):
    """The mean of each channel."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((-2, -1))


class MaxPool(nn.Module):
    """The largest value of each window; windows may reach over the edge by half of their size."""

    def __init__(self, window: int, stride: int) -> None:
        super().__init__()
        self.window = window
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        padding = (self.window - 1) // 2
        pooled = F.max_pool2d(x.flatten(0, 1), self.window, self.stride, padding)
        y: Tensor = pooled.unflatten(0, x.shape[:2])
        return y


def flat_stem(
    replicas: int, shape: tuple[int, ...], width: int, *ending: nn.Module, bias: bool = True
) -> nn.Module:
    """A linear map of the whole input, and what follows it."""
    return nn.Sequential(Flat(), Linear(replicas, math.prod(shape), width, bias=bias), *ending)


def block_paths(
    style: Style,
    affines: Sequence[Affine],
    s: nn.Module | None = None,
    *,
    before: nn.Module | None = None,
    activated: bool = False,
    dropout: float = 0.0,
) -> Paths:
    """The two paths of a post-activation block after `before`, or of a pre-activation one.

    `activated` says that a BN-ReLU has been applied to its input already; `dropout` is the share of
    units that are dropped between two maps.
    """
    s = s or nn.Identity()
    replicas = len(affines[0].weight)
    if style.order == "post":
        after: nn.Module = nn.ReLU() if style.addition in ("before", "both") else nn.Identity()
        if style.addition == "before-norm":
            after = Activation(replicas, affines[-1].out_features, style.norm)
        post = Post(affines, style.norm, ENDINGS[style.addition], dropout)
        return Paths(post, s, before or nn.Identity(), after)
    # Zagoruyko and Komodakis project the activated input.
    shared = isinstance(s, Conv | nn.Sequential)
    parting = shared and not activated
    before = Activation(replicas, affines[0].in_features, style.norm) if parting else nn.Identity()
    pre = Pre(affines, style.norm, dropout, activated=activated or shared)
    return Paths(pre, s, before, nn.Identity())


def middle(
    body: Mlp | Resnet | Imagenet, outputs: int, blocks: Sequence[Block], *pooling: nn.Module
) -> dict[int, Side]:
    """The side head after block floor(N / 2), if the body asks for it: BN-ReLU-pool-linear.

    Yu et al. 2018, section 3: it shortens the way back to the first half of the blocks.
    """
    if not body.side:
        return {}
    index = len(blocks) // 2 - 1
    maps = [module for module in blocks[index].transform.modules() if isinstance(module, Affine)]
    width = maps[-1].out_features
    replicas = len(maps[-1].weight)
    ending = Activation(replicas, width, body.norm)
    last = Linear(replicas, width, outputs)
    return {index: Side(nn.Sequential(ending, *pooling, last), body.side)}


def head(style: Style, last: Linear, *pooling: nn.Module) -> nn.Module:
    """From the last block to the outputs."""
    if style.order == "post":
        return nn.Sequential(*pooling, last)
    # The last block of a pre-activation network ends without BN and ReLU.
    ending = Activation(len(last.weight), last.in_features, style.norm)
    return nn.Sequential(ending, *pooling, last)
