"""The nets that claims speak of, and small arithmetic per seed."""

import math
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from skipgate.judging.evidence import Part
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults, Waiting
from skipgate.settings import Measure, Mlp

Found = tuple[list[Part], list[Result]] | None
"""The margins that decide a claim, and their nets; None where the study lacks the nets."""

MILD = 1.0
"""An error that grows by fewer points has barely changed."""
SHORTCUTS = ("residual", "gated", "highway")


def by_depth(study: StudyResults, kind: str) -> dict[int, Result]:
    """The study's multilayer networks of a family by depth.

    Of several of the same depth the first is the main one.
    """
    names: dict[int, str] = {}
    for net, spec in study.specs.items():
        if family(spec) == kind and isinstance(spec.settings.body, Mlp):
            names.setdefault(spec.settings.body.depth, net)
    return {depth: result_of(study, names[depth]) for depth in sorted(names)}


def result_of(study: StudyResults, net: str) -> Result:
    """A net's results, or Waiting."""
    if net not in study.results:
        raise Waiting(net)
    return study.results[net]


def deepest(study: StudyResults, kind: str, *, learnt: bool = False) -> Result | None:
    """The deepest network of a family with five blocks or more; `learnt` leaves out failed ones."""
    found = [r for r in by_depth(study, kind).values() if blocks_of(r) >= 5]
    return next((r for r in reversed(found) if not learnt or r.has_learnt), None)


def failed_at(measure: Measure) -> float:
    """The level from which on a network has not learnt."""
    return math.inf if measure.failed is None else measure.failed


def blocks_of(result: Result) -> int:
    """How many blocks a multilayer network has."""
    body = cast(Mlp, result.spec.settings.body)
    return body.depth // body.layers


def each_with_shortcuts(study: StudyResults, parts: Callable[[Result], list[Part]]) -> Found:
    """What the deepest network that has learnt of each family with shortcuts says."""
    found = [result for kind in SHORTCUTS if (result := deepest(study, kind, learnt=True))]
    return ([part for result in found for part in parts(result)], found) if found else None


def pairs(study: StudyResults) -> dict[int, tuple[Result, Result]]:
    """Residual and gated networks of the same depth."""
    residual = by_depth(study, "residual")
    gated = by_depth(study, "gated")
    return {depth: (residual[depth], gated[depth]) for depth in residual if depth in gated}


def flat(pairs: dict[int, tuple[Result, Result]]) -> list[Result]:
    """All nets of these pairs."""
    return [result for pair in pairs.values() for result in pair]


def slope(depths: Sequence[int], rows: Sequence[Sequence[float | None]]) -> tuple[float, ...]:
    """By seed, how a number [depth][seed] changes when the depth doubles."""
    columns = [column for column in zip(*rows, strict=False) if None not in column]
    return tuple(
        float(np.polyfit(np.log2(depths), np.array(column, dtype=float), 1)[0])
        for column in columns
    )
