"""Our own numbers, frozen: what a fresh run of a study must not leave.

The band of a quantity comes from the frozen seeds alone, so that nothing in a fresh run can widen
it. How: docs/decisions/0005-frozen-numbers.md.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from skipgate import paths
from skipgate.files import Problem, read_json
from skipgate.judging.quantities import LABELS, SCORES, PerSeed, watched
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Measure

LEVEL = 0.01
"""Chance that an unchanged study alarms at all: half of it for means, half for single seeds."""
EXACT = 1e-4
"""What is rounded away: a quantity that never varied may not vary by more, of its size or of 1."""

Numbers = npt.NDArray[np.float64]
Frozen = dict[str, dict[str, PerSeed]]
"""By net and quantity, a number per seed."""


@dataclass(frozen=True)
class Alarm:
    """What left its band, in a sentence without its subject."""

    net: str
    quantity: str
    says: str

    def __str__(self) -> str:
        return f"{self.net}: {self.says}"


@dataclass(frozen=True)
class Band:
    """Where fresh numbers of one quantity may lie: prediction intervals from frozen seeds."""

    values: PerSeed
    resolution: float
    """The smallest step that the quantity can take; seeds that never differ may by that much."""
    logarithmic: bool
    seeds: int
    """How many fresh ones are expected."""
    tests: int
    """How many quantities share the level."""
    highest: float = math.inf
    """The largest value that is possible."""

    @cached_property
    def known(self) -> Numbers:
        """The frozen seeds that have a number, on the scale that they are compared on."""
        return self._scaled([value for value in self.values if value is not None])

    @property
    def centre(self) -> float:
        """The frozen mean, in the quantity's own unit; of the logarithms, where those are taken."""
        return float(self._unscaled(self.known.mean()))

    @property
    def of_mean(self) -> tuple[float, float]:
        """Lowest and highest mean of the fresh seeds."""
        return self._around(1 / self.seeds, self.tests)

    @property
    def of_seed(self) -> tuple[float, float]:
        """Lowest and highest number of a single fresh seed."""
        return self._around(1.0, self.tests * self.seeds)

    @property
    def visible(self) -> float:
        """The smallest rise of the mean that alarms; infinite where none does."""
        high = self.of_mean[1]
        return high - self.centre if high < self.highest else math.inf

    def mean(self, fresh: Sequence[float]) -> float:
        """The fresh mean, on the scale of the band."""
        return float(self._unscaled(self._scaled(fresh).mean()))

    def allows_lost(self, lost: int) -> bool:
        """Whether so many fresh seeds may lack a number, given how many frozen ones do."""
        without = len(self.values) - len(self.known)
        if not without or not lost:
            return not lost
        draws = stats.betabinom(self.seeds, without + 0.5, len(self.known) + 0.5)
        return bool(draws.sf(lost - 1) >= LEVEL / self.tests)

    def _around(self, share: float, tests: int) -> tuple[float, float]:
        """The interval for a draw whose variance is `share` of a seed's."""
        count = len(self.known)
        centre = self.known.mean()
        least = max(self.resolution, EXACT * max(1.0, abs(self.centre))) / math.sqrt(count)
        least = least / max(self.centre, self.resolution) if self.logarithmic else least
        spread = max(float(np.std(self.known, ddof=1)), least)
        far = float(stats.t.isf(LEVEL / 4 / tests, count - 1)) * math.sqrt(share + 1 / count)
        low, high = self._unscaled(np.array([centre - far * spread, centre + far * spread]))
        return float(low), float(high)

    def _scaled(self, values: Sequence[float]) -> Numbers:
        numbers = np.array(values, dtype=float)
        return np.log(np.maximum(numbers, self.resolution)) if self.logarithmic else numbers

    def _unscaled(self, values: Any) -> Any:
        return np.exp(values) if self.logarithmic else values


def freeze(study: StudyResults, reason: str) -> dict[str, Any]:
    """What later runs are compared with: every seed's number of every quantity."""
    return {
        "study": study.name,
        "metric": study.measure.key,
        "reason": reason,
        "nets": {
            net: {"digest": result.spec.digest, "quantities": watched(result)}
            for net, result in study.having("train").items()
        },
    }


def load(study: StudyResults) -> Frozen:
    """The frozen numbers; none where nothing is frozen yet."""
    file = paths.frozen_file(study.name)
    if not file.exists():
        return {}
    remedy = f"run: make freeze STUDY={study.name} REASON='...'"
    content = read_json(file, remedy)
    if content.get("metric") != study.measure.key:
        raise Problem(
            f"{file} has {content.get('metric')}, and the study is judged by {study.measure.key}; "
            f"{remedy}"
        )
    return {net: entry["quantities"] for net, entry in content["nets"].items()}


