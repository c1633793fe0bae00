"""All that a study's results say about the papers: a verdict per cell, an answer per claim."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skipgate.files import rounded
from skipgate.judging import choices, claims
from skipgate.judging.choices import Choices
from skipgate.judging.evidence import Outcome, Part
from skipgate.judging.papers import Claim, Paper, Table
from skipgate.judging.verdicts import LEVEL, WORDS, Gap, Verdict, Word, judge, together
from skipgate.judging.words import ANSWERS
from skipgate.params import Params
from skipgate.results.store import StudyResults

DECIDED: tuple[Word, ...] = ("agrees", "differs")
CERTAIN = 1000.0
"""Standard errors that stand for a claim that was computed and not sampled."""
CLEARLY = 10.0
"""Numbers that one rule makes this many times as likely as the other fit that rule better."""


@dataclass(frozen=True)
class JudgedTable:
    """A paper's table with the verdicts of a study.

    They are by the study's rule, and by the best epoch on the test set.
    """

    paper: str
    name: str
    table: Table
    verdicts: list[Verdict]
    at_best: list[Verdict]


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with the answer of a study."""

    paper: str
    name: str
    claim: Claim
    outcome: Outcome
    data: tuple[str, ...] = ()
    """What the nets that decide it were tested on, or those that it waits for might be."""


@dataclass(frozen=True)
class Judgement:
    """One study's whole judgement."""

    study: str
    nets: int
    tables: list[JudgedTable]
    claims: list[JudgedClaim]
    choices: Choices | None = None
    """Which of a paper's unstated choices were tried, where the study is about that."""

    @property
    def verdicts(self) -> list[Verdict]:
        """Of all tables."""
        return [verdict for judged in self.tables for verdict in judged.verdicts]

    def plain(self) -> dict[str, Any]:
        """As `reports/verdicts/STUDY.json` records it."""
        words = [v.word for v in self.verdicts]
        cells = self._cells()
        answers = [c.outcome.answer for c in self.claims]
        return {
            "study": self.study,
            "nets": self.nets,
            "verdicts": {word: words.count(word) for word in WORDS},
            "answers": {answer: answers.count(answer) for answer in ANSWERS},
            "totals": {
                "cells": len(cells),
                "decidable": sum(cell["decidable"] for cell in cells.values()),
                "decided": sum(word in DECIDED for word in words),
            },
            "cells": cells,
            "claims": {
                f"{c.paper} {c.name}": {"answer": c.outcome.answer, "why": str(c.outcome)}
                for c in self.claims
            },
            "findings": [
                rounded({"text": text, "clarity": clarity}) for text, clarity in self._findings()
            ],
            **({"choices": self.choices.plain()} if self.choices else {}),
        }

    def _cells(self) -> dict[str, dict[str, Any]]:
        return {
            f"{t.paper} {t.name}, {_place(v)}": _cell(t.table, v)
            for t in self.tables
            for v in t.verdicts
        }

    def _findings(self) -> Iterator[tuple[str, float]]:
        """What contradicts a paper, with its distance from the paper in standard errors."""
        for judged in self.claims:
            if judged.outcome.answer == "fails":
                yield _failed_claim(judged)
        for table in self.tables:
            for verdict in table.verdicts:
                gap = verdict.gap
                # A difference within the margin is none that a reader needs to hear of first.
                if verdict.word == "differs" and gap and gap.reach > table.table.margin:
                    yield _different_cell(table, verdict, gap)


def judge_study(params: Params, study: StudyResults, papers: dict[str, Paper]) -> Judgement:
    """Judge every table and claim that this study has something to say about."""
    tables = []
    answered = []
    for source, paper in papers.items():
        for name, table in paper.tables.items():
            verdicts = judge(params, table, study)
            if verdicts:
                tables.append(
                    JudgedTable(source, name, table, verdicts, judge(params, table, study, "best"))
                )
        for name, claim in paper.claims.items():
            outcome = claims.judge(paper, name, study.main)
            if outcome.answer != "not run" or claims.concerns(name, study.main):
                data = _data(study, outcome)
                answered.append(JudgedClaim(source, name, claim, outcome, data))
    tried = choices.gather(params, study, papers)
    return Judgement(study.name, len(study.results), tables, answered, tried)


def _data(study: StudyResults, outcome: Outcome) -> tuple[str, ...]:
    nets = outcome.nets or study.specs
    return tuple(dict.fromkeys(study.specs[net].dataset for net in nets))


def _failed_claim(judged: JudgedClaim) -> tuple[str, float]:
    """A claim that fails, by its clearest part."""
    part = min(judged.outcome.parts, key=_errors, default=None)
    text = f"{judged.claim.says} ({judged.paper}, {judged.claim.where}) This fails"
    if part is None:
        return f"{text}, computed and not sampled: {judged.outcome.reason}.", CERTAIN
    below = -_errors(part)
    return f"{text} by {_told(below)}: {part}.", below


