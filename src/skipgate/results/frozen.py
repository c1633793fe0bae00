"""Our own numbers, frozen: what a fresh run of a study must not leave."""

import math
from dataclasses import dataclass
from typing import Any

from scipy import stats

from skipgate import paths
from skipgate.files import read_json
from skipgate.results.statistics import Estimate, estimate, pooled_deviation, prior_deviation
from skipgate.results.store import Study

METRIC = "test_error"
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


def freeze(study: Study) -> dict[str, Any]:
    """The statistics to compare later runs with."""
    found = {net: estimate(result.last(METRIC)) for net, result in study.results.items()}
    kept = {net: e for net, e in found.items() if e is not None}
    return {
        "study": study.name,
        "metric": METRIC,
        "nets": {n: {"mean": round(e.mean, 4), "deviation": round(e.deviation, 4), "count": e.count} for n, e in kept.items()},
    }


def compare(study: Study) -> list[Comparison]:
    """Two-sided t tests of each frozen net, sharing one level over the study (Bonferroni)."""
    file = paths.frozen_file(study.name)
    frozen = read_json(file, f"run: make freeze STUDY={study.name}")["nets"] if file.exists() else {}
    comparisons = []
    for net, numbers in frozen.items():
        old = Estimate(numbers["mean"], math.nan, numbers["deviation"], numbers["count"])
        new = estimate(study.results[net].last(METRIC)) if net in study.results else None
        images = study.results[net].spec.settings.data.test if net in study.results else 1
        spread, freedom = pooled_deviation([e for e in (old, new) if e], prior_deviation(old.mean, images))
        scale = math.sqrt(1 / old.count + (1 / new.count if new else 0))
        visible = float(stats.t.isf(LEVEL / len(frozen) / 2, freedom)) * spread * scale
        comparisons.append(Comparison(net, old, new, visible))
    return comparisons