def bands(study: StudyResults, nets: Sequence[str] = ()) -> dict[str, dict[str, Band]]:
    """The band of every frozen quantity, by net; of these nets if some are named."""
    frozen = load(study)
    kept = {
        net: {name: v for name, v in values.items() if sum(x is not None for x in v) > 1}
        for net, values in frozen.items()
    }
    # Also when a few nets are asked for: the band of a quantity is the same in every check.
    tests = sum(map(len, kept.values()))
    return {
        net: {name: _band(study, net, name, v, tests) for name, v in values.items()}
        for net, values in kept.items()
        if not nets or net in nets
    }


def _band(study: StudyResults, net: str, name: str, values: PerSeed, tests: int) -> Band:
    spec = study.specs.get(net)
    examples = spec.settings.data.test if spec else 1
    is_score = name in (study.measure.key, *SCORES)
    steps = {"closed": 1.0, "train_loss": EXACT}
    step = 100 / examples if is_score and study.measure.is_known else steps.get(name, EXACT)
    positive = name == "train_loss" or (is_score and study.measure.bounds[0] >= 0)
    highest = study.measure.bounds[1] if is_score else math.inf
    return Band(values, step, positive, spec.seeds if spec else 1, tests, highest)


def compare(study: StudyResults, nets: Sequence[str] = ()) -> list[Alarm]:
    """All that is not as it was frozen, by name; nothing if all holds."""
    found: list[Alarm] = []
    for net, quantities in bands(study, nets).items():
        result = study.results.get(net)
        if result is None or not result.has("train"):
            reason = study.lacking().get(net, "the net is not in params.yaml any more")
            found.append(Alarm(net, "", f"has no result: {reason}"))
        else:
            found += _of_net(result, quantities)
    return found


def _of_net(result: Result, quantities: dict[str, Band]) -> Iterator[Alarm]:
    fresh = watched(result)
    net = result.spec.net
    yield from _diverged(result, quantities[result.measure.key])
    for name, band in quantities.items():
        label = label_of(name, result.measure)
        if name not in fresh:
            yield Alarm(net, name, f"{label} was not measured; run: dvc repro probe@{net}")
            continue
        values = fresh[name]
        missing = range(len(values), result.spec.seeds)
        yield from (Alarm(net, name, f"{label} of seed {seed} is missing") for seed in missing)
        yield from (Alarm(net, name, says) for says in _outside(label, values, band))
        if name == "moved":
            still = [seed for seed, value in enumerate(values) if value == 0]
            yield from (
                Alarm(net, name, f"k of seed {s} has not moved from its start") for s in still
            )


def _diverged(result: Result, band: Band) -> Iterator[Alarm]:
    """Seeds that diverged, where as many of the frozen ones did not."""
    epochs = result.part("train")["diverged"]
    failed = {seed: epoch for seed, epoch in enumerate(epochs) if epoch is not None}
    if not band.allows_lost(len(failed)):
        for seed, epoch in failed.items():
            says = f"seed {seed} diverged in epoch {epoch}"
            yield Alarm(result.spec.net, result.measure.key, says)


def _outside(label: str, values: PerSeed, band: Band) -> Iterator[str]:
    """Single seeds, seeds without a number, and the mean."""
    numbers = {seed: value for seed, value in enumerate(values) if value is not None}
    low, high = band.of_seed
    for seed, value in numbers.items():
        if not low <= value <= high:
            yield f"{label} of seed {seed} is {value:.4g}, outside {low:.4g} to {high:.4g}"
    if not band.allows_lost(len(values) - len(numbers)):
        without = ", ".join(str(seed) for seed in range(len(values)) if seed not in numbers)
        yield f"{label} has no number in seed {without}"
    if numbers:
        low, high = band.of_mean
        mean = band.mean(list(numbers.values()))
        if not low <= mean <= high:
            yield f"mean {label} is {mean:.4g}, outside {low:.4g} to {high:.4g}"


def label_of(name: str, measure: Measure) -> str:
    """What a quantity is called in a sentence."""
    return measure.label if name == measure.key else LABELS[name]


def describe(study: StudyResults, reason: str, old: Frozen, new: Frozen) -> str:
    """A line for the changelog: the reason, and old and new means of all that moved."""
    before, after = _means(old), _means(new)
    moved = [
        f"{net} {label_of(name, study.measure)} {before[net, name]} to {after[net, name]}"
        for net, name in before
        if (net, name) in after and before[net, name] != after[net, name]
    ]
    parts = [", ".join(moved) or "nothing moved"]
    for word, here, there in (("new", after, before), ("no longer there", before, after)):
        if only := here.keys() - there.keys():
            nets = len({net for net, _ in only})
            parts.append(f"{word}: {len(only)} quantities of {nets} nets")
    return f"- `{study.name}` frozen anew ({reason}): {'; '.join(parts)}."


def _means(frozen: Frozen) -> dict[tuple[str, str], str]:
    """As they are printed, by net and quantity."""
    known = {
        (net, name): [value for value in values if value is not None]
        for net, quantities in frozen.items()
        for name, values in quantities.items()
    }
    return {key: f"{sum(v) / len(v):.3g}" if v else "none" for key, v in known.items()}
