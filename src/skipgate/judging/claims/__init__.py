"""The papers' sentences as tests on results."""

from collections.abc import Callable

from skipgate.judging.claims import blocks, discards, gating, routes
from skipgate.judging.claims.nets import Found
from skipgate.judging.evidence import Outcome, decide
from skipgate.judging.papers import Claim
from skipgate.results.store import StudyResults, Waiting

TESTS: dict[str, Callable[[StudyResults], Found]] = {
    "gated-beats-residual-mnist": gating.gated_beats_residual,
    "gain-grows-with-depth": gating.gain_grows,
    "classical-fails-deep": gating.classical_fails,
    "k-falls-with-depth": gating.k_falls,
    "k-low-in-the-middle": gating.k_low_in_the_middle,
    "half-removed-90": gating.half_removed,
    "residual-breaks-early": gating.residual_breaks_early,
    "greedy-beats-random": gating.greedy_beats_random,
    "gated-train-loss": gating.gated_train_loss,
    "lesion-mild": blocks.lesion_mild,
    "lesion-kills-plain": blocks.lesion_kills_plain,
    "shuffle-smooth": blocks.shuffle_smooth,
    "estimation-error-zero-mean": blocks.estimation_mean,
    "estimation-std-falls": blocks.estimation_deviation,
    "paths-removed": routes.paths_removed,
    "shallow-paths-gradient": routes.shallow_paths,
    "discards-late-layers": discards.discards_late,
    "lossless-removal": discards.lossless_removal,
    "same-accuracy-fewer-layers": discards.same_accuracy,
    "stochastic-depth": discards.all_kept_at_test,
}


MEASURE = "error"
"""What these sentences speak of: they are not asked where networks are judged by something else."""


def concerns(claim: str, study: StudyResults) -> bool:
    """Whether the study has, or is to have, the nets that a claim speaks of."""
    try:
        return claim in TESTS and _tested(claim, study) is not None
    except Waiting:
        return True


def judge(claim: str, told: Claim, study: StudyResults) -> Outcome:
    """What this study's results say about a claim."""
    if claim not in TESTS:
        return Outcome("not run", reason=told.needs or "no probe decides it yet")
    try:
        found = _tested(claim, study)
    except Waiting as net:
        return Outcome("not run", reason=f"waits for `{net}`")
    if found is None:
        return Outcome("not run", reason="the study has not got the nets that this is about")
    parts, results = found
    return decide(parts, [result.spec.net for result in results])


def _tested(claim: str, study: StudyResults) -> Found:
    return TESTS[claim](study) if study.measure.name == MEASURE else None
