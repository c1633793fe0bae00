"""A study in numbers alone, as `dvc metrics show` and `dvc metrics diff` have them."""

import math
from typing import Any

from skipgate.files import rounded
from skipgate.judging.judgement import Judgement
from skipgate.judging.statistics import Estimate, estimate
from skipgate.reporting.tables import interval_over_images
from skipgate.results.store import Result, Rule, StudyResults, Waiting
from skipgate.settings import MEAN_GATE


def metrics(study: StudyResults, judgement: Judgement, rule: Rule) -> dict[str, Any]:
    """Counts of verdicts and answers; of each net the mean, its 95% interval, seeds, mean gate."""
    told = judgement.plain()
    nets = {net: _net(result, rule) for net, result in study.having("train").items()}
    numbers: dict[str, Any] = rounded(
        {"verdicts": told["verdicts"], "claims": told["answers"], "nets": nets}
    )
    return numbers


def _net(result: Result, rule: Rule) -> dict[str, Any]:
    """What is known of one net; what is not there has no key."""
    try:
        scores = result.score(rule)
    except Waiting:  # no epoch can be chosen without held-out examples
        return {}
    found: dict[str, Any] = {}
    if mean := estimate(scores):
        # Not its name: DVC takes a metric that is called "error" for one that could not be read.
        found = {result.measure.key: mean.mean, **_interval(result, mean)}
    found["seeds"] = len(scores)
    if diverged := scores.count(None):
        found["diverged"] = diverged
    return {**found, **_gate(result)}


def _interval(result: Result, mean: Estimate) -> dict[str, float]:
    """By the seeds; of a network that there is once, over images drawn again."""
    if math.isfinite(mean.half):
        return {"low": mean.mean - mean.half, "high": mean.mean + mean.half}
    found = interval_over_images(result)
    return {"low": found[0], "high": found[1]} if found else {}


def _gate(result: Result) -> dict[str, float]:
    """The mean of T over seeds, of nets whose gates are other than constant."""
    settings = result.spec.settings
    if not result.has("gates") or {settings.T.gate, settings.C.gate} == {"constant"}:
        return {}
    mean = estimate(result.metric(MEAN_GATE.name))
    return {MEAN_GATE.name: mean.mean} if mean else {}
