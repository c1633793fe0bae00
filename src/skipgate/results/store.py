"""Results on disk, which are the truth; everything else is a view of them."""

from dataclasses import dataclass
from typing import Any, Literal

from skipgate import paths, specs
from skipgate.files import Problem, read_json
from skipgate.params import Params
from skipgate.reader import nearest

KINDS = ("train", "run", "gates", "lesion", "prune", "shuffle", "estimation", "paths", "speed")

Rule = Literal["last", "best"]
"""Which epoch a number is read at; the papers name none."""

Columns = list[list[float | None]]
"""[seed][epoch]; null where a seed had no number."""


@dataclass(frozen=True)
class Result:
    """All results of one net, made by the code beside them."""

    spec: specs.Spec
    parts: dict[str, dict[str, Any]]

    def last(self, metric: str) -> list[float | None]:
        """A training metric at the last epoch, by seed; a diverged seed has no number."""
        diverged = self.parts["train"]["diverged"]
        return [
            None if d is not None else column[-1]
            for d, column in zip(diverged, self.curve(metric), strict=True)
        ]

    def best(self, metric: str) -> list[float | None]:
        """A training metric at its best epoch, by seed."""
        numbers = [[v for v in column if v is not None] for column in self.curve(metric)]
        return [min(column, default=None) for column in numbers]

    def curve(self, metric: str) -> Columns:
        """A training metric by seed and epoch."""
        columns: Columns = self.parts["train"]["metrics"][metric]
        return columns

    def metric(self, name: str, rule: Rule = "last") -> list[float | None]:
        """One number a seed: a training metric at the last or the best epoch, or `mean_gate`, the mean of T over all blocks."""
        if name == "mean_gate":
            blocks = self.parts["gates"]["T"]
            columns = zip(*blocks, strict=True)
            return [None if None in column else sum(column) / len(blocks) for column in columns]
        return self.last(name) if rule == "last" else self.best(name)


@dataclass(frozen=True)
class Study:
    """The nets of a study: those with results, and why the others have none."""

    name: str
    specs: dict[str, specs.Spec]
    results: dict[str, Result]
    missing: dict[str, str]


def load(params: Params, study: str) -> Study:
    """Read a study's results; a damaged file is refused, a result of other code counts as missing."""
    if study not in params.studies:
        raise Problem(f"params.yaml has no study '{study}'; {nearest(study, params.studies)}")
    results = {}
    missing = {}
    known = {net: specs.load(net) for net in params.nets_of(study)}
    for net, spec in known.items():
        found = _parts(spec)
        stale = [kind for kind in KINDS if kind not in found]
        if not found:
            missing[net] = f"not run yet; run: dvc repro probe@{net}"
        elif stale:
            missing[net] = (
                f"no {' or '.join(stale)} result of the present code; run: dvc repro probe@{net}"
            )
        else:
            results[net] = Result(spec, found)
    return Study(study, known, results, missing)


def _parts(spec: specs.Spec) -> dict[str, dict[str, Any]]:
    """The net's result files whose digests match the spec."""
    parts = {}
    probing = specs.probe_digests(spec.net)
    for kind in KINDS:
        file = paths.result_file(spec.study, spec.net, kind)
        if not file.exists():
            continue
        stage = "train" if kind in ("train", "run") else "probe"
        remedy = f"restore it with git, or run: dvc repro {stage}@{spec.net}"
        part = read_json(file, remedy)
        if not isinstance(part, dict) or "digest" not in part:
            raise Problem(f"{file} is no result; {remedy}")
        if part["digest"] == spec.digest and part.get("probe_digest") == probing.get(kind):
            parts[kind] = part
    return parts
