"""Builds He et al.'s networks for large images."""

import functools

from torch import nn

from skipgate.nets.activation import Activation
from skipgate.nets.block import Block, Site
from skipgate.nets.bodies import Plan
from skipgate.nets.layers import Conv, Linear
from skipgate.nets.network import Network
from skipgate.nets.parts import MaxPool, Pooled, block_paths, head, middle
from skipgate.nets.sharing import share
from skipgate.nets.shortcuts import shortcut
from skipgate.nets.transforms import Post
from skipgate.settings import Imagenet


def build(body: Imagenet, plan: Plan) -> Network:
    """A 7x7 stem, max-pooling, stages of blocks, average pooling, linear."""
    blocks: list[Block] = []
    width = body.width
    for stage, count in enumerate(body.blocks):
        for place in range(count):
            stride = 2 if stage and place == 0 else 1
            blocks.append(_block(body, plan, (stage, len(blocks)), width, stride))
            width = body.width * 2**stage * body.expansion
    bias = body.bias or body.norm.absent
    stem = [
        Conv(plan.replicas, plan.shape[0], body.width, 7, 2, bias=bias),
        Activation(plan.replicas, body.width, body.norm),
        MaxPool(3, 2),
    ]
    last = Linear(plan.replicas, width, plan.outputs)
    ending = head(body, last, Pooled())
    sides = middle(body, plan.outputs, blocks, Pooled())
    return Network(plan.replicas, nn.Sequential(*stem), share(blocks, body.share), ending, sides)


def _block(body: Imagenet, plan: Plan, place: tuple[int, int], width: int, stride: int) -> Block:
    """The block at a stage and index, for inputs of `width` channels."""
    inner = body.width * 2 ** place[0]
    wide = inner * body.expansion
    conv = functools.partial(Conv, plan.replicas, bias=body.bias or body.norm.absent)

    def maps() -> list[Conv]:
        if not body.bottleneck:
            return [conv(width, inner, 3, stride), conv(inner, wide, 3)]
        early = stride if body.stride == "first" else 1
        middle = conv(inner, inner, 3, stride // early)
        return [conv(width, inner, 1, early), middle, conv(inner, wide, 1)]

    s = shortcut(body.shortcut, conv(width, wide, 1, stride), body.norm)
    keeps = isinstance(s, nn.Identity)
    site = Site(*place, keeps_shape=keeps, alone=plan.plain and not keeps)
    one = functools.partial(Conv, plan.replicas, width, wide, 3, stride, bias=True)
    gates = plan.gates(site.index, body.count, one, lambda: Post(maps(), body.norm, "norm"))
    # The stem ends in BN-ReLU, and pooling leaves that as it is.
    paths = block_paths(body, maps(), s, activated=site.index == 0)
    return Block(site, paths, gates)
