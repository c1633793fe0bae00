"""Slices of the cost surface along k (gresnet-v2 section 2.2), in a small fresh network.

The paper: k = 1 is the original surface, k = 0 an identity, and every other slice is a linear
combination of the two. That holds for the output of the gated layer,
u(k) = g(k) u(1) + (1 - g(k)) u(0); it does not hold for the cost.
"""

from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from skipgate.nets.block import Block
from skipgate.nets.gates.scalar import Scalar
from skipgate.nets.layers import BatchNorm, Linear
from skipgate.nets.network import Network
from skipgate.settings import GateChoice, Mlp
from skipgate.streams import stream
from skipgate.theory.fresh import (
    COUPLED,
    IMAGES,
    ONE,
    SCALAR,
    ZERO,
    Sample,
    farthest,
    fresh,
    settled,
)

BODY = Mlp("mlp", depth=8, width=16)
BATCH = 64
KS = [i / 10 for i in range(-10, 61)]
"""The range includes 5.58, the largest mean k that the paper reports."""
MODELS = {"layer": (COUPLED, ZERO), "residual": (ONE, ONE)}
"""The carry gates of the gated and of the original model.

`layer` compares u = g f + (1 - g) x with f, `residual` u = g f_r + x with f_r + x.
"""


def study() -> dict[str, Any]:
    """Deviations from what section 2.2 says of the layer, and the loss along k."""
    deviations = {
        f"{name} {key}": value
        for name in MODELS
        for key, value in _deviations(*MODELS[name]).items()
    }
    return {"deviations": deviations, "k": KS, "loss": losses(), **_weights_of_identity()}


def _deviations(carry: GateChoice, original: GateChoice) -> dict[str, float]:
    """How far each statement is from true; 0 means that it holds to the last bit."""
    gated, x, _ = _subject(carry)
    there = fresh(BODY, Sample(ONE, original, purpose="slices"))
    first = gated.blocks[0]
    hidden = gated.stem(x)
    slices = {k: _at(first, k, hidden) for k in KS}
    mixes = [
        farthest(u, max(k, 0.0) * slices[1.0] + (1 - max(k, 0.0)) * slices[0.0])
        for k, u in slices.items()
    ]
    return {
        "k = 1 is the original": settled(farthest(gated(x), there(x))),
        "k = 0 is the identity": settled(farthest(slices[0.0], hidden)),
        "k < 0 is the identity": settled(farthest(slices[-1.0], hidden)),
        "output is the mix": settled(max(mixes)),
    }


def losses() -> dict[str, Any]:
    """Loss along the k of one block, all others at 1.

    `bend` is how far it leaves the line through k = 0 and k = 1.
    """
    network, x, y = _subject(ONE)
    found: dict[str, Any] = {}
    for name, block in (("first block", network.blocks[0]), ("last block", network.blocks[-1])):
        along = [_loss(network, block, k, x, y) for k in KS]
        at = dict(zip(KS, along, strict=True))
        line = [at[0.0] + max(k, 0.0) * (at[1.0] - at[0.0]) for k in KS]
        apart = [abs(a - b) for a, b in zip(along, line, strict=True)]
        between = max(distance for k, distance in zip(KS, apart, strict=True) if 0 <= k <= 1)
        logits = {k: _at(block, k, x, network) for k in (0.0, 0.5, 1.0)}
        straight = farthest(logits[0.5], (logits[0.0] + logits[1.0]) / 2)
        found[name] = {
            "loss": along,
            "line": line,
            "bend between 0 and 1": between,
            "bend": max(apart),
        }
        found[name]["logits from their mix at k = 0.5"] = settled(straight)
    return found


def _weights_of_identity() -> dict[str, Any]:
    """The slice k = 0 against points of the slice k = 1.

    W = 0 in a residual layer; W = I in a plain one, without and with normalisation.
    """
    network, x, _ = _subject(ONE)
    hidden = network.stem(x)
    block = network.blocks[0]
    shut = _at(block, 0.0, hidden)
    for module in block.transform.modules():
        if isinstance(module, Linear):
            module.weight.zero_()
    bare = Linear(1, BODY.width, BODY.width).double().requires_grad_(False)
    bare.weight.copy_(torch.eye(BODY.width))
    bare.bias.zero_()
    active = F.relu(hidden)
    norm = BatchNorm(1, BODY.width, BODY.norm).double().requires_grad_(False)
    return {
        "W = 0 from k = 0, residual": farthest(_at(block, 1.0, hidden), shut),
        "W = I from the identity, plain": farthest(F.relu(bare(active)), active),
        "W = I from the identity, plain, normalised": farthest(F.relu(norm(bare(active))), active),
    }


def _subject(carry: GateChoice) -> tuple[Network, Tensor, Tensor]:
    """A gated network with k = 1, and images with labels."""
    generator = stream(0, "slices images")
    x = torch.rand(1, BATCH, *IMAGES.shape, generator=generator, dtype=torch.float64)
    y = torch.randint(IMAGES.classes, (BATCH,), generator=generator)
    return fresh(BODY, Sample(SCALAR, carry, purpose="slices")), x, y


def _at(block: Block, k: float, x: Tensor, through: nn.Module | None = None) -> Tensor:
    """The output with the block's k set: of the block, or of the network that contains it."""
    gate = cast(Scalar, block.T)
    gate.k.data.fill_(k)
    y: Tensor = (through or block)(x)
    gate.k.data.fill_(1.0)
    return y


def _loss(network: Network, block: Block, k: float, x: Tensor, y: Tensor) -> float:
    return float(F.cross_entropy(_at(block, k, x, network)[0], y))
