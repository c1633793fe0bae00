"""`params.yaml` as a whole: what is in it, and that its parts refer to each other."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skipgate import paths
from skipgate.files import Problem, read_yaml
from skipgate.reader import nearest, positive, read
from skipgate.settings import Body, Dataset, GateChoice, Probes, Recipe

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Net:
    """One row of a study: a body with a pair of gates, trained by a recipe over `seeds` seeds."""

    study: str
    data: str
    body: str
    recipe: str
    T: GateChoice
    C: GateChoice
    seeds: int
    probes: str = "usual"

    def __post_init__(self) -> None:
        positive(seeds=self.seeds)


@dataclass(frozen=True)
class Study:
    """A group of nets reported on one page."""

    title: str
    about: str
    cost: str
    rule: Literal["last", "best"]
    """Which epoch a number is read at; the papers name none."""
    deviation: str = ""
    """Why its numbers are not comparable with the papers'; empty if they are."""


@dataclass(frozen=True)
class Params:
    """The whole file."""

    data: dict[str, Dataset]
    recipes: dict[str, Recipe]
    bodies: dict[str, Body]
    nets: dict[str, Net]
    probes: dict[str, Probes]
    studies: dict[str, Study]

    def nets_of(self, study: str) -> dict[str, Net]:
        """The nets of one study, in the file's order."""
        return {name: net for name, net in self.nets.items() if net.study == study}


def load(file: Path = paths.PARAMS) -> Params:
    """Read `params.yaml`; whatever does not fit is refused by its path."""
    params: Params = read(Params, read_yaml(file), file.stem)
    _check_names(params)
    return params


def _check_names(params: Params) -> None:
    """Names become file names and words of a command, so they are plain; references must lead somewhere."""
    for section in ("data", "recipes", "bodies", "nets", "probes", "studies"):
        for name in getattr(params, section):
            if not isinstance(name, str) or not NAME.fullmatch(name):
                raise Problem(
                    f"params.{section}: the name {name!r} must be of small letters, digits and single hyphens"
                )
    for name, net in params.nets.items():
        for key, known in (
            ("study", params.studies),
            ("data", params.data),
            ("body", params.bodies),
            ("recipe", params.recipes),
            ("probes", params.probes),
        ):
            word = getattr(net, key)
            if word not in known:
                raise Problem(
                    f"params.nets.{name}.{key}: there is no '{word}'; {nearest(word, known)}"
                )
