"""From settings to networks."""

import dataclasses
import functools
from collections.abc import Callable, Sequence

from torch import Tensor, nn

from skipgate.nets import gates
from skipgate.nets.block import Block, Gates, Site
from skipgate.nets.gate import Slot
from skipgate.nets.layers import Affine, BatchNorm, Conv, Linear
from skipgate.nets.network import Network
from skipgate.nets.shortcuts import shortcut
from skipgate.nets.transforms import transform
from skipgate.settings import Body, Dataset, Fleuret, GateChoice, Mlp, Resnet


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
        return Gates(gates.make(self.T, slot, f"{self.path}.T"), gates.make(self.C, slot, f"{self.path}.C"))


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
    return _resnet(body, plan) if isinstance(body, Resnet) else _fleuret(body, plan)


def shallow(body: Body) -> Body:
    """A twin with the same parts but few blocks, for checks that must be quick and stable."""
    if isinstance(body, Mlp):
        return dataclasses.replace(body, depth=min(body.depth, 2 * body.layers))
    return dataclasses.replace(body, blocks=min(body.blocks, 2))


def _mlp(body: Mlp, plan: Plan) -> Network:
    channels, height, width = plan.data.shape
    count = body.depth // body.layers
    affine = functools.partial(Linear, plan.replicas, body.width, body.width)
    blocks = [
        _block(body, Site(0, i, keeps_shape=True), [affine() for _ in range(body.layers)], plan.gates(i, count, affine))
        for i in range(count)
    ]
    stem = nn.Sequential(Flat(), Linear(plan.replicas, channels * height * width, body.width))
    return Network(plan.replicas, stem, blocks, _head(body, plan, body.width))


def _resnet(body: Resnet, plan: Plan) -> Network:
    count = body.blocks * body.stages
    blocks, width = [], body.width
    for i in range(count):
        stage = i // body.blocks
        wide_out = body.width * body.widen * 2**stage
        stride = 2 if stage and i % body.blocks == 0 else 1
        affines = [Conv(plan.replicas, width, wide_out, 3, stride), Conv(plan.replicas, wide_out, wide_out, 3)]
        gate_map = functools.partial(Conv, plan.replicas, width, wide_out, 3, stride, bias=True)
        site = Site(stage, i, keeps_shape=stride == 1 and width == wide_out)
        blocks.append(_block(body, site, affines, plan.gates(i, count, gate_map), shortcut(body.shortcut, affines[0])))
        width = wide_out
    stem: list[nn.Module] = [Conv(plan.replicas, plan.data.shape[0], body.width, 3)]
    if body.order == "post":
        stem += [BatchNorm(plan.replicas, body.width, body.norm), nn.ReLU()]
    return Network(plan.replicas, nn.Sequential(*stem), blocks, _head(body, plan, width))


def _fleuret(body: Fleuret, plan: Plan) -> Network:
    as_resnet = Resnet("resnet", body.blocks, body.width, order="post", addition="before", norm=body.norm)
    conv = functools.partial(Conv, plan.replicas, body.width, body.width, 3, bias=True)
    blocks = [
        _block(as_resnet, Site(0, i, keeps_shape=True), [conv(), conv()], plan.gates(i, body.blocks, conv))
        for i in range(body.blocks)
    ]
    stem = nn.Sequential(Conv(plan.replicas, plan.data.shape[0], body.width, 1, bias=True), nn.ReLU())
    return Network(plan.replicas, stem, blocks, _head(as_resnet, plan, body.width))


def _block(body: Mlp | Resnet, site: Site, affines: Sequence[Affine], pair: Gates, s: nn.Module | None = None) -> Block:
    inside = body.order == "pre" or body.addition == "after"
    f = transform(affines, body.norm, body.order, last_relu=inside)
    return Block(site, f, s or nn.Identity(), pair, nn.Identity() if inside else nn.ReLU())


def _head(body: Mlp | Resnet, plan: Plan, width: int) -> nn.Module:
    parts: list[nn.Module] = []
    if body.order == "pre":  # the last block of a pre-activation network ends without either
        parts += [BatchNorm(plan.replicas, width, body.norm), nn.ReLU()]
    if isinstance(body, Resnet):
        parts.append(Pooled())
    return nn.Sequential(*parts, Linear(plan.replicas, width, plan.data.classes))
