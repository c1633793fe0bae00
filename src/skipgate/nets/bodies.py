"""From settings to networks."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

from torch import Tensor, nn

from skipgate.files import Problem
from skipgate.nets import gates
from skipgate.nets.block import Block, Gates, Paths, Site
from skipgate.nets.crelu import CreluLinear
from skipgate.nets.gate import Slot
from skipgate.nets.layers import Affine, BatchNorm, Conv, Linear
from skipgate.nets.network import Network
from skipgate.nets.shortcuts import shortcut
from skipgate.nets.transforms import Bare, Post, Pre
from skipgate.settings import Body, Crelu, Dataset, Fleuret, GateChoice, Mlp, Norm, Resnet


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a body is built for: the pair of gates, the data, and how many replicas."""

    T: GateChoice
    C: GateChoice
    data: Dataset
    replicas: int
    path: str = "net"
    """Where the gates were set, for messages."""

    def gates(self, index: int, count: int, affine: Callable[[], Affine]) -> Gates:
        """The pair for one block."""
        slot = Slot(self.replicas, index, count, affine)
        return Gates(
            gates.make(self.T, slot, "T", self.path), gates.make(self.C, slot, "C", self.path)
        )


class Flat(nn.Module):
    """All pixels of an image as one vector."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(2)


class Pooled(nn.Module):
    """The mean of each channel."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean((-2, -1))


def build(body: Body, plan: Plan) -> Network:
    """A network of this body, its weights not yet drawn."""
    if isinstance(body, Mlp):
        return _mlp(body, plan)
    if isinstance(body, Crelu):
        return _crelu(body, plan)
    return _resnet(body, plan) if isinstance(body, Resnet) else _fleuret(body, plan)


def shallow(body: Body) -> Body:
    """A twin with the same parts but few blocks, for checks that must be quick and stable."""
    if isinstance(body, Mlp | Crelu):
        return dataclasses.replace(body, depth=min(body.depth, 2 * body.layers))
    return dataclasses.replace(body, blocks=min(body.blocks, 2))


def _mlp(body: Mlp, plan: Plan) -> Network:
    count = body.depth // body.layers
    affine = functools.partial(Linear, plan.replicas, body.width, body.width)
    blocks = [
        Block(
            Site(0, i, keeps_shape=True),
            _paths(body, [affine() for _ in range(body.layers)]),
            plan.gates(i, count, affine),
        )
        for i in range(count)
    ]
    return Network(plan.replicas, _flat_stem(body, plan), blocks, _head(body, plan, body.width))


def _crelu(body: Crelu, plan: Plan) -> Network:
    count = body.depth // body.layers
    affine = functools.partial(CreluLinear, plan.replicas, body.width, body.width)
    blocks = []
    for i in range(count):
        paths = Paths(
            Bare([affine() for _ in range(body.layers)]), *(nn.Identity() for _ in range(3))
        )
        blocks.append(Block(Site(0, i, keeps_shape=True), paths, plan.gates(i, count, affine)))
    return Network(
        plan.replicas,
        _flat_stem(body, plan),
        blocks,
        Linear(plan.replicas, body.width, plan.data.classes),
    )


def _flat_stem(body: Mlp | Crelu, plan: Plan) -> nn.Module:
    return nn.Sequential(Flat(), Linear(plan.replicas, math.prod(plan.data.shape), body.width))


def _resnet(body: Resnet, plan: Plan) -> Network:
    if body.shortcut == "pool" and any(
        side % 2 ** (body.stages - 1) for side in plan.data.shape[1:]
    ):
        raise Problem(
            f"{plan.path}: images of {plan.data.shape[1:]} cannot be halved {body.stages - 1} times by pooling; use pad"
        )
    count = body.blocks * body.stages
    blocks = []
    width = body.width
    for i in range(count):
        stage = i // body.blocks
        wide_out = body.width * body.widen * 2**stage
        stride = 2 if stage and i % body.blocks == 0 else 1
        affines = [
            Conv(plan.replicas, width, wide_out, 3, stride),
            Conv(plan.replicas, wide_out, wide_out, 3),
        ]
        gate_map = functools.partial(Conv, plan.replicas, width, wide_out, 3, stride, bias=True)
        s = shortcut(body.shortcut, affines[0])
        site = Site(stage, i, keeps_shape=isinstance(s, nn.Identity))
        paths = _paths(body, affines, s, activated=i == 0 and site.keeps_shape)
        blocks.append(Block(site, paths, plan.gates(i, count, gate_map)))
        width = wide_out
    stem: list[nn.Module] = [Conv(plan.replicas, plan.data.shape[0], body.width, 3)]
    if body.order == "post" or blocks[0].site.keeps_shape:
        # He et al. 2016, appendix: the first activation comes right after the first map, before the
        # paths part.
        stem.append(_activation(plan.replicas, body.width, body.norm))
    return Network(plan.replicas, nn.Sequential(*stem), blocks, _head(body, plan, width))


def _fleuret(body: Fleuret, plan: Plan) -> Network:
    as_resnet = Resnet(
        "resnet", body.blocks, body.width, order="post", addition="before", norm=body.norm
    )
    conv = functools.partial(Conv, plan.replicas, body.width, body.width, 3, bias=True)
    blocks = [
        Block(
            Site(0, i, keeps_shape=True),
            _paths(as_resnet, [conv(), conv()]),
            plan.gates(i, body.blocks, conv),
        )
        for i in range(body.blocks)
    ]
    stem = nn.Sequential(
        Conv(plan.replicas, plan.data.shape[0], body.width, 1, bias=True), nn.ReLU()
    )
    return Network(plan.replicas, stem, blocks, _head(as_resnet, plan, body.width))


def _paths(
    body: Mlp | Resnet,
    affines: Sequence[Affine],
    s: nn.Module | None = None,
    *,
    activated: bool = False,
) -> Paths:
    """The two paths of a block; `activated` says that a BN-ReLU has been applied to its input already."""
    s = s or nn.Identity()
    if body.order == "post":
        inside = body.addition == "after"
        f: nn.Module = Post(affines, body.norm, last_relu=inside)
        return Paths(f, s, nn.Identity(), nn.Identity() if inside else nn.ReLU())
    shared = isinstance(s, Conv)  # Zagoruyko and Komodakis project the activated input
    before = (
        _activation(len(affines[0].weight), affines[0].wide_in, body.norm)
        if shared
        else nn.Identity()
    )
    return Paths(Pre(affines, body.norm, activated=activated or shared), s, before, nn.Identity())


def _activation(replicas: int, width: int, norm: Norm) -> nn.Module:
    return nn.Sequential(BatchNorm(replicas, width, norm), nn.ReLU())


def _head(body: Mlp | Resnet, plan: Plan, width: int) -> nn.Module:
    parts: list[nn.Module] = []
    if body.order == "pre":  # the last block of a pre-activation network ends without either
        parts.append(_activation(plan.replicas, width, body.norm))
    if isinstance(body, Resnet):
        parts.append(Pooled())
    return nn.Sequential(*parts, Linear(plan.replicas, width, plan.data.classes))
