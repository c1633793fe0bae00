"""All that a study's results say about the papers: a verdict per cell, an answer per claim."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skipgate.files import rounded
from skipgate.judging import claims
from skipgate.judging.evidence import ANSWERS, LEVEL, Outcome, Part
from skipgate.judging.papers import Claim, Paper, Table
from skipgate.judging.verdicts import WORDS, Verdict, judge
from skipgate.params import Params
from skipgate.results.store import StudyResults

CERTAIN = 1000.0
"""How clear a claim is that was computed and not sampled."""
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


@dataclass(frozen=True)
class Judgement:
    """One study's whole judgement."""

    study: str
    nets: int
    tables: list[JudgedTable]
    claims: list[JudgedClaim]

    @property
    def verdicts(self) -> list[Verdict]:
        """Of all tables."""
        return [verdict for judged in self.tables for verdict in judged.verdicts]

    def plain(self) -> dict[str, Any]:
        """As `reports/verdicts/STUDY.json` records it."""
        words = [v.word for v in self.verdicts]
        answers = [c.outcome.answer for c in self.claims]
        return {
            "study": self.study,
            "nets": self.nets,
            "verdicts": {word: words.count(word) for word in WORDS},
            "answers": {answer: answers.count(answer) for answer in ANSWERS},
            "cells": {
                f"{t.paper} {t.name}, {_place(v)}": _cell(v)
                for t in self.tables
                for v in t.verdicts
            },
            "claims": {
                f"{c.paper} {c.name}": {"answer": c.outcome.answer, "why": str(c.outcome)}
                for c in self.claims
            },
            "findings": [
                rounded({"text": text, "clarity": clarity}) for text, clarity in self._findings()
            ],
        }

    def _findings(self) -> Iterator[tuple[str, float]]:
        """What contradicts a paper, with how far beyond doubt it is."""
        for judged in self.claims:
            if judged.outcome.answer == "fails":
                yield _failed_claim(judged)
        for table in self.tables:
            for verdict in table.verdicts:
                gap = verdict.gap
                # A difference within the margin is none that a reader needs to hear of first.
                if verdict.word == "differs" and gap and gap.reach > table.table.margin:
                    yield _different_cell(table, verdict), abs(gap.size) / gap.error


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
            outcome = claims.judge(name, claim, study)
            if outcome.answer != "not run" or claims.concerns(name, study):
                answered.append(JudgedClaim(source, name, claim, outcome))
    return Judgement(study.name, len(study.results), tables, answered)


def _failed_claim(judged: JudgedClaim) -> tuple[str, float]:
    """A claim that fails, by its clearest part, and how clear that is."""
    part = min(judged.outcome.parts, key=_height, default=None)
    why = part or judged.outcome.reason
    text = f'"{judged.claim.says}" ({judged.paper}, {judged.claim.where}) fails: {why}.'
    return text, -_height(part) if part else CERTAIN


def _different_cell(judged: JudgedTable, verdict: Verdict) -> str:
    cell = verdict.cell
    place = f"{judged.table.title}, {cell.row}, {cell.column}"
    ours = f"{verdict.ours} {judged.table.unit}"
    return f"{place}: reported {cell.value:g}, ours {ours} ({judged.paper})."


def better_rule(verdicts: Sequence[Verdict], at_best: Sequence[Verdict]) -> str:
    """A sentence on which of the two rules a paper's numbers fit.

    They are compared by their likelihood, given our numbers and spread at each.
    """
    pairs = [(v.gap, w.gap) for v, w in zip(verdicts, at_best, strict=False) if v.gap and w.gap]
    if not pairs:
        return ""
    odds = sum(best.fit - last.fit for last, best in pairs) / math.log(10)
    fits = (
        "best epoch on the test set better than our last"
        if odds > 0
        else "last epoch better than our best on the test set"
    )
    how = f"likelihoods differ by a factor of 10^{abs(odds):.1f}"
    if abs(odds) < math.log10(CLEARLY):
        fits = "last epoch and our best on the test set about equally well"
    nearer = sum(abs(best.size) < abs(last.size) for last, best in pairs)
    return (
        f"The paper's numbers fit our {fits}: {how}, and {nearer} of {len(pairs)} are nearer to "
        "the best."
    )


def out_of_reach(table: Table, verdicts: Sequence[Verdict]) -> str:
    """A sentence on cells that could not have agreed, however well they had been reproduced.

    It is empty where there are none.
    """
    gaps = [verdict.gap for verdict in verdicts if verdict.gap]
    never = sum(gap.least > table.margin for gap in gaps)
    if not never:
        return ""
    could_not = f"{never} of {len(gaps)} could not have agreed with any number of seeds"
    return f"{could_not}: the paper's own draw varies by more than the margin."


def _height(part: Part) -> float:
    """A part's mean in units of its uncertainty."""
    return part.mean / (part.bound(LEVEL) or 1)


def _place(verdict: Verdict) -> str:
    return f"{verdict.cell.row}, {verdict.cell.column}, {verdict.net}"


def _cell(verdict: Verdict) -> dict[str, Any]:
    ours = verdict.ours.mean if verdict.ours else None
    found: dict[str, Any] = rounded(
        {"reported": verdict.cell.value, "ours": ours, "word": verdict.word}
    )
    return found
