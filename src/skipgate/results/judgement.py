"""All that a study's results say about the papers: a verdict a cell, an answer a claim."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from skipgate.files import rounded
from skipgate.params import Params
from skipgate.results import claims
from skipgate.results.evidence import ANSWERS, LEVEL, Outcome, Part
from skipgate.results.papers import Claim, Paper, Table
from skipgate.results.store import Study
from skipgate.results.verdicts import WORDS, Verdict, judge

CERTAIN = 1000.0
"""How clear a claim is that was computed and not sampled."""
SIMILAR = 1.25
"""Distances of which none is larger by more than this factor are about equal."""


@dataclass(frozen=True)
class JudgedTable:
    """A paper's table with the verdicts of a study, by its rule, and by the best epoch on the test set."""

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
        words, answers = [v.word for v in self.verdicts], [c.outcome.answer for c in self.claims]
        return {
            "study": self.study,
            "nets": self.nets,
            "verdicts": {word: words.count(word) for word in WORDS},
            "answers": {answer: answers.count(answer) for answer in ANSWERS},
            "cells": {f"{t.paper} {t.name}, {_place(v)}": _cell(v) for t in self.tables for v in t.verdicts},
            "claims": {f"{c.paper} {c.name}": {"answer": c.outcome.answer, "why": str(c.outcome)} for c in self.claims},
            "findings": [rounded({"text": text, "clarity": clarity}) for text, clarity in self._findings()],
        }

    def _findings(self) -> Iterator[tuple[str, float]]:
        """What contradicts a paper, with how far beyond doubt it is."""
        for judged in self.claims:
            if judged.outcome.answer == "fails":
                part = min(judged.outcome.parts, key=_height, default=None)
                why, clarity = (part, -_height(part)) if part else (judged.outcome.reason, CERTAIN)
                yield f'"{judged.claim.says}" ({judged.paper}, {judged.claim.where}) fails: {why}.', clarity
        for table in self.tables:
            for verdict in table.verdicts:
                if verdict.word == "differs" and verdict.gap:
                    place, cell = f"{table.table.title}, {verdict.cell.row}, {verdict.cell.column}", verdict.cell
                    text = f"{place}: reported {cell.value:g}, ours {verdict.ours} {table.table.unit} ({table.paper})."
                    yield text, abs(verdict.gap.size) / verdict.gap.error


def judge_study(params: Params, study: Study, papers: dict[str, Paper]) -> Judgement:
    """Judge every table and claim that this study has something to say about."""
    tables, answered = [], []
    for source, paper in papers.items():
        for name, table in paper.tables.items():
            verdicts = judge(params, table, study)
            if verdicts:
                tables.append(JudgedTable(source, name, table, verdicts, judge(params, table, study, "best")))
        for name, claim in paper.claims.items():
            outcome = claims.judge(name, claim, study)
            if outcome.answer != "not run" or claims.concerns(name, study):
                answered.append(JudgedClaim(source, name, claim, outcome))
    return Judgement(study.name, len(study.results), tables, answered)


def better_rule(verdicts: Sequence[Verdict], at_best: Sequence[Verdict]) -> str:
    """A sentence on which of the two rules a paper's numbers fit, by the squared distances in standard errors."""
    pairs = [(v.gap, w.gap) for v, w in zip(verdicts, at_best, strict=False) if v.gap and w.gap]
    if not pairs:
        return ""
    squares = [[(gap.size / gap.error) ** 2 for gap in pair] for pair in pairs]
    last, best = (sum(column) / len(pairs) for column in zip(*squares, strict=True))
    fits = "last epoch better" if last < best else "best epoch on the test set better"
    if max(last, best) <= SIMILAR * min(last, best):
        fits = "last epoch and our best on the test set about equally well"
    nearer = sum(at_the_best < at_the_last for at_the_last, at_the_best in squares)
    distances = f"mean squared distance in standard errors {last:.3g} at the last, {best:.3g} at the best"
    return f"The paper's numbers fit our {fits}: {distances}; {nearer} of {len(pairs)} are nearer to the best."


def _height(part: Part) -> float:
    """A part's mean in units of its uncertainty."""
    return part.mean / (part.bound(LEVEL) or 1)


def _place(verdict: Verdict) -> str:
    return f"{verdict.cell.row}, {verdict.cell.column}, {verdict.net}"


def _cell(verdict: Verdict) -> dict[str, Any]:
    ours = verdict.ours.mean if verdict.ours else None
    found: dict[str, Any] = rounded({"reported": verdict.cell.value, "ours": ours, "word": verdict.word})
    return found
