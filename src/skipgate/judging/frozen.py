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
from skipgate.files import Problem, read_json, rounded
from skipgate.judging.quantities import LABELS, SCORES, PerSeed, watched
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Measure

LEVEL = 0.01
"""Chance that an unchanged study alarms at all: half of it for means, half for single seeds."""
EXACT = 1e-4
"""What is rounded away: a quantity that never varied may not vary by more, of its size or of 1."""

LEEWAY = 0.05
"""By how much a score of a net that somebody else has trained may move: one image of 2,000."""
TOGETHER = "all nets"
"""The name under which what all nets do together is watched."""

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
        """The frozen mean, in the quantity's own unit; geometric where logarithms are compared."""
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
        """The fresh mean, taken as that of the frozen seeds is."""
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
        if count == 1:
            far = max(self.resolution, EXACT * max(1.0, abs(self.centre)))
            return float(centre - far), float(centre + far)
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
            net: {"digest": result.spec.digest, "quantities": rounded(watched(result))}
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
    """The band of every frozen quantity, by net; of these nets if some are named.

    Over all nets, the scores and losses of those that learnt are watched together as well: what
    moves them all by a little is not seen in any.
    """
    frozen = load(study)
    kept = {
        net: {name: v for name, v in values.items() if _is_enough(study, net, v)}
        for net, values in {**frozen, TOGETHER: _together(study, frozen, frozen)}.items()
    }
    # Also when a few nets are asked for: the band of a quantity is the same in every check.
    tests = sum(map(len, kept.values()))
    return {
        net: {name: _band(study, net, name, v, tests) for name, v in values.items()}
        for net, values in kept.items()
        if values and (not nets or net in nets)
    }


def _is_enough(study: StudyResults, net: str, values: PerSeed) -> bool:
    """Whether there is a band: from two numbers on, or from the one of a net that is not drawn."""
    known = sum(value is not None for value in values)
    return known > 1 or (known == 1 and _is_given(study, net))


def _is_given(study: StudyResults, net: str) -> bool:
    return net in study.specs and bool(study.specs[net].settings.start)


def _together(study: StudyResults, frozen: Frozen, numbers: Frozen) -> dict[str, PerSeed]:
    """By seed, geometric means over the nets of which every frozen seed has learnt.

    Nets with fewer seeds than the others are left out.
    """
    key = study.measure.key
    if study.measure.bounds[0] < 0 or not frozen:
        return {}
    most = max(len(values[key]) for values in frozen.values())
    nets = [
        net
        for net, values in frozen.items()
        if len(values[key]) == most
        and "train_loss" in values
        and all(_learnt(study.measure, v) for v in values[key])
    ]
    rows = {name: [numbers[net][name] for net in nets] for name in (key, "train_loss")}
    return {
        # A net may have been given one more seed than the others.
        name: [_geometric(column) for column in zip(*values, strict=False)]
        for name, values in rows.items()
    }


def _learnt(measure: Measure, value: float | None) -> bool:
    return value is not None and measure.has_learnt(value)


def _geometric(values: Sequence[float | None]) -> float | None:
    known = [max(value, EXACT) for value in values if value is not None]
    return math.exp(sum(map(math.log, known)) / len(known)) if len(known) == len(values) else None


def _band(study: StudyResults, net: str, name: str, values: PerSeed, tests: int) -> Band:
    spec = study.specs.get(net)
    examples = spec.settings.data.test if spec else 1
    is_score = name in (study.measure.key, *SCORES)
    varies = len(set(values)) > 1
    steps = {study.measure.key: 100 / examples if spec and study.measure.is_known else EXACT}
    steps |= dict.fromkeys(SCORES, steps[study.measure.key])
    step = {**steps, "closed": 1.0 if varies else EXACT}.get(name, EXACT)
    positive = name == "train_loss" or (is_score and study.measure.bounds[0] >= 0)
    if _is_given(study, net):
        # Nothing is drawn: another machine rounds otherwise, and may see an image or two so too.
        leeway = max(step, LEEWAY) if is_score else step
        return Band(values, leeway, logarithmic=False, seeds=1, tests=tests)
    highest = study.measure.bounds[1] if is_score else math.inf
    seeds = max((s.seeds for s in ([spec] if spec else study.specs.values())), default=1)
    return Band(values, step, positive, seeds, tests, highest)


