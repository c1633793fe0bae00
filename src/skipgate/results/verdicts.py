"""A reported number beside ours, and one of five words about the pair."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scipy import stats

from skipgate.params import Params
from skipgate.results.papers import Cell, Table
from skipgate.results.statistics import Estimate, estimate, pooled_deviation, prior_deviation
from skipgate.results.store import Study

Word = Literal["agrees", "inconclusive", "differs", "not comparable", "not run"]
WORDS: tuple[Word, ...] = ("agrees", "inconclusive", "differs", "not comparable", "not run")
LEVEL = 0.05


@dataclass(frozen=True)
class Verdict:
    """The judgement on one cell by one net."""

    cell: Cell
    net: str
    ours: Estimate | None
    word: Word
    reason: str


def judge(params: Params, table: Table, study: Study) -> list[Verdict]:
    """The verdicts on a table's cells that nets of this study reproduce.

    A comparable cell *differs* when the paper's number is outside the prediction interval of ours, after
    Benjamini and Hochberg over the table; it *agrees* when moreover the 90% interval of the difference lies within the
    margin that the table states in advance; between the two it is *inconclusive*.
    """
    pairs = [(cell, net) for cell in table.cells for net in cell.nets if params.nets[net].study == study.name]
    deviation = params.studies[study.name].deviation
    verdicts, tested = [], []
    for cell, net in pairs:
        ours = estimate(study.results[net].metric(table.metric)) if net in study.results else None
        if net not in study.results:
            verdicts.append(Verdict(cell, net, None, "not run", study.missing[net]))
        elif deviation or ours is None:
            verdicts.append(Verdict(cell, net, ours, "not comparable", deviation or "every seed diverged"))
        else:
            tested.append((cell, net, ours))
    images = next((r.spec.settings.data.test for r in study.results.values()), 0)
    return verdicts + _tested(table, tested, images)


def _tested(table: Table, cells: Sequence[tuple[Cell, str, Estimate]], images: int) -> list[Verdict]:
    if not cells:
        return []
    spreads = [_spread(table, ours, images) for _, _, ours in cells]
    errors = [_standard_error(table, ours, spread) for (_, _, ours), (spread, _) in zip(cells, spreads, strict=True)]
    gaps = [ours.mean - cell.value for cell, _, ours in cells]
    chances = [2 * float(stats.t.sf(abs(g) / e, f)) for g, e, (_, f) in zip(gaps, errors, spreads, strict=True)]
    adjusted = stats.false_discovery_control(chances)
    verdicts = []
    for (cell, net, ours), gap, error, (_, freedom), chance in zip(cells, gaps, errors, spreads, adjusted, strict=True):
        reach = abs(gap) + float(stats.t.ppf(0.95, freedom)) * error
        word: Word = "differs" if chance < LEVEL else "agrees" if reach <= table.margin else "inconclusive"
        reason = f"ours is {gap:+.2f} {table.unit}, p = {chance:.2g}; margin {table.margin:g}, interval reaches {reach:.2f}"
        verdicts.append(Verdict(cell, net, ours, word, reason))
    return verdicts


def _spread(table: Table, ours: Estimate, images: int) -> tuple[float, int]:
    """Seed-to-seed spread of a cell, from its own seeds and what the size of the test set lets expect.

    Not pooled over the table: a network that fails to train varies a hundred times as much as its neighbours.
    """
    return pooled_deviation([ours], prior_deviation(ours.mean, images) if table.metric == "test_error" else None)


def _standard_error(table: Table, ours: Estimate, spread: float) -> float:
    """Of the difference: our mean of n seeds, the paper's one draw, and its rounding."""
    return math.sqrt(spread**2 * (1 / ours.count + 1) + table.rounding**2 / 12)
