"""The papers' sentences as tests on results."""

from dataclasses import replace

from skipgate.judging.claims import blocks, depth, discards, estimates, gating, routes
from skipgate.judging.claims.nets import Found, Test
from skipgate.judging.evidence import Outcome, Part, decide
from skipgate.judging.papers import Claim, Paper
from skipgate.results.store import StudyResults, Waiting

TESTS: dict[str, Test] = {
    **gating.TESTS,
    **depth.TESTS,
    **blocks.TESTS,
    **estimates.TESTS,
    **routes.TESTS,
    **discards.TESTS,
}

MEASURE = "error"
"""What these sentences speak of: they are not asked where networks are judged by something else."""


def concerns(claim: str, study: StudyResults) -> bool:
    """Whether the study has, or is to have, the nets that a claim speaks of."""
    try:
        return claim in TESTS and _tested(claim, study) is not None
    except Waiting:
        return True


def judge(paper: Paper, claim: str, study: StudyResults) -> Outcome:
    """What this study's results say about a claim of a paper."""
    told = paper.claims[claim]
    if claim not in TESTS:
        return Outcome("not run", reason=told.needs or "no probe decides it yet")
    test = TESTS[claim].sentence
    try:
        found = _tested(claim, study)
    except Waiting as net:
        return Outcome("not run", reason=f"waits for `{net}`", test=test)
    if found is None:
        reason = told.needs or "the study has not got the nets that this is about"
        return Outcome("not run", reason=reason, test=test)
    by_paper = TESTS[claim].stated
    stated = by_paper(paper, study.measure) if by_paper else {}
    parts = [_with(part, stated) for part in found.parts]
    beside = tuple(_with(part, stated) for part in found.beside)
    outcome = decide(parts, [result.spec.net for result in found.results])
    return by_construction(told, replace(outcome, test=test, beside=beside))


def by_construction(told: Claim, outcome: Outcome) -> Outcome:
    """The outcome, not counted as held where it could not have been otherwise.

    If it is otherwise all the same, something is broken and the answer stands.
    """
    expected = told.by_construction and outcome.answer == "holds"
    return replace(outcome, answer="by construction") if expected else outcome


def _with(part: Part, stated: dict[str, float]) -> Part:
    return replace(part, stated=stated.get(part.name))


def _tested(claim: str, study: StudyResults) -> Found | None:
    return TESTS[claim].run(study) if study.measure.name == MEASURE else None
