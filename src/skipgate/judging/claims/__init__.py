"""The papers' sentences as tests on results."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from skipgate.judging.claims import (
    blocks,
    convolutional,
    depth,
    discards,
    estimates,
    gating,
    highways,
    language,
    routes,
)
from skipgate.judging.claims.nets import Found, Test
from skipgate.judging.evidence import Outcome, Part, decide
from skipgate.judging.papers import Claim, Paper
from skipgate.results.by_image import over_images
from skipgate.results.store import StudyResults, Waiting

TESTS: dict[str, Test] = {
    **gating.TESTS,
    **convolutional.TESTS,
    **depth.TESTS,
    **blocks.TESTS,
    **estimates.TESTS,
    **highways.TESTS,
    **language.TESTS,
    **routes.TESTS,
    **discards.TESTS,
}


def concerns(claim: str, study: StudyResults) -> bool:
    """Whether the study has, or is to have, the nets that a claim speaks of."""
    try:
        return claim in TESTS and _tested(claim, study) is not None
    except Waiting:
        return True


def _on(study: StudyResults, nets: Collection[str]) -> StudyResults:
    """The study as if it had these nets alone."""
    specs = {net: spec for net, spec in study.specs.items() if net in nets}
    results = {net: result for net, result in study.results.items() if net in nets}
    return replace(study, specs=specs, results=results)


def judge(paper: Paper, claim: str, study: StudyResults) -> Outcome:
    """What this study's results say about a claim of a paper."""
    told = paper.claims[claim]
    if claim not in TESTS:
        return Outcome("not run", reason=told.needs or "no probe decides it yet")
    test = TESTS[claim].sentence
    try:
        found = _decided(claim, study, told.judged_on.get(study.name))
    except Waiting as net:
        return Outcome("not run", reason=f"waits for `{net}`", test=test)
    if found is None:
        reason = told.needs or "the study has not got the nets that this is about"
        return Outcome("not run", reason=reason, test=test)
    by_paper = TESTS[claim].stated
    measure = found.results[0].measure if found.results else study.measure
    stated = by_paper(paper, measure) if by_paper else {}
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


def _decided(claim: str, study: StudyResults, nets: Sequence[str] | None) -> Found | None:
    """The test on the nets that are named to decide it, with what it says of others beside it."""
    if nets is None:
        return _tested(claim, study)
    found = _tested(claim, _on(study, nets))
    if found is None:
        return None
    beside = [
        replace(part, name=f"{part.name}; another net")
        for other in _others(claim, study, nets)
        for part in other.parts
    ]
    return replace(found, beside=(*found.beside, *beside))


def _others(claim: str, study: StudyResults, nets: Sequence[str]) -> list[Found]:
    """What a test says of other nets that have results: of each, or where it takes several, of all.

    They decide nothing, so that nothing waits for them.
    """
    rest = [net for net in study.results if net not in nets]
    alone = [_if_there(claim, _on(study, [net])) for net in rest]
    found = alone if any(alone) else [_if_there(claim, _on(study, rest))]
    return [each for each in found if each is not None]


def _if_there(claim: str, study: StudyResults) -> Found | None:
    try:
        return _tested(claim, study)
    except Waiting:
        return None


def _tested(claim: str, study: StudyResults) -> Found | None:
    """The test on seeds, or, where all nets are the only one of their kind, on resamples."""
    if study.measure.name != TESTS[claim].measure:
        return None
    found = TESTS[claim].run(study)
    if found is None or not all(result.is_given for result in found.results):
        return found
    results = {net: over_images(result) for net, result in study.results.items()}
    again = TESTS[claim].run(replace(study, results=results))
    return again and Found(
        _resampled(found.parts, again.parts),
        found.results,
        tuple(_resampled(found.beside, again.beside)),
    )


def _resampled(as_they_are: Sequence[Part], again: Sequence[Part]) -> list[Part]:
    """The margins of resamples, each with the effect in the images as they are.

    A part that these have no number for has none.
    """
    pairs = zip(as_they_are, again, strict=True)
    return [replace(b, name=a.name, effect=a.mean) if a.margins else a for a, b in pairs]
