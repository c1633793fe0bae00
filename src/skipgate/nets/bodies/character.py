"""Builds the character-aware language model of Kim et al. 2015."""

import functools

from torch import nn

from skipgate.nets.block import Block, Paths, Site
from skipgate.nets.bodies import Plan
from skipgate.nets.layers import Linear
from skipgate.nets.network import Network
from skipgate.nets.reading import Lstm, Places, Reader, Recurrent, Spelling
from skipgate.nets.transforms import Post
from skipgate.settings import Character, Norm

BARE = Norm(kind="none")


def build(body: Character, plan: Plan) -> Network:
    """Characters, blocks of ReLU(W x + b), LSTMs, softmax."""
    places = Places()
    affine = functools.partial(Linear, plan.replicas, body.width, body.width)
    blocks = []
    for i in range(body.layers):
        paths = Paths(Post([affine()], BARE, "relu"), nn.Identity(), nn.Identity(), nn.Identity())
        site = Site(0, i, keeps_shape=True)
        blocks.append(Block(site, paths, plan.gates(i, body.layers, affine)))
    widths = [body.width] + [body.units] * (body.recurrent - 1)
    layers = [Lstm(plan.replicas, width, body.units) for width in widths]
    last = Linear(plan.replicas, body.units, plan.outputs)
    stem = Spelling(plan.replicas, plan.symbols, body.embedding, body.maps, places)
    head = Recurrent(layers, last, body.dropout, places)
    return Reader(plan.replicas, stem, blocks, head)