def compare(study: StudyResults, nets: Sequence[str] = ()) -> list[Alarm]:
    """All that is not as it was frozen, by name; nothing if all holds."""
    found: list[Alarm] = []
    fresh = {net: watched(result) for net, result in study.having("train").items()}
    of_all = bands(study, nets)
    for net, quantities in of_all.items():
        if net in fresh:
            found += _of_net(study, net, quantities)
        elif net != TOGETHER:
            reason = study.lacking().get(net, "the net is not in params.yaml any more")
            found.append(Alarm(net, "", f"has no result: {reason}"))
    if TOGETHER in of_all and fresh.keys() >= load(study).keys():
        together = _together(study, load(study), fresh)
        for name, band in of_all[TOGETHER].items():
            label = label_of(name, study.measure)
            outside = _outside(label, together[name], band)
            found += [Alarm(TOGETHER, name, says) for says in outside]
    return found


def _of_net(study: StudyResults, net: str, quantities: dict[str, Band]) -> Iterator[Alarm]:
    result = study.results[net]
    fresh = watched(result)
    score = result.measure.key
    yield from (Alarm(net, score, says) for says in _training(result, quantities[score]))
    for name, band in quantities.items():
        label = label_of(name, result.measure)
        if name not in fresh:
            why = study.lacking().get(net, f"run: dvc repro probe@{net}")
            yield Alarm(net, name, f"{label} was not measured: {why}")
            continue
        values = fresh[name]
        yield from (Alarm(net, name, says) for says in _outside(label, values, band))
        if name == "moved":
            still = [seed for seed, value in enumerate(values) if value == 0]
            yield from (
                Alarm(net, name, f"k of seed {s} has not moved from its start") for s in still
            )


def _training(result: Result, band: Band) -> Iterator[str]:
    """Seeds that diverged, stopped early, did not learn or equal each other, unlike frozen ones."""
    train = result.part("train")
    failed = {s: epoch for s, epoch in enumerate(train["diverged"]) if epoch is not None}
    if not band.allows_lost(len(failed)):
        yield from (f"seed {seed} diverged in epoch {epoch}" for seed, epoch in failed.items())
    columns = train["metrics"][result.measure.key]
    whole = result.epochs
    for seed, column in enumerate(columns):
        if seed not in failed and len(column) < whole:
            yield f"seed {seed} stopped after {len(column)} of {whole} epochs"
        if column in columns[:seed]:
            yield f"seed {seed} is the same as seed {columns.index(column)}"
    if all(_learnt(result.measure, value) for value in band.values):
        for seed, value in enumerate(result.score()):
            if value is not None and not result.measure.has_learnt(value):
                yield f"seed {seed} has not learnt ({result.measure.text(value)})"


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


def moved(study: StudyResults) -> Iterator[Alarm]:
    """Committed numbers of nets that are not the ones that were frozen, digit by digit."""
    for net, quantities in load(study).items():
        if net in study.having("train"):
            fresh = watched(study.results[net])
            for name, values in quantities.items():
                if rounded(fresh.get(name)) != values:
                    says = f"{label_of(name, study.measure)} is not what was frozen"
                    yield Alarm(net, name, says)


def other_code(study: StudyResults) -> list[str]:
    """Nets whose frozen numbers are of a behaviour that is not the present one."""
    file = paths.frozen_file(study.name)
    known = read_json(file, "restore it with git")["nets"] if file.exists() else {}
    return [
        net
        for net, entry in known.items()
        if net in study.specs and entry["digest"] != study.specs[net].digest
    ]


def label_of(name: str, measure: Measure) -> str:
    """What a quantity is called in a sentence."""
    return measure.label if name == measure.key else LABELS[name]


def describe(study: StudyResults, reason: str, old: Frozen, new: Frozen) -> str:
    """A line for the changelog: the reason, and old and new means of all that moved."""
    before = _means(old)
    after = _means(new)
    moved = [
        f"{net} {label_of(name, study.measure)} {before[net, name]} to {after[net, name]}"
        for net, name in before
        if (net, name) in after and before[net, name] != after[net, name]
    ]
    parts = [", ".join(moved) or "nothing moved"]
    for word, here, there in (("new", after, before), ("no longer there", before, after)):
        if only := here.keys() - there.keys():
            nets = len({net for net, _ in only})
            parts.append(f"{word}: {len(only)} numbers, on {nets} of its nets")
    return f"- `{study.name}` frozen anew ({reason}): {'; '.join(parts)}."


def _means(frozen: Frozen) -> dict[tuple[str, str], str]:
    """As they are printed, by net and quantity."""
    known = {
        (net, name): [value for value in values if value is not None]
        for net, quantities in frozen.items()
        for name, values in quantities.items()
    }
    return {key: f"{sum(v) / len(v):.3g}" if v else "none" for key, v in known.items()}
