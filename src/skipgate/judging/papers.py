"""What the papers report, read from `papers/*.yaml`.

Every number with its place, and every claim in words.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from skipgate import paths
from skipgate.files import Problem, read_yaml
from skipgate.params import Params
from skipgate.reader import between, nearest, positive, read
from skipgate.settings import PROBED

Kind = Literal["measured", "exact", "repeated", "structure", "quoted", "encoded"]
"""What the numbers of a table are.

Results of training; quantities that follow without it; what the source says again or computes from
its own results; how networks are built; what it quotes from elsewhere; and words, signs, powers and
dates that are written as numbers for the audit and are not counted among them.
"""


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
    setting: str = ""
    """The path into params.yaml of what is built so; see `judging/protocols`."""
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
    kind: Kind = "measured"
    by: Literal["paper", "code"] = "paper"
    """Who reports it: the source itself, or what was published with its authors' code."""
    protocols: tuple[str, ...] = ()
    """How measured numbers were made, by name; the paper's `protocols` say it."""
    needs: str = ""
    """The study that measured numbers without a net take."""
    metric: str = ""
    """What of ours stands beside a measured number: a metric of a training, or of a probe."""
    statistic: Literal["single", "mean", "median", "best"] = "single"
    runs: int = 1
    """How many runs the statistic is taken over."""
    runs_stated: bool = False
    """Whether the source says how many; what it does not say is judged as a single run."""
    images: int = 0
    """Test examples behind a number."""
    margin: float = 0.0
    """Differences up to this size count as agreement; stated before the runs."""
    margin_reason: str = ""

    def __post_init__(self) -> None:
        positive(runs=self.runs)
        between(0, 1000000, rounding=self.rounding, margin=self.margin)
        if self.metric and not (self.margin and self.margin_reason):
            raise ValueError("a table that nets reproduce needs a margin and a margin_reason")


@dataclass(frozen=True)
class Statement:
    """One line of a protocol, and what of ours follows it."""

    what: str
    by: Literal["paper", "code", "cited", "open"]
    """Stated by the paper, by its authors' code, by a work that it says it follows, or not."""
    where: str = ""
    value: Any = None
    """As stated; nothing where it is open."""
    setting: str = ""
    """The path into params.yaml of what follows it, or of what was chosen where it is open."""
    means: Any = None
    """The setting's own word for the value, where that is another."""
    note: str = ""

    def __post_init__(self) -> None:
        if (self.by == "open") != (self.value is None):
            raise ValueError(f"{self.what}: a statement has a value, unless it is open")
        if (self.by == "open") == bool(self.where):
            raise ValueError(f"{self.what}: a statement has a place, unless it is open")


@dataclass(frozen=True)
class Protocol:
    """How a source trained and tested the networks of one study, as far as it says."""

    title: str
    statements: tuple[Statement, ...]

    def __post_init__(self) -> None:
        names = [statement.what for statement in self.statements]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"'{name}' is stated twice; say how the two differ")


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper; `judging/claims` tests those that nets or theory can decide."""

    says: str
    """In our words and short, for tables."""
    quote: str
    """The source's own words; [...] stands for what is left out."""
    where: str
    of: str = ""
    """The data that the source says it of; empty where it names none or needs none."""
    needs: str = ""
    """What it takes to decide the claim, where this project does not have it yet."""
    deviation: str = ""
    """What the networks that decide it here have instead of the source's."""
    judged_on: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By study, the nets that decide it, where others are shown beside them; stated in advance."""
    deviation_in: dict[str, str] = field(default_factory=dict)
    """The deviation in a study whose networks are others than elsewhere."""
    by_construction: str = ""
    """Why it could not be otherwise: it is then no finding that it holds."""


@dataclass(frozen=True)
class Choice:
    """Something that a paper leaves open; `variations` of params.yaml has what is set instead."""

    says: str
    """What is done instead of the default, in our words and short."""
    quote: str
    """The source's own words that leave it open; [...] stands for what is left out."""
    where: str


