"""Our own numbers, frozen: what a fresh run of a study must not leave."""

import math
from dataclasses import dataclass
from typing import Any

from scipy import stats

from skipgate import paths
from skipgate.files import Problem, read_json
from skipgate.judging.statistics import Estimate, estimate, pooled_deviation
from skipgate.results.store import StudyResults

LEVEL = 0.01
"""Chance that a study of unchanged behaviour is called changed, over all its nets together."""


@dataclass(frozen=True)
class Comparison:
    """A fresh mean beside its frozen one."""

    net: str
    frozen: Estimate
    fresh: Estimate | None
    visible: float
    """The smallest change that the test calls one."""

    @property
    def moved(self) -> bool:
        """Whether the number has left its band."""
        return self.fresh is None or abs(self.fresh.mean - self.frozen.mean) > self.visible


def freeze(study: StudyResults) -> dict[str, Any]:
    """The statistics to compare later runs with."""
    found = {net: estimate(r.score()) for net, r in study.having("train").items()}
    kept = {net: e for net, e in found.items() if e is not None}
    return {
        "study": study.name,
        "metric": study.measure.key,
        "nets": {
            n: {"mean": round(e.mean, 4), "deviation": round(e.deviation, 4), "count": e.count}
            for n, e in kept.items()
        },
    }


Means = dict[str, dict[str, float]]
"""Frozen statistics by net."""


def load(study: str) -> Means:
    """The frozen statistics by net; none where nothing is frozen yet."""
    file = paths.frozen_file(study)
    found: Means = (
        read_json(file, f"run: make freeze STUDY={study}")["nets"] if file.exists() else {}
    )
    return found


def describe(study: StudyResults, old: Means, new: Means) -> str:
    """A line for the changelog: which frozen means moved, and by how much."""
    means = {
        net: (old.get(net, {}).get("mean"), new.get(net, {}).get("mean")) for net in {**old, **new}
    }
    moved = [f"{net} {_mean(a)} to {_mean(b)}" for net, (a, b) in means.items() if a != b]
    told = f"{study.measure.label} in {study.measure.unit}".removesuffix(" in ")
    return f"- `{study.name}` frozen anew ({told}): {', '.join(moved) or 'nothing moved'}."


def _mean(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def compare(study: StudyResults) -> list[Comparison]:
    """Two-sided t tests of each frozen net, sharing one level over the study (Bonferroni)."""
    frozen = load(study.name)
    _check_metric(study)
    comparisons = []
    for net, numbers in frozen.items():
        old = Estimate(numbers["mean"], math.nan, numbers["deviation"], int(numbers["count"]))
        result = study.having("train").get(net)
        new = estimate(result.score()) if result else None
        examples = result.spec.settings.data.test if result else 1
        prior = study.measure.deviation(old.mean, examples) if study.measure.is_known else None
        spread, freedom = pooled_deviation([e for e in (old, new) if e], prior)
        scale = math.sqrt(1 / old.count + (1 / new.count if new else 0))
        visible = float(stats.t.isf(LEVEL / len(frozen) / 2, freedom)) * spread * scale
        comparisons.append(Comparison(net, old, new, visible))
    return comparisons


def _check_metric(study: StudyResults) -> None:
    """Numbers of another measure say nothing about these."""
    file = paths.frozen_file(study.name)
    remedy = f"run: make freeze STUDY={study.name}"
    known = read_json(file, remedy).get("metric") if file.exists() else None
    if known not in (None, study.measure.key):
        raise Problem(
            f"{file} has {known}, and the study is judged by {study.measure.key}; {remedy}"
        )
