"""Small networks and settings that many tests share."""

import dataclasses
from pathlib import Path

import torch

from skipgate import params
from skipgate.data.fetching import fetch
from skipgate.nets.bodies import Plan, build
from skipgate.nets.network import Network
from skipgate.nets.weights import initialise
from skipgate.settings import (
    Body,
    Classify,
    ConstantRate,
    Estimating,
    GateChoice,
    Mlp,
    Nadam,
    PathSampling,
    Probes,
    Pruning,
    Recipe,
    Resnet,
    Shuffling,
)
from skipgate.specs import Settings, Spec, resolve
from skipgate.streams import streams

torch.set_num_threads(1)  # tests share the cores through xdist

ROOT = Path(__file__).parents[1]
ONE, ZERO = GateChoice("constant"), GateChoice("constant", {"value": 0})
TOY = Classify("classify", (1, 8, 8), 10, 16, 24, "")
MLP = Mlp("mlp", depth=4, width=6)
CONV = Resnet("resnet", blocks=2, width=4)


def network(
    body: Body, T: GateChoice = ONE, C: GateChoice = ONE, replicas: int = 1, data: Classify = TOY
) -> Network:
    """A freshly initialised network in float64."""
    made = build(body, Plan(T, C, data.shape, data.outputs, replicas))
    initialise(made, body.init, streams(range(replicas), "init"))
    return made.double()


def images(count: int, replicas: int = 1) -> torch.Tensor:
    return torch.rand(
        replicas, count, *TOY.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )


def toy_settings(
    body: Body = MLP, T: GateChoice = ONE, C: GateChoice = ONE, **recipe: object
) -> Settings:
    made = Recipe(2, 8, Nadam("nadam"), ConstantRate("constant"))
    return Settings(TOY, body, dataclasses.replace(made, **recipe), T, C)  # type: ignore[arg-type]


def brief_spec(data: Path) -> Spec:
    """One epoch of gated-2 on real digits, which are put into a folder."""
    known = params.load(ROOT / "params.yaml")
    settings = resolve(known, "gated-2")
    settings = dataclasses.replace(settings, recipe=dataclasses.replace(settings.recipe, epochs=1))
    fetch("digits", settings.data, known.sources["digits"], data)
    return Spec("x", "digits", "digits", settings, 1, "d", seeds=3)


def toy_spec(seeds: int = 2) -> Spec:
    return Spec("x", "digits", "digits", toy_settings(), 1, "d", seeds)


def unlike(known: params.Params) -> list[str]:
    """All nets but those that another stands for: of the study `epsilon`, one for each recipe,
    with the gate and without.

    The others have more of the same blocks, other classes, another epsilon or a side head less.
    """
    found: dict[object, str] = {}
    for name, net in known.nets.items():
        stands_for = (net.recipe, net.T.gate) if net.study == "epsilon" else name
        found.setdefault(stands_for, name)
    return list(found.values())


def least(settings: Probes, images: int, *, greedy: bool) -> Probes:
    """The same probes on a few images, one draw of each kind."""
    return dataclasses.replace(
        settings,
        images=images,
        prune=Pruning(orders=1, greedy_images=images if greedy else 0),
        shuffle=Shuffling(draws=2),
        estimation=Estimating(images=images, sums=settings.estimation.sums),
        paths=PathSampling(draws=1, images=1, lost=1),
    )
