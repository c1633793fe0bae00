"""Builds convolutional networks in stages."""

import functools

from torch import nn

from skipgate.files import Problem
from skipgate.nets.activation import Activation
from skipgate.nets.block import Block, Site
from skipgate.nets.bodies import Plan
from skipgate.nets.layers import Conv, Linear
from skipgate.nets.network import Network
from skipgate.nets.parts import Pooled, block_paths, head, middle
from skipgate.nets.sharing import share
from skipgate.nets.shortcuts import shortcut
from skipgate.nets.transforms import Post
from skipgate.settings import Resnet


def build(body: Resnet, plan: Plan) -> Network:
    """A 3x3 stem, stages of blocks, average pooling, linear."""
    _check_halving(body, plan)
    blocks: list[Block] = []
    width = body.width
    for i in range(body.count):
        block, width = _block(body, plan, i, width)
        blocks.append(block)
    first = Conv(plan.replicas, plan.shape[0], body.width, 3, bias=body.norm.absent)
    stem: list[nn.Module] = [first]
    if body.order == "post" or blocks[0].site.keeps_shape:
        # He et al. 2016, appendix: the first activation comes right after the first map, before
        # the paths part.
        stem.append(Activation(plan.replicas, body.width, body.norm))
    last = Linear(plan.replicas, width, plan.outputs)
    ending = head(body, last, Pooled())
    sides = middle(body, plan.outputs, blocks, Pooled())
    return Network(plan.replicas, nn.Sequential(*stem), share(blocks, body.share), ending, sides)


def _block(body: Resnet, plan: Plan, index: int, width: int) -> tuple[Block, int]:
    """The block at a place for inputs of `width` channels, and how many channels it gives."""
    stage = index // body.blocks
    wide = body.width * body.widen * 2**stage
    stride = 2 if stage and index % body.blocks == 0 else 1
    conv = functools.partial(Conv, plan.replicas, bias=body.norm.absent)

    def maps() -> list[Conv]:
        return [conv(width, wide, 3, stride), conv(wide, wide, 3)]

    s = shortcut(body.shortcut, conv(width, wide, 1, stride), body.norm)
    keeps = isinstance(s, nn.Identity)
    site = Site(stage, index, keeps_shape=keeps, alone=plan.plain and not keeps)
    activated = index == 0 and keeps
    paths = block_paths(body, maps(), s, activated=activated, dropout=body.dropout)
    one = functools.partial(Conv, plan.replicas, width, wide, 3, stride, bias=True)
    gates = plan.gates(index, body.count, one, lambda: Post(maps(), body.norm, "norm"))
    return Block(site, paths, gates), wide


def _check_halving(body: Resnet, plan: Plan) -> None:
    sides = plan.shape[1:]
    if body.shortcut == "pool" and any(side % 2 ** (body.stages - 1) for side in sides):
        raise Problem(
            f"{plan.path}: images of {sides} cannot be halved {body.stages - 1} times by pooling; "
            "use pad"
        )
