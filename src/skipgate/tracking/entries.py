"""What is to be in MLflow of a net and of its seeds."""

import ast
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import colormaps
from matplotlib.colors import to_hex
from mlflow.entities import Dataset, DatasetInput, InputTag

from skipgate import paths
from skipgate.files import rounded, sha256
from skipgate.params import Params
from skipgate.reader import flat, plain
from skipgate.results.names import family, size
from skipgate.results.store import Result
from skipgate.settings import PROBED
from skipgate.settings.task import SOURCES
from skipgate.specs import Spec, told
from skipgate.tracking.note import Told
from skipgate.tracking.server import Point, key_of

PARENT = "mlflow.parentRunId"
LEVEL = "level"
"""The tag that says whether a run is a net or one of its seeds."""
COLOURS = colormaps["tab20"]
LARGEST = 5_000_000
"""Bytes of the largest file of weights that is copied to the artifacts."""
DIRTY = "-dirty"
DIGEST = 36
"""Characters that MLflow's database has for the digest of a data set."""


@dataclass(frozen=True)
class Entry:
    """A run to be in MLflow."""

    key: str
    name: str
    tags: dict[str, str]
    params: dict[str, str]
    points: set[Point]
    seconds: float
    place: int
    """In the study's order; the UI folds seeds only where runs are sorted by their beginning."""
    dataset: DatasetInput
    result: Result | None = None
    """Whose files and figure are attached."""

    @property
    def content(self) -> str:
        """Changes when anything that is to be there does."""
        parts = self.result.parts if self.result else {}
        files = [(file.name, file.stat().st_size) for file in self.weights]
        dataset = self.dataset.to_dictionary()
        said = [self.tags, self.params, sorted(self.points), dataset, parts, files]
        return sha256(json.dumps(said, sort_keys=True).encode())[:16]

    @property
    def weights(self) -> list[Path]:
        """Files of weights that are at hand and small: as trained, and without what was shut."""
        if self.result is None:
            return []
        spec = self.result.spec
        whole = paths.model_file(spec.study, spec.net)
        files = (whole, whole.with_suffix(".small.pt"))
        return [file for file in files if file.exists() and file.stat().st_size <= LARGEST]


def begun(spec: Spec, seed: int) -> tuple[str, dict[str, str], dict[str, str]]:
    """Name, tags and parameters of a seed's run; what is known while it is being trained."""
    tags = {**_tags(spec), LEVEL: "seed"}
    return f"{spec.net} seed {seed}", tags, {"seed": str(seed)}


def points_in(curves: dict[str, list[float | None]]) -> set[Point]:
    """The points of curves, epochs counted from 1; NaN has none."""
    return {
        (name, epoch + 1, value)
        for name, curve in curves.items()
        for epoch, value in enumerate(curve)
        if value is not None
    }


def of_net(params: Params, result: Result, place: int, said: Told) -> Entry:
    """The net as a whole: means over seeds, all settings, provenance."""
    spec = result.spec
    record = result.part("train")
    tags = {
        **_tags(spec),
        **_source(result.runs[0], said.home),
        LEVEL: "net",
        "digest": spec.digest,
        "seeds": told(range(spec.seeds)),
        "mlflow.note.content": said.note(result),
        # MLflow would choose by chance, and often the same one twice.
        "mlflow.runColor": to_hex(COLOURS(place % COLOURS.N)),
    }
    for run in result.runs:
        # MLflow's names have no commas and brackets.
        where = "" if len(result.runs) == 1 else f": {told(run['seeds']).replace(',', '')}"
        tags |= {f"provenance.{key}{where}": str(value) for key, value in run.items()}
    verdict = said.verdict(spec.net)
    settings = {k: str(v) for k, v in flat(plain(spec.settings)).items()}
    return Entry(
        key_of(spec),
        spec.net,
        {**tags, "verdict": verdict} if verdict else tags,
        {**settings, "parameters": str(spec.parameters)},
        points_in({metric: _means(result.curve(metric)) for metric in record["metrics"]})
        | _in_short({name: _mean(values) for name, values in _numbers(result).items()}),
        result.seconds,
        place,
        dataset_of(params, spec),
        result,
    )


def of_seed(params: Params, result: Result, seed: int, place: int, parent: str, home: str) -> Entry:
    """One seed of a net."""
    run = next(run for run in result.runs if seed in run["seeds"])
    name, tags, settings = begun(result.spec, seed)
    curves = {name: result.curve(name)[seed] for name in result.part("train")["metrics"]}
    return Entry(
        key_of(result.spec, seed),
        name,
        {**tags, **_source(run, home), PARENT: parent},
        settings,
        points_in(curves)
        | _in_short({name: values[seed] for name, values in _numbers(result).items()}),
        run["seconds"],
        place,
        dataset_of(params, result.spec),
    )


def dataset_of(params: Params, spec: Spec) -> DatasetInput:
    """The data set as MLflow knows one: name, digest, and in words where it comes from."""
    data = spec.settings.data
    source = params.sources[spec.dataset]
    about = ast.get_docstring(ast.parse((SOURCES / f"{source.kind}.py").read_text())) or ""
    place = f"{paths.data_folder(spec.dataset)}, by dvc repro fetch@{spec.dataset}"
    profile = {"sha256": data.identity, "shape": list(data.shape), "test": data.test}
    dataset = Dataset(
        spec.dataset,
        data.identity[:DIGEST],
        "local",
        json.dumps({"uri": f"{place}: {about.splitlines()[0]}"}),
        profile=json.dumps(profile),
    )
    return DatasetInput(dataset, [InputTag("mlflow.data.context", "training")])


def _tags(spec: Spec) -> dict[str, str]:
    """What all runs of a net are found by, and how to read their main metric."""
    measure = spec.measure
    return {
        "net": spec.net,
        "family": family(spec),
        "size": size(spec),
        "measure": measure.key,
        "measure.unit": measure.unit,
        "measure.direction": "lower is better" if measure.lower_is_better else "higher is better",
        "mlflow.source.type": "LOCAL",
        "mlflow.source.name": f"python -m pipeline.train {spec.net}",
    }


def _source(run: dict[str, Any], home: str) -> dict[str, str]:
    """The commit that trained it, and where that is."""
    commit = str(run["commit"] or "")
    dirty = {"mlflow.source.git.dirty": "true"} if commit.endswith(DIRTY) else {}
    known = {"mlflow.source.git.commit": commit.removesuffix(DIRTY)} if commit else {}
    return {**known, **dirty, **({"mlflow.source.git.repoURL": home} if home else {})}


def _numbers(result: Result) -> dict[str, list[float | None]]:
    """What a net comes to, by seed: its measure at the last and best epoch, and what was probed."""
    key = result.measure.key
    found = {f"last/{key}": result.last(key), f"best/{key}": result.best(key)}
    for measure, probe in PROBED.items():
        if result.has(probe):
            found[measure.name] = result.metric(measure.name)
    return found


def _in_short(numbers: dict[str, float | None]) -> set[Point]:
    """Single numbers, which have no epoch."""
    return {(name, 0, rounded(value)) for name, value in numbers.items() if value is not None}


def _means(columns: list[list[float | None]]) -> list[float | None]:
    """Mean over the seeds that have a number, epoch by epoch."""
    return [_mean(row) for row in zip(*columns, strict=True)]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    mean: float | None = rounded(sum(known) / len(known)) if known else None
    return mean
