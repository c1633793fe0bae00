"""Results on disk, which are the truth; everything else is a view of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from skipgate import paths, specs
from skipgate.files import Problem, read_json
from skipgate.params import Params
from skipgate.reader import nearest
from skipgate.results import costs
from skipgate.results.by_seed import is_together, only, runs_of
from skipgate.settings import PROBED, Measure

Rule = Literal["last", "best", "validation"]
"""Which epoch a number is read at; the papers name none.

The last, the best on the test set, or the one that is best on held-out examples.
"""

Columns = list[list[float | None]]
"""[seed][epoch]; null where a seed had NaN."""


class Waiting(Exception):
    """A result that is needed is not there: nothing is said without it."""


@dataclass(frozen=True)
class Result:
    """The results of one net, made by the code beside them; some parts may be missing."""

    spec: specs.Spec
    parts: dict[str, dict[str, Any]]
    missing: dict[str, str] = field(default_factory=dict)
    """Why a part that the net should have is not there."""
    resampled: bool = False
    """Whether images drawn again stand in the place of seeds; `results/by_image.py` sees to it."""

    def part(self, kind: str) -> dict[str, Any]:
        """One part, or Waiting."""
        if kind not in self.parts:
            raise Waiting(self.spec.net)
        return self.parts[kind]

    def has(self, *kinds: str) -> bool:
        """Whether these parts are there."""
        return all(kind in self.parts for kind in kinds)

    @property
    def measure(self) -> Measure:
        """What the net is judged by."""
        return self.spec.measure

    @property
    def epochs(self) -> int:
        """How many the net is to have; one that somebody else has trained is tested once."""
        return 1 if self.is_given else self.spec.settings.training.epochs

    @property
    def is_given(self) -> bool:
        """Whether somebody else has trained the net: it is one draw, tested on many images."""
        return bool(self.spec.settings.start)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Where and how its seeds were trained, a record per range of seeds."""
        return runs_of(self.part("run"), list(range(self.spec.seeds)))

    @property
    def seconds(self) -> float:
        """How long its training took in all."""
        return float(sum(run["seconds"] for run in self.runs))

    @property
    def has_learnt(self) -> bool:
        """Whether the net does better, on average, than one that fails to train."""
        numbers = [value for value in self.score() if value is not None]
        return bool(numbers) and self.measure.has_learnt(sum(numbers) / len(numbers))

    def last(self, metric: str) -> list[float | None]:
        """A training metric at the last epoch, per seed; a diverged seed has none."""
        diverged = self.part("train")["diverged"]
        columns = self.part("train")["metrics"][metric]
        return [
            None if failed is not None else column[-1]
            for failed, column in zip(diverged, columns, strict=True)
        ]

    def best(self, metric: str) -> list[float | None]:
        """A training metric at its best epoch, per seed; of a loss, the smallest is."""
        scores = (self.measure.key, self.measure.validation_key)
        best = self.measure.best if metric in scores else partial(min, default=None)
        columns = self.curve(metric)
        return [best(value for value in column if value is not None) for column in columns]

    def chosen(self, metric: str) -> list[float | None]:
        """A training metric at the first epoch that is best on held-out examples, per seed."""
        key = self.measure.validation_key
        if key not in self.part("train")["metrics"]:
            raise Waiting(self.spec.net)
        held_out = zip(self.curve(key), self.best(key), strict=True)
        epochs = [None if best is None else column.index(best) for column, best in held_out]
        columns = zip(self.curve(metric), epochs, strict=True)
        return [None if epoch is None else column[epoch] for column, epoch in columns]

    def curve(self, metric: str) -> Columns:
        """A training metric by seed and epoch; null after a seed's last epoch."""
        columns: Columns = self.part("train")["metrics"][metric]
        longest = max(map(len, columns))
        return [column + [None] * (longest - len(column)) for column in columns]

    def score(self, rule: Rule = "last") -> list[float | None]:
        """The measure that the net is judged by, per seed."""
        return self.metric(self.measure.key, rule)

    def metric(self, name: str, rule: Rule = "last") -> list[float | None]:
        """One number per seed.

        A training metric at an epoch, or what a probe gives at the last one.
        """
        for measure, probe in PROBED.items():
            if measure.name == name:
                return PROBED_VALUES[name](self.part(probe))
        readings = {"last": self.last, "best": self.best, "validation": self.chosen}
        return readings[rule](name)


