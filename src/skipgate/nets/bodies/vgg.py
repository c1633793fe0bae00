"""Builds VGG networks."""

import functools
import math

from torch import nn

from skipgate.files import Problem
from skipgate.nets.activation import Activation
from skipgate.nets.block import Block, Site
from skipgate.nets.bodies import Plan
from skipgate.nets.layers import Conv, Linear
from skipgate.nets.network import Network
from skipgate.nets.parts import Flat, MaxPool, block_paths
from skipgate.nets.shortcuts import shortcut
from skipgate.nets.transforms import Post
from skipgate.settings import Vgg


def build(body: Vgg, plan: Plan) -> Network:
    """Stages of one-map blocks, the image halved between them, then two linear layers."""
    sides = [side // 2 ** len(body.layers) for side in plan.shape[1:]]
    if not all(sides):
        raise Problem(
            f"{plan.path}: images of {plan.shape[1:]} cannot be halved {len(body.layers)} times; "
            "use fewer stages"
        )
    blocks: list[Block] = []
    width = plan.shape[0]
    for stage, count in enumerate(body.layers):
        for place in range(count):
            pooled = stage > 0 and place == 0
            blocks.append(_block(body, plan, (stage, len(blocks)), width, pooled=pooled))
            width = body.width_of(stage)
    ending = nn.Sequential(
        MaxPool(2, 2),
        Flat(),
        Linear(plan.replicas, width * math.prod(sides), body.hidden),
        Activation(plan.replicas, body.hidden, body.norm),
        Linear(plan.replicas, body.hidden, plan.outputs),
    )
    return Network(plan.replicas, nn.Identity(), blocks, ending)


def _block(body: Vgg, plan: Plan, place: tuple[int, int], width: int, *, pooled: bool) -> Block:
    """The block at a stage and index, for inputs of `width` channels, which may be halved first."""
    wide = body.width_of(place[0])
    bias = body.bias or body.norm.absent
    conv = functools.partial(Conv, plan.replicas, width, wide, 3, bias=bias)
    s = shortcut("pad", Conv(plan.replicas, width, wide, 1), body.norm)
    before = MaxPool(2, 2) if pooled else nn.Identity()
    widens = not isinstance(s, nn.Identity)
    gates = plan.gates(place[1], body.count, conv, lambda: Post([conv()], body.norm, "norm"))
    # What halves the image comes before both paths, and stays when the map is removed.
    site = Site(*place, keeps_shape=not widens and not pooled, alone=plan.plain and widens)
    return Block(site, block_paths(body, [conv()], s, before=before), gates)
