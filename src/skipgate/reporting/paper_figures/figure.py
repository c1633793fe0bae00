"""What all of the papers' figures are: nets of a study, a drawing, and a caption."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar, Self

from matplotlib.figure import Figure

from skipgate.judging.judgement import JudgedTable, Judgement
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Mlp


class PaperFigure(ABC):
    """A figure of a paper, drawn from a study's results with the paper's axes."""

    name: ClassVar[str]
    """PAPER-FIGURE, as in the file's name."""

    @classmethod
    @abstractmethod
    def find(cls, study: StudyResults, judgement: Judgement) -> Self | None:
        """The figure, if the study has the nets that it takes."""

    @abstractmethod
    def figure(self) -> Figure:
        """The drawing."""

    @abstractmethod
    def caption(self) -> str:
        """Which figure it is, what of the paper's is drawn in, and what differs."""


def by_depth(study: StudyResults, kind: str, *parts: str) -> dict[int, Result]:
    """The study's multilayer networks of a family that have these parts, by depth.

    Of several of the same depth the first is the main one.
    """
    found: dict[int, Result] = {}
    for result in study.having(*parts).values():
        body = result.spec.settings.body
        if isinstance(body, Mlp) and family(result.spec) == kind:
            found.setdefault(body.depth, result)
    return dict(sorted(found.items()))


def having(study: StudyResults, *parts: str, metric: str = "") -> StudyResults:
    """The study as if it had no other nets than those with these parts, and this metric."""
    results = {
        net: result
        for net, result in study.having(*parts).items()
        if not metric or metric in result.part("train")["metrics"]
    }
    specs = {net: study.specs[net] for net in results}
    return replace(study, specs=specs, results=results)


def nearest_depth(layers: int, depths: Iterable[int]) -> int:
    """The depth whose ratio to the one sought is nearest to 1."""
    return min(depths, key=lambda depth: abs(math.log(depth / layers)))


def table_of(judgement: Judgement, name: str) -> JudgedTable | None:
    """A judged table by its name."""
    return next((table for table in judgement.tables if table.name == name), None)


def instead(judgement: Judgement) -> str:
    """What a study has instead of the paper's protocol, as a sentence; nothing if it follows it."""
    reasons = {v.reason: None for v in judgement.verdicts if v.word == "not comparable"}
    return f" Not comparable: {'; '.join(reasons)}." if reasons else ""
