"""What the papers report, read from `papers/*.yaml`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skipgate import paths
from skipgate.files import Problem, read_yaml
from skipgate.params import Params
from skipgate.reader import nearest, read


@dataclass(frozen=True)
class Cell:
    """One reported number, and the nets that reproduce it."""

    row: str
    column: str
    value: float
    nets: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Numbers of one kind, with how they were made and the margin within which ours shall count as the same."""

    title: str
    where: str
    unit: str
    metric: Literal["test_error", "mean_gate"]
    statistic: Literal["single"]
    rounding: float
    read: Literal["printed", "derived", "figure"]
    margin: float
    margin_reason: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Paper:
    """A source."""

    title: str
    arxiv: str
    tables: dict[str, Table]


def load(params: Params, folder: Path = paths.PAPERS) -> dict[str, Paper]:
    """All papers; a cell that names a net that is not there is refused."""
    found = {}
    for file in sorted(folder.glob("*.yaml")):
        paper: Paper = read(Paper, read_yaml(file), file.stem)
        for name, table in paper.tables.items():
            for net in (net for cell in table.cells for net in cell.nets):
                if net not in params.nets:
                    raise Problem(f"{file}: {name} names the net '{net}'; {nearest(net, params.nets)}")
        found[file.stem] = paper
    return found
