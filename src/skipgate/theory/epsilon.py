"""The strict identity of epsilon-ResNet, in the gate and the networks of this project.

S(F) = 0 if |F_i| < epsilon for every i, else F (Yu et al. 2018, Equations 3 to 5). The gate builds
S from ReLUs with a large weight L, so that it is still closed in a band of width 1 / L just above
epsilon.
"""

from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from skipgate.nets import surgery
from skipgate.nets.block import Block
from skipgate.nets.gates.epsilon import Epsilon
from skipgate.nets.layers import BatchNorm
from skipgate.nets.network import Network
from skipgate.settings import GateChoice, Mlp
from skipgate.streams import stream
from skipgate.theory.fresh import IMAGES, ONE, Sample, fresh

EPSILON = 2.5
BODY = Mlp("mlp", depth=24, width=16, init="he-normal")
SAMPLES = 20000
BATCH = 64
STEPS = (0.1, 0.001, 0.00001, 0.000002)
"""Distances from epsilon at which the gate is tried on both sides."""
HUSHED = 0.01
"""Scale of the last normalisation in the blocks that are to close."""


def study() -> dict[str, Any]:
    """The gate around its threshold, and networks with closed blocks taken out."""
    gate = _gate()
    return {
        "epsilon": EPSILON,
        "steep": gate.steep,
        "steps": list(STEPS),
        "below": [_value(gate, EPSILON - step) for step in STEPS],
        "above": [_value(gate, EPSILON + step) for step in STEPS],
        "at epsilon": _value(gate, EPSILON),
        "band": band(gate),
        **_sampled(gate),
        **removal(),
    }


def _gate() -> Epsilon:
    return cast(Epsilon, _network("sample").blocks[0].T)


def _network(over: str) -> Network:
    choice = GateChoice("epsilon", {"epsilon": EPSILON, "over": over})
    return fresh(BODY, Sample(choice, ONE, purpose="epsilon"))


def _value(gate: Epsilon, largest: float) -> float:
    """The gate for responses whose largest absolute value is `largest`."""
    f = torch.zeros(1, 1, BODY.width, dtype=torch.float64)
    f[..., 0] = -largest
    return float(gate(f, f))


def band(gate: Epsilon) -> float:
    """How far above epsilon the largest response must be for the gate to be 1, by bisection."""
    low = 0.0
    high = 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _value(gate, EPSILON + middle) == 1:
            high = middle
        else:
            low = middle
    return high


def _sampled(gate: Epsilon) -> dict[str, int]:
    """Responses with a largest value spread about epsilon, against Equation 3 to the last bit."""
    generator = stream(0, "epsilon responses")
    f = 2 * torch.rand(1, SAMPLES, BODY.width, generator=generator, dtype=torch.float64) - 1
    size = 0.5 + torch.rand(1, SAMPLES, 1, generator=generator, dtype=torch.float64)
    f = f / f.abs().amax(-1, keepdim=True) * EPSILON * size
    shut = (f.abs() < EPSILON).all(-1, keepdim=True)
    right = (gate(f, f) * f == torch.where(shut, torch.zeros_like(f), f)).all(-1)
    return {
        "samples": SAMPLES,
        "samples shut": int(shut.sum()),
        "samples that differ": int((~right).sum()),
    }


def removal() -> dict[str, Any]:
    """A network half of whose blocks stay below epsilon.

    Its outputs without these blocks, and the gradient that reaches them.
    """
    network = _network("batch")
    for block in network.blocks[1::2]:
        last = [module for module in block.transform.modules() if isinstance(module, BatchNorm)][-1]
        last.weight.mul_(HUSHED)
    x = torch.rand(
        1, BATCH, *IMAGES.shape, generator=stream(0, "epsilon images"), dtype=torch.float64
    )
    shut = closed_blocks(network, x)
    whole = network(x)
    with surgery.arranged(network, [i for i, closed in enumerate(shut) if not closed]):
        without = network(x)
    return {
        "blocks": len(shut),
        "blocks closed": sum(shut),
        "outputs equal without them": bool(torch.equal(whole, without)),
        "largest gradient in closed blocks": _gradient(network, x, shut, kind=True),
        "largest gradient in open blocks": _gradient(network, x, shut, kind=False),
    }


def closed_blocks(network: Network, x: Tensor) -> list[bool]:
    """Which blocks have a gate of exactly 0 on this batch."""
    shut: list[bool] = []

    def visit(_: int, block: Block, h: Tensor) -> Tensor:
        shut.append(bool((block.T(h, block.transform(h)) == 0).all()))
        y: Tensor = block(h)
        return y

    network.follow(network.stem(x), visit)
    return shut


def _gradient(network: Network, x: Tensor, shut: list[bool], *, kind: bool) -> float:
    """The largest |dloss / dweight| over the blocks that are closed, or open."""
    loss = F.cross_entropy(network.requires_grad_(True)(x)[0], torch.arange(BATCH) % IMAGES.classes)
    chosen = [
        p
        for block, closed in zip(network.blocks, shut, strict=True)
        if closed == kind
        for p in block.parameters()
    ]
    return max(float(g.abs().max()) for g in torch.autograd.grad(loss, chosen))
