"""Builds the multilayer network of gresnet."""

import functools

from torch import nn

from skipgate.nets.activation import Activation
from skipgate.nets.block import Block, Site
from skipgate.nets.bodies import Plan
from skipgate.nets.layers import Linear
from skipgate.nets.network import Network
from skipgate.nets.parts import block_paths, flat_stem, head, middle
from skipgate.nets.sharing import share
from skipgate.nets.transforms import Post
from skipgate.settings import Mlp


def build(body: Mlp, plan: Plan) -> Network:
    """Linear, blocks, linear."""
    count = body.depth // body.layers
    affine = functools.partial(Linear, plan.replicas, body.width, body.width, bias=body.bias)

    def maps() -> list[Linear]:
        return [affine() for _ in range(body.layers)]

    blocks = [
        Block(
            Site(0, i, keeps_shape=True),
            block_paths(body, maps()),
            plan.gates(i, count, affine, lambda: Post(maps(), body.norm, "norm")),
        )
        for i in range(count)
    ]
    stem = flat_stem(plan.replicas, plan.shape, body.width, *_ending(body, plan), bias=body.bias)
    last = Linear(plan.replicas, body.width, plan.outputs, bias=body.bias)
    sides = middle(body, plan.outputs, blocks)
    return Network(plan.replicas, stem, share(blocks, body.share), head(body, last), sides)


def _ending(body: Mlp, plan: Plan) -> list[nn.Module]:
    """What follows the first map."""
    if body.stem == "norm-relu":
        return [Activation(plan.replicas, body.width, body.norm)]
    return [nn.ReLU()] if body.stem == "relu" else []
