"""Builds He et al.'s networks for large images."""

import functools

from torch import nn

from skipgate.nets.block import Block, Site
from skipgate.nets.bodies import Plan
from skipgate.nets.layers import Conv, Linear
from skipgate.nets.network import Network
from skipgate.nets.parts import MaxPool, Pooled, activation, block_paths, head
from skipgate.nets.shortcuts import shortcut
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
    stem = [
        Conv(plan.replicas, plan.shape[0], body.width, 7, 2, bias=body.bias),
        activation(plan.replicas, body.width, body.norm),
        MaxPool(3, 2),
    ]
    last = Linear(plan.replicas, width, plan.outputs)
    return Network(plan.replicas, nn.Sequential(*stem), blocks, head(body, last, Pooled()))


def _block(body: Imagenet, plan: Plan, place: tuple[int, int], width: int, stride: int) -> Block:
    """The block at a stage and index, for inputs of `width` channels."""
    inner = body.width * 2 ** place[0]
    wide = inner * body.expansion
    conv = functools.partial(Conv, plan.replicas, bias=body.bias)
    if body.bottleneck:
        early = stride if body.stride == "first" else 1
        affines = [
            conv(width, inner, 1, early),
            conv(inner, inner, 3, stride // early),
            conv(inner, wide, 1),
        ]
    else:
        affines = [conv(width, inner, 3, stride), conv(inner, wide, 3)]
    s = shortcut(body.shortcut, conv(width, wide, 1, stride), body.norm)
    site = Site(*place, keeps_shape=isinstance(s, nn.Identity))
    gate_map = functools.partial(Conv, plan.replicas, width, wide, 3, stride, bias=True)
    gates = plan.gates(site.index, body.count, gate_map)
    return Block(site, block_paths(body, affines, s), gates)
