"""Twins, which a net is named by: small, and made of the same parts as the full network."""

import pytest
import torch

from skipgate.nets.bodies import Plan, build
from skipgate.nets.network import Network, parameter_count
from skipgate.settings import Body, Classify, Crelu, GateChoice, Imagenet, Norm, Resnet, Vgg
from tests.toys import ONE, ZERO

CIFAR = Classify("classify", (3, 32, 32), 10, 255, 10000, "")
IMAGENET = Classify("classify", (3, 224, 224), 10, 255, 50000, "")
HIGHWAY = GateChoice("layers"), GateChoice("coupled")
FIFTY = Imagenet("imagenet", (3, 4, 6, 3), bottleneck=True)
BARE = Imagenet("imagenet", (3, 4, 6, 3), bottleneck=True, norm=Norm(kind="none"))
FAMILIES = {
    "resnet-110": (Resnet("resnet", 18, order="post"), CIFAR, ONE, ONE),
    "plain-110": (Resnet("resnet", 18, order="post"), CIFAR, ONE, ZERO),
    "pooled": (Resnet("resnet", 18, shortcut="pool"), CIFAR, ONE, ONE),
    "wide": (Resnet("resnet", 4, widen=10, shortcut="project", dropout=0.3), CIFAR, ONE, ONE),
    "shared": (Resnet("resnet", 3, share=("maps",)), CIFAR, ONE, ONE),
    "vgg": (Vgg("vgg"), CIFAR, ONE, ZERO),
    "looks-linear": (Crelu("crelu", 30, width=16, stages=3), CIFAR, ONE, ZERO),
    "resnet-34": (Imagenet("imagenet", (3, 4, 6, 3)), IMAGENET, ONE, ONE),
    "highway-50": (FIFTY, IMAGENET, *HIGHWAY),
    "highway-50-bare": (BARE, IMAGENET, *HIGHWAY),
}
MOST = 250_000
"""Parameters that a twin may have: ResNet-110's, which keeps its channels, has the most."""


def kinds(network: Network) -> list[set[type]]:
    """What the blocks that begin a stage, all others, and the ends are made of."""
    parts = [network.stem, network.head]
    found: list[set[type]] = [set(), set(), {type(m) for part in parts for m in part.modules()}]
    for block in network.blocks:
        found[block.site.keeps_shape] |= {type(module) for module in block.modules()}
    return found


def made(body: Body, data: Classify, T: GateChoice, C: GateChoice) -> Network:
    with torch.device("meta"):
        return build(body, Plan(T, C, data.shape, data.outputs, 1))


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_twin_is_small_and_has_the_parts_of_the_full_network(family):
    body, data, *gates = family
    small = data.small(body.twin_side)
    full, twin = made(body, data, *gates), made(body.shallow(), small, *gates)
    assert kinds(twin) == kinds(full)
    assert parameter_count(twin) <= min(MOST, parameter_count(full))
    x = torch.empty(1, 2, *small.shape, device="meta")
    assert twin(x).shape == (1, 2, 10)
