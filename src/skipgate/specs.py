"""The resolved settings of a net, as written to and read from `specs/NET.json`. No torch: reports read them too."""

import json
from dataclasses import dataclass
from typing import Any

from skipgate import paths
from skipgate.files import Problem, read_json, sha256
from skipgate.params import Params
from skipgate.reader import nearest, plain, read
from skipgate.settings import Body, Dataset, GateChoice, Recipe


@dataclass(frozen=True)
class Settings:
    """All that decides a training, with every default filled in."""

    data: Dataset
    body: Body
    recipe: Recipe
    T: GateChoice
    C: GateChoice
    seeds: int


@dataclass(frozen=True)
class Spec:
    """One net to train: its settings, and the digest that names its behaviour."""

    net: str
    study: str
    dataset: str
    settings: Settings
    parameters: int
    digest: str


def resolve(params: Params, name: str) -> Settings:
    """Follow a net's references."""
    if name not in params.nets:
        raise Problem(f"params.yaml has no net '{name}'; {nearest(name, params.nets)}")
    net = params.nets[name]
    return Settings(
        params.data[net.data],
        params.bodies[net.body],
        params.recipes[net.recipe],
        net.T,
        net.C,
        net.seeds,
    )


def digest_of(*parts: Any) -> str:
    """A name for plain values: equal values, equal name."""
    return sha256(json.dumps([plain(part) for part in parts], sort_keys=True).encode())[:16]


def load(net: str) -> Spec:
    """Read a written spec."""
    file = paths.spec_file(net)
    value = read_json(file, "run: dvc repro specify")
    try:
        settings = read(Settings, value["settings"], f"{file}: settings")
        return Spec(
            net, value["study"], value["dataset"], settings, value["parameters"], value["digest"]
        )
    except (KeyError, TypeError) as error:
        raise Problem(f"{file} lacks {error}; run: dvc repro -f -s specify") from error


def probe_digests(net: str) -> dict[str, str]:
    """What decides each probe's result, given the trained weights."""
    file = paths.probe_spec_file(net)
    value = read_json(file, "run: dvc repro specify")
    if not isinstance(value, dict) or not isinstance(value.get("digests"), dict):
        raise Problem(f"{file} lacks 'digests'; run: dvc repro -f -s specify")
    return dict(value["digests"])