def _by_seed(rows: Columns, of: Callable[[Sequence[float]], float]) -> list[float | None]:
    """What the rows come to in each seed; null where a seed lacks one of them."""
    columns = zip(*rows, strict=True)
    return [
        None if None in column else of([value for value in column if value is not None])
        for column in columns
    ]


PROBED_VALUES: dict[str, Callable[[dict[str, Any]], list[float | None]]] = {
    "mean_gate": lambda gates: _by_seed(gates["T"], lambda T: sum(T) / len(T)),
    "compression": lambda found: _by_seed(found["layers"], lambda pair: pair[0] / pair[1]),
    "discarded_share": lambda found: _by_seed(
        found["strict"], lambda strict: 100 * sum(strict) / len(strict)
    ),
    "parameters_saved": lambda found: _by_seed(
        found["parameters"], lambda pair: 1 - pair[1] / pair[0]
    ),
}
"""What each measure of `PROBED` is, given the result of its probe."""


@dataclass(frozen=True)
class Change:
    """What makes a net a variation of another."""

    base: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class StudyResults:
    """The nets of a study: those with results, and why the others have none."""

    name: str
    measure: Measure
    specs: dict[str, specs.Spec]
    results: dict[str, Result]
    missing: dict[str, str]
    absent: dict[str, str] = field(default_factory=dict)
    """Why the study does without some of its nets."""
    changes: dict[str, Change] = field(default_factory=dict)
    """Of which net its variations are one, and what they change."""
    bases: dict[str, Result] = field(default_factory=dict)
    """The nets that are varied, wherever they stand."""
    unasked: dict[str, set[str]] = field(default_factory=dict)
    """By probe, the nets that are not to have it."""

    @property
    def main(self) -> "StudyResults":
        """The study without variations of other studies' nets.

        Those are set beside nets that stand elsewhere, and beside nothing else.
        """
        foreign = {net for net, change in self.changes.items() if change.base not in self.specs}
        return self._without(foreign)

    def asked(self, *probes: str) -> "StudyResults":
        """The nets that are to have these probes: nothing waits for others to be probed so."""
        return self._without({net for probe in probes for net in self.unasked.get(probe, ())})

    def _without(self, nets: set[str]) -> "StudyResults":
        return replace(
            self,
            specs={net: spec for net, spec in self.specs.items() if net not in nets},
            results={net: one for net, one in self.results.items() if net not in nets},
            missing={net: why for net, why in self.missing.items() if net not in nets},
        )

    @property
    def is_given(self) -> bool:
        """Whether somebody else has trained all its nets: each is one draw."""
        return bool(self.specs) and all(spec.settings.start for spec in self.specs.values())

    def having(self, *kinds: str) -> dict[str, Result]:
        """The nets that have these parts."""
        return {net: result for net, result in self.results.items() if result.has(*kinds)}

    def demand(self, kind: str) -> None:
        """Refuse a study in which a net lacks this part."""
        without = self.specs.keys() - self.having(kind).keys()
        if without:
            why = self.lacking()
            raise Problem("; ".join(f"{net}: {why[net]}" for net in sorted(without)))

    def lacking(self) -> dict[str, str]:
        """Why a net, or a part of it, is not there."""
        parts = {
            net: "; ".join(dict.fromkeys(result.missing.values()))
            for net, result in self.results.items()
            if result.missing
        }
        return {**self.missing, **parts}


