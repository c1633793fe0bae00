"""Builds convolutional networks in stages."""

import functools

from torch import nn

from skipgate.files import Problem
from skipgate.nets.block import Block, Site
from skipgate.nets.bodies import Plan
from skipgate.nets.layers import Conv, Linear
from skipgate.nets.network import Network
from skipgate.nets.parts import Pooled, activation, block_paths, head
from skipgate.nets.shortcuts import shortcut
from skipgate.settings import Resnet


def build(body: Resnet, plan: Plan) -> Network:
    """A 3x3 stem, stages of blocks, average pooling, linear."""
    _check_halving(body, plan)
    blocks: list[Block] = []
    width = body.width
    for i in range(body.blocks * body.stages):
        block, width = _block(body, plan, i, width)
        blocks.append(block)
    stem: list[nn.Module] = [Conv(plan.replicas, plan.shape[0], body.width, 3)]
    if body.order == "post" or blocks[0].site.keeps_shape:
        # He et al. 2016, appendix: the first activation comes right after the first map, before
        # the paths part.
        stem.append(activation(plan.replicas, body.width, body.norm))
    last = Linear(plan.replicas, width, plan.outputs)
    return Network(plan.replicas, nn.Sequential(*stem), blocks, head(body, last, Pooled()))


def _block(body: Resnet, plan: Plan, index: int, width: int) -> tuple[Block, int]:
    """The block at a place for inputs of `width` channels, and how many channels it gives."""
    stage = index // body.blocks
    wide = body.width * body.widen * 2**stage
    stride = 2 if stage and index % body.blocks == 0 else 1
    first = Conv(plan.replicas, width, wide, 3, stride)
    affines = [first, Conv(plan.replicas, wide, wide, 3)]
    gate_map = functools.partial(Conv, plan.replicas, width, wide, 3, stride, bias=True)
    s = shortcut(body.shortcut, Conv(plan.replicas, width, wide, 1, stride), body.norm)
    site = Site(stage, index, keeps_shape=isinstance(s, nn.Identity))
    paths = block_paths(body, affines, s, activated=index == 0 and site.keeps_shape)
    return Block(site, paths, plan.gates(index, body.blocks * body.stages, gate_map)), wide


def _check_halving(body: Resnet, plan: Plan) -> None:
    sides = plan.shape[1:]
    if body.shortcut == "pool" and any(side % 2 ** (body.stages - 1) for side in sides):
        raise Problem(
            f"{plan.path}: images of {sides} cannot be halved {body.stages - 1} times by pooling; "
            "use pad"
        )
