"""A reported number beside ours, and one of five words about the pair.

How: docs/decisions/0009-verdicts.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special, stats

from skipgate.judging.papers import Cell, Table
from skipgate.judging.statistics import Estimate, Spread, draw_moments, estimate, spreads
from skipgate.params import Params
from skipgate.results.store import Rule, StudyResults, Waiting
from skipgate.settings import PROBED, Measure

Word = Literal["agrees", "inconclusive", "differs", "not comparable", "not run"]
WORDS: tuple[Word, ...] = ("agrees", "inconclusive", "differs", "not comparable", "not run")
LEVEL = 0.05
POWER = 0.8
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Gap:
    """The distance between our number and the paper's, with what the runs can say about it."""

    size: float
    """Ours less the paper's."""
    error: float
    """Standard error of the distance: our seeds, the paper's own draw, and its rounding."""
    freedom: float
    seeds: int | None
    """How many seeds would let the 90% interval fit into the margin.

    None if the paper's own draw forbids it.
    """
    least: float = 0.0
    """How far from 0 the 90% interval would go for equal numbers and infinitely many seeds.

    That is by the paper's own draw alone.
    """

    @property
    def chance(self) -> float:
        """Two-sided p value of no difference."""
        return 2 * float(special.stdtr(self.freedom, -abs(self.size) / self.error))

    @property
    def fit(self) -> float:
        """Log-likelihood of the paper's number, given ours and the spread."""
        return float(stats.t.logpdf(self.size / self.error, self.freedom)) - math.log(self.error)

    @property
    def reach(self) -> float:
        """How far from 0 the 90% interval of the distance goes."""
        return abs(self.size) + float(special.stdtrit(self.freedom, 0.95)) * self.error

    @property
    def half(self) -> float:
        """Half the width of the 95% interval of the distance."""
        return float(special.stdtrit(self.freedom, 1 - LEVEL / 2)) * self.error

    def visible(self, level: float) -> float:
        """The smallest true distance that a test at this level sees four times out of five."""
        beyond = -float(special.stdtrit(self.freedom, level / 2))
        return float(special.nctdtrinc(self.freedom, 1 - POWER, beyond)) * self.error


@dataclass(frozen=True)
class Verdict:
    """The judgement on one cell by one net."""

    cell: Cell
    net: str
    ours: Estimate | None
    word: Word
    reason: str
    gap: Gap | None = None
    learnt: bool = True
    """Whether the net does better than one that fails to train."""


def distance(
    table: Table, cell: Cell, ours: Estimate, spread: Spread, *, lower_is_better: bool = True
) -> Gap:
    """The distance of one cell.

    The paper's number is taken for a draw of its statistic from our spread.
    """
    shift, share = draw_moments(table.statistic, table.runs)
    drawn = share * (cell.deviation or spread.deviation) ** 2 + table.rounding**2 / 12
    # The best of several draws is the smallest, or the largest where more is better.
    size = ours.mean + (shift if lower_is_better else -shift) * spread.deviation - cell.value

    counts = np.arange(ours.count, MOST_SEEDS + 1)
    # Each further seed makes the mean surer, and the spread too.
    errors = np.sqrt(spread.deviation**2 / counts + drawn)
    fitting = special.stdtrit(spread.freedom + counts - ours.count, 0.95)
    enough = counts[abs(size) + fitting * errors <= table.margin]
    seeds = int(enough[0]) if enough.size else None
    least = float(stats.norm.ppf(0.95)) * math.sqrt(drawn)
    return Gap(size, float(errors[0]), spread.freedom, seeds, least)


def words(table: Table, gaps: Sequence[Gap]) -> list[tuple[Word, float]]:
    """The word for each distance, with its p value after Benjamini and Hochberg over the table."""
    adjusted: Sequence[float] = (
        stats.false_discovery_control([gap.chance for gap in gaps]).tolist() if gaps else []
    )
    found: list[tuple[Word, float]] = []
    for gap, chance in zip(gaps, adjusted, strict=True):
        within: Word = "agrees" if gap.reach <= table.margin else "inconclusive"
        word: Word = "differs" if chance < LEVEL else within
        found.append((word, float(chance)))
    return found