def _different_cell(judged: JudgedTable, verdict: Verdict, gap: Gap) -> tuple[str, float]:
    cell = verdict.cell
    place = f"{judged.table.title}, {cell.row}, {cell.column}"
    ours = f"{verdict.ours} {judged.table.unit}"
    apart = abs(gap.size) / gap.error
    text = f"{place}: reported {cell.value:g}, ours {ours}, {_told(apart)} apart ({judged.paper})."
    return text, apart


def _errors(part: Part) -> float:
    """A part's mean in standard errors; seeds that all say the same leave no doubt."""
    if not part.margins or not part.error:
        return math.copysign(CERTAIN, part.mean)
    return part.mean / part.error


def _told(errors: float) -> str:
    return f"{errors:.1f} standard errors" if errors < CERTAIN else "the same in every seed"


Pair = tuple[Verdict, Gap, Gap]
"""A cell, with its distances at the last and at the best epoch."""


def better_rule(verdicts: Sequence[Verdict], at_best: Sequence[Verdict]) -> str:
    """Which of the two rules a paper's numbers fit, if either, over the nets that learnt.

    Each rule is tested over all cells together, and the two are compared by their likelihood,
    given our numbers and spread at each.
    """
    pairs = [
        (v, v.gap, w.gap)
        for v, w in zip(verdicts, at_best, strict=False)
        if v.gap and w.gap and v.learnt and w.learnt
    ]
    if not pairs:
        return ""
    last = together([gap for _, gap, _ in pairs])
    best = together([gap for _, _, gap in pairs])
    nearer = sum(abs(best.size) < abs(last.size) for _, last, best in pairs)
    return (
        f"{_fitting(_odds(pairs), max(last, best))}: over the {len(pairs)} nets that learnt, "
        f"together, p = {last:.2g} at the last and {best:.2g} at the best epoch (Fisher); the "
        f"likelihoods differ by a factor of 10^{abs(_odds(pairs)):.1f}, and {nearer} of "
        f"{len(pairs)} are nearer to the best. By column: {_by_column(pairs)}."
    )


def _odds(pairs: Sequence[Pair]) -> float:
    """By what power of ten the best epoch is likelier than the last."""
    return sum(best.fit - last.fit for _, last, best in pairs) / math.log(10)


def _fitting(odds: float, chance: float) -> str:
    """What is said of the two rules, the likelier of which has this p value."""
    if chance < LEVEL:
        return "The paper's numbers fit neither our last epoch nor our best on the test set"
    if abs(odds) < math.log10(CLEARLY):
        fits = "last epoch and our best on the test set about equally well"
    elif odds > 0:
        fits = "best epoch on the test set better than our last"
    else:
        fits = "last epoch better than our best on the test set"
    return f"The paper's numbers fit our {fits}"


def _by_column(pairs: Sequence[Pair]) -> str:
    """Which epoch each column of the table favours."""
    told = []
    for column in dict.fromkeys(verdict.cell.column for verdict, _, _ in pairs):
        odds = _odds([pair for pair in pairs if pair[0].cell.column == column])
        favoured = "best" if odds > 0 else "last"
        clear = abs(odds) >= math.log10(CLEARLY)
        told.append(
            f"{column} favours {f'the {favoured}' if clear else 'neither'} (10^{odds:+.1f})"
        )
    return ", ".join(told)


def out_of_reach(table: Table, verdicts: Sequence[Verdict]) -> str:
    """A sentence on how many cells could be decided, and were.

    It is empty where all of them could, or none was judged.
    """
    judged = [verdict for verdict in verdicts if verdict.gap]
    could = sum(_decidable(table, verdict) for verdict in judged)
    if could == len(judged):
        return ""
    done = sum(verdict.word in DECIDED for verdict in judged)
    return (
        f"Of {len(judged)} numbers {could} could be decided, and {done} were: the other "
        f"{len(judged) - could} do not differ, and could not have agreed with any number of seeds, "
        "because the paper's own draw varies by more than the margin."
    )


def _decidable(table: Table, verdict: Verdict) -> bool:
    """Whether the cell differs, or could have agreed with enough seeds."""
    if verdict.word in DECIDED:
        return True
    return verdict.gap is not None and verdict.gap.least <= table.margin


def _place(verdict: Verdict) -> str:
    return f"{verdict.cell.row}, {verdict.cell.column}, {verdict.net}"


def _cell(table: Table, verdict: Verdict) -> dict[str, Any]:
    """What is recorded of a cell; one that was not judged has no distance."""
    ours = verdict.ours.mean if verdict.ours else None
    gap = verdict.gap
    distance = gap.size if gap else None
    # What is computed and not sampled has no gap: it agrees if it rounds to the printed number.
    exact = gap is None and ours is not None and verdict.word in DECIDED
    if exact and ours is not None:
        distance = ours - verdict.cell.value
    found: dict[str, Any] = rounded(
        {
            "reported": verdict.cell.value,
            "ours": ours,
            "word": verdict.word,
            "distance": distance,
            "half": gap.half if gap else 0.0 if exact else None,
            "margin": table.rounding / 2 if exact else table.margin,
            "unit": table.unit,
            "decidable": _decidable(table, verdict),
        }
    )
    return found