def _cost(params: Params, net: str) -> str:
    """What running it would take, where that was estimated."""
    cost = costs.load().get(net)
    return f" ({cost.told(params.gpu)})" if cost else ""


def load(params: Params, study: str) -> StudyResults:
    """Read a study's results; a damaged file is refused, a result of other code is missing."""
    if study not in params.studies:
        raise Problem(f"params.yaml has no study '{study}'; {nearest(study, params.studies)}")
    lines = params.nets_of(study)
    every = {net: specs.load(net) for net in lines}
    absent = {net: why for net, spec in every.items() if (why := absence(spec))}
    known = {net: spec for net, spec in every.items() if net not in absent}
    results = {}
    missing = {}
    for net, spec in known.items():
        result = _result(spec)
        if result.parts:
            results[net] = result
        else:
            missing[net] = f"not run yet; run: dvc repro probe@{net}{_cost(params, net)}"
    return StudyResults(
        study,
        params.measure_of(study),
        known,
        results,
        missing,
        absent,
        {net: Change(line.base, line.choices) for net, line in lines.items() if line.base},
        bases={line.base: result_of(line.base) for line in lines.values() if line.base},
        unasked=_unasked(known),
    )


def _unasked(known: Iterable[str]) -> dict[str, set[str]]:
    asked = {net: specs.load_probing(net).digests.keys() for net in known}
    every = {probe for probes in asked.values() for probe in probes}
    return {probe: {net for net, own in asked.items() if probe not in own} for probe in every}


def result_of(net: str) -> Result:
    """The results of one net, of whatever study it is."""
    return _result(specs.load(net))


def absence(spec: specs.Spec) -> str:
    """Why a net that its study can do without is not there; nothing if it is, or was not tried."""
    part = read_part(spec, "train") or {}
    return str(part.get("absent", "")) if part.get("digest") == spec.digest else ""


def _result(spec: specs.Spec) -> Result:
    """The parts whose digests match the specs and that have all the net's seeds."""
    digests = specs.load_probing(spec.net).digests
    wanted = list(range(spec.seeds))
    parts: dict[str, dict[str, Any]] = {}
    stale = []
    lacking: dict[str, list[int]] = {}
    for kind in ("train", "run", *digests):
        content = read_part(spec, kind)
        if content is None or not _is_current(content, spec, digests.get(kind)):
            stale.append(kind)
            continue
        seeds = content.get("seeds", wanted)
        absent = [seed for seed in wanted if seed not in seeds]
        if absent and not is_together(kind):
            lacking[kind] = absent
        else:
            parts[kind] = content if kind == "run" else only(kind, content, wanted)
    return Result(spec, parts, _reasons(spec, stale, lacking))


def _reasons(spec: specs.Spec, stale: list[str], lacking: dict[str, list[int]]) -> dict[str, str]:
    remedy = f"run: dvc repro probe@{spec.net}"
    kinds = " or ".join(stale)
    found = dict.fromkeys(stale, f"no {kinds} result of the present code; {remedy}")
    for kind, seeds in lacking.items():
        found[kind] = f"{specs.told(seeds)} not run yet; {remedy}"
    return found


def _is_current(content: dict[str, Any], spec: specs.Spec, probe_digest: str | None) -> bool:
    return bool(content["digest"] == spec.digest and content.get("probe_digest") == probe_digest)


def read_part(spec: specs.Spec, kind: str) -> dict[str, Any] | None:
    """A net's result file, whatever code made it; None where there is none."""
    file = paths.result_file(spec.study, spec.net, kind)
    if not file.exists():
        return None
    stage = "train" if kind in ("train", "run") else "probe"
    remedy = f"restore it with git, or run: dvc repro {stage}@{spec.net}"
    part = read_json(file, remedy)
    if not isinstance(part, dict) or "digest" not in part:
        raise Problem(f"{file} is no result; {remedy}")
    return part