@dataclass(frozen=True)
class Paper:
    """A source."""

    title: str
    arxiv: str = ""
    protocols: dict[str, Protocol] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    claims: dict[str, Claim] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)
    """By the name of the variation that changes it."""


def load(params: Params, folder: Path = paths.PAPERS) -> dict[str, Paper]:
    """All papers; a name that leads nowhere is refused, and so is a claim told twice."""
    found: dict[str, Paper] = {}
    for file in sorted(folder.glob("*.yaml")):
        paper: Paper = read(Paper, read_yaml(file), file.stem)
        for name, table in paper.tables.items():
            _check_table(params, paper, f"{file}: {name}", table)
        _check_claims(params, str(file), paper)
        for choice in paper.choices.keys() - params.variations.keys():
            known = nearest(choice, params.variations)
            raise Problem(f"{file}: choices: params.yaml has no variation '{choice}'; {known}")
        for other in found.values():
            for claim in paper.claims.keys() & other.claims.keys():
                raise Problem(
                    f"{file}: the claim '{claim}' stands in another paper's file too; rename one"
                )
        found[file.stem] = paper
    return found


def _check_claims(params: Params, where: str, paper: Paper) -> None:
    """What a claim names exists."""
    for name, claim in paper.claims.items():
        for study, nets in claim.judged_on.items():
            known = params.nets_of(study)
            for net in nets:
                if net not in known:
                    raise Problem(f"{where}: {name}: {study} has no net '{net}'")


def _check_table(params: Params, paper: Paper, where: str, table: Table) -> None:
    """A table has what its kind needs, and what it names exists."""
    measured = table.kind == "measured"
    if measured != bool(table.protocols):
        raise Problem(f"{where}: measured tables, and no others, name their protocols")
    if not measured and (table.needs or table.metric):
        raise Problem(f"{where}: needs and metric belong to measured tables")
    if table.runs > 1 and not table.runs_stated:
        raise Problem(f"{where}: more runs than 1 need runs_stated, and a source that states them")
    for name in table.protocols:
        if name not in paper.protocols:
            known = nearest(name, paper.protocols)
            raise Problem(f"{where}: there is no protocol '{name}'; {known}")
    for cell in table.cells:
        _check_cell(f"{where}: {cell.row}, {cell.column}", table, cell)
        for net in cell.nets:
            _check_net(params, where, net, table.metric)


def _check_cell(where: str, table: Table, cell: Cell) -> None:
    """What reproduces a cell is of its table's kind."""
    if bool(cell.quantity) != (table.kind == "exact"):
        raise Problem(f"{where}: exact numbers, and no others, name a quantity")
    if cell.nets and not table.metric:
        raise Problem(f"{where}: a table that nets reproduce needs a metric")
    if table.kind == "measured" and not (cell.nets or table.needs):
        raise Problem(f"{where}: name the nets of a measured number, or what its table needs")
    if cell.setting and table.kind != "structure":
        raise Problem(f"{where}: only structure is followed by a setting")


def _check_net(params: Params, where: str, net: str, metric: str) -> None:
    """A net that reproduces a number exists, and has the metric that the number is one of."""
    if net not in params.nets:
        raise Problem(f"{where} names the net '{net}'; {nearest(net, params.nets)}")
    line = params.nets[net]
    more = (f"test_{name}" for name in params.data[line.data].more)
    kinds = params.probes[line.probes].kinds
    probed = (measure.name for measure, kind in PROBED.items() if kind in kinds)
    known = (params.measure_of(line.study).key, *probed, *more)
    if metric not in known:
        raise Problem(f"{where}: '{net}' has no metric '{metric}'; {nearest(metric, known)}")


def cells(paper: Paper) -> Iterator[tuple[str, Cell]]:
    """Every cell with the name of its table."""
    for name, table in paper.tables.items():
        for cell in table.cells:
            yield name, cell


def column_of(paper: Paper, table: str, column: str) -> dict[str, float]:
    """A column of reported numbers by their rows."""
    return {cell.row: cell.value for cell in paper.tables[table].cells if cell.column == column}
