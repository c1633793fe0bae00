"""Builds networks of CReLU layers."""

import functools

from torch import nn

from skipgate.nets.block import Block, Paths, Site
from skipgate.nets.bodies import Plan
from skipgate.nets.crelu import CreluConv, CreluLinear
from skipgate.nets.layers import Conv, Linear
from skipgate.nets.network import Network
from skipgate.nets.parts import Pooled, flat_stem
from skipgate.nets.shortcuts import Pad
from skipgate.nets.transforms import Bare
from skipgate.settings import Crelu


def build(body: Crelu, plan: Plan) -> Network:
    """Linear, blocks of W phi(x) + b, linear; or the same with convolutions, then pooling."""
    if body.stages:
        return _convolutional(body, plan)
    affine = functools.partial(CreluLinear, plan.replicas, body.width, body.width)
    blocks = []
    for i in range(body.count):
        transform = Bare([affine() for _ in range(body.layers)])
        paths = Paths(transform, nn.Identity(), nn.Identity(), nn.Identity())
        blocks.append(Block(Site(0, i, keeps_shape=True), paths, plan.gates(i, body.count, affine)))
    stem = flat_stem(plan.replicas, plan.shape, body.width)
    return Network(plan.replicas, stem, blocks, Linear(plan.replicas, body.width, plan.outputs))


def _convolutional(body: Crelu, plan: Plan) -> Network:
    """Stages of 3x3 maps; the first of each later stage halves the image, doubles the channels."""
    each = body.count // body.stages
    blocks = [_block(body, plan, (i // each, i), first=i % each == 0) for i in range(body.count)]
    stem = Conv(plan.replicas, plan.shape[0], body.width, 3, bias=True)
    last = Linear(plan.replicas, body.width << (body.stages - 1), plan.outputs)
    return Network(plan.replicas, stem, blocks, nn.Sequential(Pooled(), last))


def _block(body: Crelu, plan: Plan, place: tuple[int, int], *, first: bool) -> Block:
    """The block at a stage and index, which may be the first of its stage."""
    wide = body.width << place[0]
    halves = first and place[0] > 0
    width = wide // 2 if halves else wide
    stride = 2 if halves else 1
    maps = [CreluConv(plan.replicas, width, wide, 3, stride, bias=True)]
    maps += [CreluConv(plan.replicas, wide, wide, 3, bias=True) for _ in range(body.layers - 1)]
    s = Pad(wide - width, stride) if halves else nn.Identity()
    site = Site(*place, keeps_shape=not halves, alone=halves and plan.plain)
    gate_map = functools.partial(Conv, plan.replicas, width, wide, 3, stride, bias=True)
    gates = plan.gates(site.index, body.count, gate_map)
    return Block(site, Paths(Bare(maps), s, nn.Identity(), nn.Identity()), gates)
