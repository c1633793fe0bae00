"""How often the rule on numbers errs where the truth is known: tables are drawn and judged.

A table has fifteen cells, as the largest that nets reproduce, or five, as that of gates, of which
no spread is expected. A cell has five seeds, and a single run of the paper's with the same spread.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skipgate.judging.papers import Table
from skipgate.judging.statistics import Estimate, Spread, pooled_deviation, spreads
from skipgate.judging.verdicts import LEVEL, Gap, together, words

CELLS = 15
SEEDS = 5
DIFFERENCE = 5.0
"""The true difference that power is stated for, in spreads that are expected."""
CUT = 5.0
"""The rule before this one judged a cell that spreads this many times as expected by itself."""
TABLE = Table("drawn", "", "", 0.0, "printed", ())

Rule = Callable[[Sequence[Estimate], bool], list[Spread]]
"""Spreads from estimates, and from what is expected where that is known."""


@dataclass(frozen=True)
class Drawn:
    """Tables whose first cells spread `ratios` times as far as expected."""

    ratios: tuple[float, ...] = ()
    cells: int = CELLS
    known: bool = True
    """Whether what is expected is known."""


@dataclass(frozen=True)
class Rates:
    """What share of drawn tables a rule judges how."""

    alarms: float
    """Some cell differs, where none does in truth."""
    power: float
    """The one cell that differs in truth, and spreads as expected, is found."""
    joint: float
    """All cells together are improbable at the level, where none differs in truth."""


def cut(groups: Sequence[Estimate], known: bool) -> list[Spread]:
    """The rule before this one: one spread for all cells, but for those beyond `CUT`."""
    tame = [group for group in groups if group.deviation <= CUT]
    shared = Spread(*pooled_deviation(tame, 1.0 if known else None))
    return [
        shared if group.deviation <= CUT else own
        for group, own in zip(groups, alone(groups, known), strict=True)
    ]


def alone(groups: Sequence[Estimate], _: bool) -> list[Spread]:
    """Each cell by its own seeds."""
    return [Spread(*pooled_deviation([group], None)) for group in groups]


def shrunk(groups: Sequence[Estimate], known: bool) -> list[Spread]:
    """The rule that is used."""
    return spreads(groups, [1.0] * len(groups), scales_are_prior=known)


def rates(rule: Rule, drawn: Drawn, rounds: int, seed: int) -> Rates:
    """The rates over so many tables; the same seed gives every rule the same."""
    generator = np.random.default_rng(seed)
    true = np.ones(drawn.cells)
    true[: len(drawn.ratios)] = drawn.ratios
    ours = generator.normal(0, true, (rounds, SEEDS, drawn.cells))
    papers = generator.normal(0, true, (rounds, drawn.cells))
    sizes = ours.mean(1) - papers
    tables = zip(sizes.tolist(), ours.std(1, ddof=1).tolist(), strict=True)
    found = [_judged(rule, drawn.known, *table) for table in tables]
    alarms, power, joint = np.mean(found, axis=0).tolist()
    return Rates(alarms, power, joint)


def _judged(
    rule: Rule, known: bool, sizes: Sequence[float], deviations: Sequence[float]
) -> tuple[bool, bool, bool]:
    found = rule([Estimate(0.0, 0.0, deviation, SEEDS) for deviation in deviations], known)
    share = math.sqrt(1 + 1 / SEEDS)
    gaps = [
        Gap(size, spread.deviation * share, spread.freedom, None)
        for size, spread in zip(sizes, found, strict=True)
    ]
    moved = [*gaps[:-1], replace(gaps[-1], size=gaps[-1].size + DIFFERENCE)]
    alarm = any(word == "differs" for word, _ in words(TABLE, gaps))
    return alarm, words(TABLE, moved)[-1][0] == "differs", together(gaps) < LEVEL