def bars(chances: Sequence[float]) -> list[float]:
    """The p value below which each cell differs after Benjamini and Hochberg.

    The other cells are taken as they are: where k - 1 of them lie below LEVEL k / m, that is the
    bar for one more.
    """
    count = len(chances)
    steps = [LEVEL * (rank + 1) / count for rank in range(count)]
    found = []
    for place in range(count):
        others = [*chances[:place], *chances[place + 1 :]]
        enough = [step for rank, step in enumerate(steps) if sum(p < step for p in others) >= rank]
        found.append(max(enough))
    return found


def together(gaps: Sequence[Gap]) -> float:
    """The p value of no difference in any of the cells, by Fisher's combination of theirs."""
    surprise = -2 * sum(math.log(gap.chance) for gap in gaps)
    return float(special.chdtrc(2 * len(gaps), surprise))


def judge(
    params: Params, table: Table, study: StudyResults, rule: Rule | None = None
) -> list[Verdict]:
    """The verdicts on a table's cells that nets of this study reproduce, by its rule or another."""
    settings = params.studies[study.name]
    places = [(c, n) for c in table.cells for n in c.nets if params.nets[n].study == study.name]
    verdicts: dict[tuple[str, str, str], Verdict] = {}
    tested = []
    for cell, net in places:
        found = _numbers(table, study, net, rule or settings.rule)
        if isinstance(found, str):
            verdicts[_place(cell, net)] = Verdict(cell, net, None, "not run", found)
            continue
        ours = estimate(found)
        if settings.deviation or ours is None or ours.count == 1:
            alone = "every seed diverged" if ours is None else "a single seed has no spread"
            reason = settings.deviation or alone
            verdicts[_place(cell, net)] = Verdict(cell, net, ours, "not comparable", reason)
        else:
            tested.append((cell, net, ours))
    probed = {measure.name: measure for measure in PROBED}
    measure = probed.get(table.metric, study.measure)
    for verdict in _tested(table, tested, measure):
        verdicts[_place(verdict.cell, verdict.net)] = verdict
    return [verdicts[_place(cell, net)] for cell, net in places]


def _place(cell: Cell, net: str) -> tuple[str, str, str]:
    return cell.row, cell.column, net


def _numbers(table: Table, study: StudyResults, net: str, rule: Rule) -> list[float | None] | str:
    """The net's number per seed, or why it has none."""
    result = study.results.get(net)
    if result is None:
        return study.missing[net]
    try:
        return result.metric(table.metric, rule)
    except Waiting:
        return study.lacking().get(net, f"the net is not probed for its {table.metric}")


def _tested(
    table: Table, cells: Sequence[tuple[Cell, str, Estimate]], measure: Measure
) -> list[Verdict]:
    estimates = [ours for _, _, ours in cells]
    scales = [measure.deviation(ours.mean, table.images) for ours in estimates]
    found = spreads(estimates, scales, scales_are_prior=measure.is_known)
    gaps = [
        distance(table, cell, ours, spread, lower_is_better=measure.lower_is_better)
        for (cell, _, ours), spread in zip(cells, found, strict=True)
    ]
    levels = bars([gap.chance for gap in gaps])
    verdicts = []
    for (cell, net, ours), gap, (word, chance), level in zip(
        cells, gaps, words(table, gaps), levels, strict=True
    ):
        seen = f"p = {chance:.2g}; could have seen {gap.visible(level):.2f}"
        reason = _reason(table, gap, word, seen) + _advice(net, gap, word)
        learnt = measure.has_learnt(ours.mean)
        verdicts.append(Verdict(cell, net, ours, word, reason, gap, learnt))
    return verdicts


def _reason(table: Table, gap: Gap, word: Word, seen: str) -> str:
    text = f"{gap.size:+.2f} {table.unit}, {seen}"
    if word != "inconclusive":
        return text
    uncertain = "the paper's own draw is too uncertain"
    too_far = "the distance is too large for it, beside the paper's own draw"
    never = f"no number of seeds: {uncertain if gap.least > table.margin else too_far}"
    enough = never if gap.seeds is None else f"{gap.seeds} seeds"
    return f"{text}; a margin of {table.margin:g} would take {enough}"


def _advice(net: str, gap: Gap, word: Word) -> str:
    """How to get the seeds that would decide."""
    if word != "inconclusive" or gap.seeds is None:
        return ""
    return f": set `seeds: {gap.seeds}` on the net's line and run `dvc repro probe@{net}`"
