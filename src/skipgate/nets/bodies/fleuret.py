"""Builds the lecture's network."""

import functools

from torch import nn

from skipgate.nets.block import Block, Site
from skipgate.nets.bodies import Plan
from skipgate.nets.layers import Conv, Linear
from skipgate.nets.network import Network
from skipgate.nets.parts import Pooled, block_paths, head
from skipgate.settings import Fleuret, Resnet


def build(body: Fleuret, plan: Plan) -> Network:
    """A 1x1 stem, post-activation blocks at full size, average pooling, linear."""
    style = Resnet("resnet", body.blocks, body.width, order="post", norm=body.norm)
    conv = functools.partial(Conv, plan.replicas, body.width, body.width, 3, bias=True)
    blocks = [
        Block(
            Site(0, i, keeps_shape=True),
            block_paths(style, [conv(), conv()]),
            plan.gates(i, body.blocks, conv),
        )
        for i in range(body.blocks)
    ]
    first = Conv(plan.replicas, plan.shape[0], body.width, 1, bias=True)
    last = Linear(plan.replicas, body.width, plan.outputs)
    stem = nn.Sequential(first, nn.ReLU())
    return Network(plan.replicas, stem, blocks, head(style, last, Pooled()))
