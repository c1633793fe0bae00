"""One check of a paper against itself, and how printed numbers are looked up and compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from skipgate.files import Problem
from skipgate.judging.papers import Cell, Paper

Word = Literal["contradicts", "unclear", "holds"]
NEAR = 0.1
"""A number called approximate may miss by this share before it counts as a contradiction."""


@dataclass(frozen=True)
class Check:
    """What a paper states, beside what follows from its own numbers."""

    name: str
    paper: str
    place: str
    stated: str
    follows: str
    word: Word


@dataclass(frozen=True)
class Printed:
    """The numbers that one paper prints."""

    papers: Mapping[str, Paper]
    paper: str

    def __call__(self, table: str, row: str, column: str) -> float:
        column_of = self.column(table, column)
        if row not in column_of:
            raise Problem(
                f"papers/{self.paper}.yaml: {table} has no cell '{row}', '{column}', which the "
                "audit needs"
            )
        return column_of[row]

    def column(self, table: str, column: str) -> dict[str, float]:
        """A column by its rows."""
        return {cell.row: cell.value for cell in self.cells(table) if cell.column == column}

    def whole(self, table: str, row: str, column: str) -> int:
        """A number that is meant exactly."""
        return round(self(table, row, column))

    def deviation(self, table: str, row: str, column: str) -> float:
        """The standard deviation printed beside a number."""
        return next(
            cell.deviation for cell in self.cells(table) if (cell.row, cell.column) == (row, column)
        )

    def cells(self, table: str) -> tuple[Cell, ...]:
        """All cells of a table."""
        return self.papers[self.paper].tables[table].cells

    def stated(self, protocol: str, what: str) -> Any:
        """What a protocol states."""
        lines = self.papers[self.paper].protocols[protocol].statements
        for line in lines:
            if line.what == what:
                return line.value
        raise Problem(
            f"papers/{self.paper}.yaml: the protocol {protocol} does not state '{what}', which the "
            "audit needs"
        )

    def unit(self, table: str) -> float:
        """The unit of a table's last printed digit."""
        return self.papers[self.paper].tables[table].rounding

    def of(self, paper: str) -> "Printed":
        """The numbers of another paper."""
        return Printed(self.papers, paper)

    def check(self, name: str, place: str, stated: str, follows: str, word: Word | bool) -> Check:
        """A check of this paper; `word` is a bool if the statement is simply true or false."""
        return Check(
            name,
            self.paper,
            place,
            stated,
            follows,
            holds_if(word) if isinstance(word, bool) else word,
        )


def holds_if(agrees: bool, otherwise: Word = "contradicts") -> Word:
    """`holds`, or the word for the other case."""
    return "holds" if agrees else otherwise


def rounds_to(found: float, stated: float, unit: float) -> bool:
    """Whether `found`, rounded as the paper rounds, is what it states; a tie may go either way."""
    return abs(found - stated) <= unit / 2 + 1e-9


def about(found: float, stated: float, unit: float) -> Word:
    """The word on a number that is called approximate."""
    return holds_if(
        rounds_to(found, stated, unit),
        "unclear" if abs(found / stated - 1) <= NEAR else "contradicts",
    )


def listed(numbers: Mapping[str, float], form: str = "g") -> str:
    """Numbers with their names, for a sentence."""
    return ", ".join(f"{number:{form}} ({name})" for name, number in numbers.items())
