"""How much of what the papers report could be set beside something of ours, and was."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skipgate.judging.papers import Cell, Kind, Paper
from skipgate.params import Params

Records = Mapping[str, Mapping[str, Any]]
"""What each study, and `theory`, recorded of its judgement in reports/verdicts."""
DECIDED = ("agrees", "differs")


@dataclass(frozen=True)
class Coverage:
    """Counts of cells.

    A measured one counts by the nets of studies at its paper's own protocol; the toy study's do
    not count.
    """

    measured: int = 0
    with_net: int = 0
    run: int = 0
    decidable: int = 0
    """Of those run, the ones that differ or that enough seeds could have shown to agree."""
    decided: int = 0
    exact: int = 0
    computed: int = 0

    def __str__(self) -> str:
        """As a sentence."""
        return (
            f"Of {self.measured} measured numbers {self.with_net} have a net at their paper's own "
            f"protocol, {self.run} were run, {self.decidable} could be decided and {self.decided} "
            f"were; of {self.exact} that follow without training {self.computed} are computed."
        )

    def __add__(self, other: "Coverage") -> "Coverage":
        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return Coverage(*(mine + theirs for mine, theirs in pairs))


def coverage(params: Params, papers: Mapping[str, Paper], records: Records) -> Coverage:
    """The counts over all papers that are given."""
    found = Coverage()
    for source, paper in papers.items():
        for name, table in paper.tables.items():
            for cell in table.cells:
                place = f"{source} {name}"
                if table.kind == "measured":
                    found += _measured(params, place, cell, records)
                elif table.kind == "exact":
                    judged = verdict(records, "theory", place, cell, cell.quantity)
                    found += Coverage(exact=1, computed=bool(judged))
    return found


def kinds(papers: Mapping[str, Paper]) -> Counter[Kind]:
    """How many cells there are of each kind."""
    tables = [table for paper in papers.values() for table in paper.tables.values()]
    return Counter(table.kind for table in tables for _ in table.cells)


def verdict(
    records: Records, study: str, place: str, cell: Cell, by: str
) -> Mapping[str, Any] | None:
    """What a study recorded of a cell, by the net or the quantity that reproduces it."""
    judged: Mapping[str, Mapping[str, Any]] = records.get(study, {}).get("cells", {})
    return judged.get(f"{place}, {cell.row}, {cell.column}, {by}")


def _measured(params: Params, place: str, cell: Cell, records: Records) -> Coverage:
    verdicts = list(_comparable(params, place, cell, records))
    run = [judged for judged in verdicts if judged.get("word", "not run") != "not run"]
    return Coverage(
        measured=1,
        with_net=bool(verdicts),
        run=bool(run),
        decidable=any(_is_decidable(judged) for judged in run),
        decided=any(judged["word"] in DECIDED for judged in run),
    )


def _comparable(
    params: Params, place: str, cell: Cell, records: Records
) -> Iterator[Mapping[str, Any]]:
    """What is recorded for each net of a study at the paper's protocol, if anything is."""
    for net in cell.nets:
        study = params.nets[net].study
        if not params.studies[study].deviation:
            yield verdict(records, study, place, cell, net) or {}


def _is_decidable(judged: Mapping[str, Any]) -> bool:
    """Where the record does not say, a cell that was decided could be."""
    return bool(judged.get("decidable", judged["word"] in DECIDED))
