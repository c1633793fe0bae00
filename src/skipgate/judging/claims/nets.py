"""The nets that claims speak of, and small arithmetic by seed."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from skipgate.judging.evidence import Part
from skipgate.results.names import family
from skipgate.results.store import Result, Study
from skipgate.settings import Mlp

Found = tuple[list[Part], list[Result]] | None
"""The margins that decide a claim and the nets they come from; None where the study has not got the
nets."""

SHORTCUTS = ("residual", "gated", "highway")
GUESSING = 50.0
"""A network with an error above this % has not learnt: guessing gives 90."""


class Waiting(Exception):
    """A net that a claim speaks of has no results yet: it is not judged by the others alone."""


def by_depth(study: Study, kind: str) -> dict[int, Result]:
    """The study's multilayer networks of a family by depth; of several the first, the others being ablations."""
    names: dict[int, str] = {}
    for net, spec in study.specs.items():
        if family(spec) == kind and isinstance(spec.settings.body, Mlp):
            names.setdefault(spec.settings.body.depth, net)
    return {depth: result_of(study, names[depth]) for depth in sorted(names)}


def result_of(study: Study, net: str) -> Result:
    """A net's results, or Waiting."""
    if net not in study.results:
        raise Waiting(net)
    return study.results[net]


def deepest(study: Study, kind: str, *, learnt: bool = False) -> Result | None:
    """The deepest network of a family with five blocks or more; `learnt` leaves out those that fail to train."""
    found = [r for r in by_depth(study, kind).values() if len(r.parts["gates"]["T"]) >= 5]
    return next((r for r in reversed(found) if not learnt or has_learnt(r)), None)


def has_learnt(result: Result) -> bool:
    """Whether a network does better than to guess."""
    return mean(result.last("test_error")) < GUESSING


def each_with_shortcuts(study: Study, parts: Callable[[Result], list[Part]]) -> Found:
    """What the deepest network that has learnt of each family with shortcuts says."""
    found = [result for kind in SHORTCUTS if (result := deepest(study, kind, learnt=True))]
    return ([part for result in found for part in parts(result)], found) if found else None


def mean(values: Sequence[float | None]) -> float:
    """The mean of the numbers there are; infinite where there is none."""
    numbers = [v for v in values if v is not None]
    return float(np.mean(numbers)) if numbers else math.inf


def pairs(study: Study) -> dict[int, tuple[Result, Result]]:
    """Residual and gated networks of the same depth."""
    residual = by_depth(study, "residual")
    gated = by_depth(study, "gated")
    return {depth: (residual[depth], gated[depth]) for depth in residual if depth in gated}


def flat(pairs: dict[int, tuple[Result, Result]]) -> list[Result]:
    """All nets of these pairs."""
    return [result for pair in pairs.values() for result in pair]


def slope(depths: Sequence[int], rows: Sequence[Sequence[float | None]]) -> tuple[float, ...]:
    """By seed, how a number [depth][seed] changes when the depth doubles."""
    columns = [column for column in zip(*rows, strict=True) if None not in column]
    return tuple(
        float(np.polyfit(np.log2(depths), np.array(column, dtype=float), 1)[0])
        for column in columns
    )
