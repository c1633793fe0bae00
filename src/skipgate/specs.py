"""The resolved settings of a net, as `specs/NET.json` has them. No torch: reports read them too."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skipgate import paths
from skipgate.files import Problem, read_json, sha256
from skipgate.params import Params
from skipgate.reader import later, nearest, plain, read
from skipgate.settings import (
    Body,
    GateChoice,
    Handling,
    Measure,
    Probes,
    Recipe,
    TaskSettings,
)


@dataclass(frozen=True)
class Settings:
    """All that decides what a seed's training does, with every default filled in."""

    data: TaskSettings
    body: Body
    recipe: Handling
    T: GateChoice
    C: GateChoice
    start: str = later("")
    """Weights that somebody else has trained: the hash of their tensors, or where they are."""

    @property
    def training(self) -> Recipe:
        """The recipe of a net that is trained here."""
        if not isinstance(self.recipe, Recipe):
            raise Problem("a network that somebody else has trained is not trained here")
        return self.recipe


@dataclass(frozen=True)
class Spec:
    """One net: its settings, the digest that names its behaviour, and how many seeds it has."""

    net: str
    study: str
    dataset: str
    settings: Settings
    parameters: int
    digest: str
    seeds: int
    stack: int = 5

    @property
    def measure(self) -> Measure:
        """What the net is judged by."""
        return self.settings.data.measure


@dataclass(frozen=True)
class ProbeSpec:
    """What decides the probing of a net, given its weights."""

    settings: Probes
    digests: dict[str, str]
    """By probe: how it is set, and what it finds in the twin."""


def resolve(params: Params, name: str) -> Settings:
    """Follow a net's references; a name that no net has is refused."""
    if name not in params.nets:
        raise Problem(f"params.yaml has no net '{name}'; {nearest(name, params.nets)}")
    net = params.nets[name]
    data = params.data[net.data]
    start = params.weights_of(name).sha256 or net.start
    return Settings(data, params.bodies[net.body], params.recipes[net.recipe], net.T, net.C, start)


def digest_of(*parts: Any) -> str:
    """A name for plain values: equal values, equal name."""
    return sha256(json.dumps([plain(part) for part in parts], sort_keys=True).encode())[:16]


def pieces(seeds: Sequence[int], stack: int) -> Iterator[tuple[int, ...]]:
    """The seeds cut at multiples of `stack`, so that whoever trains them cuts them alike."""
    for chunk in sorted({seed // stack for seed in seeds}):
        yield tuple(seed for seed in seeds if seed // stack == chunk)


def told(seeds: Sequence[int]) -> str:
    """Seeds in words: "seed 5", "seeds 0 to 4"."""
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"seeds {', '.join(map(str, seeds))}"


def load(net: str) -> Spec:
    """Read a written spec."""
    file = paths.spec_file(net)
    value = read_json(file, "run: dvc repro specify")
    try:
        return Spec(
            net,
            value["study"],
            value["dataset"],
            read(Settings, value["settings"], f"{file}: settings"),
            value["parameters"],
            value["digest"],
            value["seeds"],
            value["stack"],
        )
    except (KeyError, TypeError) as error:
        raise Problem(f"{file} lacks {error}; run: dvc repro -f -s specify") from error


def load_probing(net: str) -> ProbeSpec:
    """Read a written spec of the net's probes."""
    file = paths.probe_spec_file(net)
    found: ProbeSpec = read(ProbeSpec, _without_name(file), str(file))
    return found


def _without_name(file: Any) -> dict[str, Any]:
    value = read_json(file, "run: dvc repro specify")
    if not isinstance(value, dict):
        raise Problem(f"{file} is no spec; run: dvc repro -f -s specify")
    return {key: item for key, item in value.items() if key != "net"}
