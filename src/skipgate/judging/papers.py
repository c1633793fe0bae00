"""What the papers report, read from `papers/*.yaml`.

Every number with its place, and every claim in words.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from skipgate import paths
from skipgate.files import Problem, read_yaml
from skipgate.params import Params
from skipgate.reader import between, nearest, positive, read
from skipgate.settings import MEAN_GATE

NO_NET = ("exact", "none")
"""Metrics that no net has: a quantity of the `theory` study, or nothing yet."""


@dataclass(frozen=True)
class Cell:
    """One reported number, and what reproduces it.

    That is nets, each judged in its own study, or a quantity of `theory`.
    """

    row: str
    column: str
    value: float
    nets: tuple[str, ...] = ()
    quantity: str = ""
    """FILE.KEY of results/theory/FILE.json, for numbers that need no training."""
    deviation: float = 0.0
    """The standard deviation that the paper prints beside the number, if it does."""
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Numbers of one kind, and how they were made.

    Ours count as the same within the margin.
    """

    title: str
    where: str
    unit: str
    rounding: float
    """The unit of the last printed digit; 0 for a whole number that is meant exactly."""
    read: Literal["printed", "derived", "figure"]
    cells: tuple[Cell, ...]
    metric: str = "none"
    """What of ours stands beside it: `mean_gate`, a metric of a training, or one of `NO_NET`."""
    statistic: Literal["single", "mean", "median", "best"] = "single"
    runs: int = 1
    """How many runs the statistic is taken over."""
    images: int = 0
    """Test examples behind a number."""
    margin: float = 0.0
    """Differences up to this size count as agreement; stated before the runs."""
    margin_reason: str = ""
    context: bool = False
    """Quoted by the paper from elsewhere: shown, never judged."""

    def __post_init__(self) -> None:
        positive(runs=self.runs)
        between(0, 1000000, rounding=self.rounding, margin=self.margin)
        if self.metric not in NO_NET and not (self.margin and self.margin_reason):
            raise ValueError("a table that nets reproduce needs a margin and a margin_reason")


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper; `judging/claims` tests those that nets or theory can decide."""

    says: str
    where: str
    needs: str = ""
    """What it takes to decide the claim, where this project does not have it yet."""
    deviation: str = ""
    """What the networks that decide it here have instead of the source's.

    It was registered before they were looked at.
    """


@dataclass(frozen=True)
class Paper:
    """A source."""

    title: str
    arxiv: str
    tables: dict[str, Table] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)


def load(params: Params, folder: Path = paths.PAPERS) -> dict[str, Paper]:
    """All papers; a cell that names an unknown net is refused, and so is a claim told twice."""
    found: dict[str, Paper] = {}
    for file in sorted(folder.glob("*.yaml")):
        paper: Paper = read(Paper, read_yaml(file), file.stem)
        for name, cell in cells(paper):
            for net in cell.nets:
                _check_net(params, f"{file}: {name}", net, paper.tables[name].metric)
        for other in found.values():
            for claim in paper.claims.keys() & other.claims.keys():
                raise Problem(
                    f"{file}: the claim '{claim}' stands in another paper's file too; rename one"
                )
        found[file.stem] = paper
    return found


def _check_net(params: Params, where: str, net: str, metric: str) -> None:
    """A net that reproduces a number exists, and has the metric that the number is one of."""
    if net not in params.nets:
        raise Problem(f"{where} names the net '{net}'; {nearest(net, params.nets)}")
    known = (params.measure_of(params.nets[net].study).key, MEAN_GATE.name)
    if metric not in known:
        raise Problem(f"{where}: '{net}' has no metric '{metric}'; {nearest(metric, known)}")


def cells(paper: Paper) -> Iterator[tuple[str, Cell]]:
    """Every cell with the name of its table."""
    for name, table in paper.tables.items():
        for cell in table.cells:
            yield name, cell
