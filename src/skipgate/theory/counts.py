"""Parameters and blocks of networks that the papers print numbers for.

They are counted in networks built without memory.
"""

import torch

from skipgate.nets.bodies import Plan, build
from skipgate.nets.layers import Conv, Linear
from skipgate.nets.network import Network, parameter_count
from skipgate.settings import Body, Classify, Fleuret, GateChoice, Resnet
from skipgate.theory.fresh import ONE, SCALAR

MNIST = Classify("classify", (1, 28, 28), 10, 255, 10000, "")
CIFAR = Classify("classify", (3, 32, 32), 10, 255, 10000, "")
"""The shape alone matters here."""
BODIES: dict[str, tuple[Body, Classify]] = {
    "fleuret": (Fleuret("fleuret"), MNIST),
    "resnet-5": (Resnet("resnet", blocks=5), CIFAR),
    "wide-3-4": (Resnet("resnet", blocks=3, widen=4, shortcut="project"), CIFAR),
    "wide-4-3": (Resnet("resnet", blocks=4, widen=3, shortcut="project"), CIFAR),
    "wide-4-10": (Resnet("resnet", blocks=4, widen=10, shortcut="project"), CIFAR),
    "resnet-110": (Resnet("resnet", blocks=18, order="post"), CIFAR),
}
"""Wide networks as n-k: n blocks per stage, k times as wide."""
GATED = ("resnet-5", "wide-3-4", "wide-4-3", "wide-4-10")
DEPTHS = {110: 18, 200: 33, 500: 83, 752: 125}
"""Layers of epsilon-ResNet's networks on CIFAR, and blocks per stage."""
STAGES = 3
UNEVEN = 100
"""Layers of a network that epsilon-ResNet trains on SVHN."""


def study() -> dict[str, float]:
    """Flat: `NAME` parameters, and `gates-NAME` extra parameters of gating.

    `blocks-L` and `layers-L` are of an L-layer network.
    """
    found: dict[str, float] = {
        name: parameter_count(_built(body, data)) for name, (body, data) in BODIES.items()
    }
    for name in GATED:
        found[f"gates-{name}"] = parameter_count(_built(*BODIES[name], SCALAR)) - int(found[name])
    for depth, blocks in DEPTHS.items():
        network = _built(Resnet("resnet", blocks=blocks), CIFAR)
        found |= {f"blocks-{depth}": len(network.blocks), f"layers-{depth}": layers(network)}
    return found | {f"blocks-a-stage-{UNEVEN}": (UNEVEN - 2) / (2 * STAGES)}


def layers(network: Network) -> int:
    """Maps with weights from input to output, as depths are counted: shortcuts are not."""
    return sum(isinstance(module, Conv | Linear) for module in network.modules())


def _built(body: Body, data: Classify, T: GateChoice = ONE) -> Network:
    with torch.device("meta"):
        return build(body, Plan(T, ONE, data.shape, data.outputs, 1))
