"""MLflow as a view of the results.

It has one experiment per study, one parent run per net and one child run per seed.
"""

import json
import logging
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

import mlflow
from matplotlib import colormaps
from matplotlib.colors import to_hex
from mlflow.entities import Metric, Param, Run
from mlflow.tracking import MlflowClient

from skipgate import paths
from skipgate.files import sha256
from skipgate.reader import flat, plain
from skipgate.reporting.figures import draw_net
from skipgate.results.names import family, size
from skipgate.results.store import Result, StudyResults
from skipgate.specs import told

URI = "sqlite:///mlflow.db"
ARTIFACTS = Path("mlruns")
KEY = "skipgate.key"
CONTENT = "skipgate.content"
PARENT = "mlflow.parentRunId"
COLOURS = colormaps["tab20"]
BATCH = 1000  # the most metrics that MLflow takes at once


@dataclass(frozen=True)
class Entry:
    """A run to be in MLflow: the key says which, the content whether it is up to date."""

    key: str
    name: str
    tags: dict[str, str]
    params: dict[str, str]
    curves: dict[str, list[float | None]]
    seconds: float
    result: Result | None = None
    """Whose files and figure are attached."""


def connect(folder: Path) -> MlflowClient:
    """The database in this folder, made on first use."""
    logging.getLogger("alembic").setLevel(logging.WARNING)
    uri = URI.replace("mlflow.db", str(folder / "mlflow.db"))
    mlflow.set_tracking_uri(uri)
    return MlflowClient(uri)


def sync(client: MlflowClient, study: StudyResults) -> dict[str, int]:
    """Bring one study's runs up to date; runs whose content is there already are left alone."""
    experiment = _experiment(client, study.name)
    known = {run.data.tags[KEY]: run for run in _runs(client, experiment) if KEY in run.data.tags}
    counts = {"written": 0, "unchanged": 0}
    for index, (net, result) in enumerate(study.having("train", "run").items()):
        content = _content(result)
        colour = to_hex(COLOURS(index % COLOURS.N))
        parent = _upsert(client, experiment, _parent(net, result, content, colour), known, counts)
        parent = parent or known[_key(result)]
        for seed in range(result.spec.seeds):
            child = _child(result, seed, content, parent.info.run_id)
            _upsert(client, experiment, child, known, counts)
        _drop_others(client, result, known)
    return counts


def _drop_others(client: MlflowClient, result: Result, known: dict[str, Run]) -> None:
    """Remove runs of seeds that the net no longer has."""
    keys = {_key(result, seed) for seed in range(result.spec.seeds)}
    for key, run in known.items():
        if key.startswith(f"{_key(result)}/") and key not in keys:
            client.delete_run(run.info.run_id)


def runs_of(folder: Path, net: str, digest: str) -> list[str]:
    """The runs of a net as it is now, the whole net first; none where there is no database."""
    if not (folder / "mlflow.db").exists():
        return []
    client = connect(folder)
    experiments = [e.experiment_id for e in client.search_experiments()]
    runs = client.search_runs(experiments, f"tags.`{KEY}` LIKE '{net}/{digest}%'")
    lines = [
        f"{run.data.tags['mlflow.runName']}: run {run.info.run_id}, {run.info.status.lower()}"
        for run in runs
    ]
    return sorted(lines, key=lambda line: (len(line), line))


def _experiment(client: MlflowClient, study: str) -> str:
    found = client.get_experiment_by_name(study)
    if found is not None and found.lifecycle_stage == "deleted":
        # It was deleted by a click in the UI; the results are still there.
        client.restore_experiment(found.experiment_id)
    if found is not None:
        return str(found.experiment_id)
    return str(client.create_experiment(study, ARTIFACTS.absolute().as_uri()))


def _runs(client: MlflowClient, experiment: str) -> list[Run]:
    runs: list[Run] = []
    token = None
    while True:
        page = client.search_runs([experiment], max_results=BATCH, page_token=token)
        runs += page
        token = page.token
        if not token:
            return runs


def _key(result: Result, seed: int | None = None) -> str:
    return f"{result.spec.net}/{result.spec.digest}" + ("" if seed is None else f"/{seed}")


def _content(result: Result) -> str:
    """Changes when any of the net's result files does."""
    return sha256(json.dumps(result.parts, sort_keys=True).encode())[:16]


def _parent(net: str, result: Result, content: str, colour: str) -> Entry:
    """The net as a whole: means over seeds, all settings, provenance."""
    tags = {
        **_tags(result, content),
        "digest": result.spec.digest,
        "mlflow.runColor": colour,  # MLflow would choose by chance, and often the same one twice
    }
    for run in result.runs:
        where = "" if len(result.runs) == 1 else f" ({told(run['seeds'])})"
        tags |= {f"provenance.{key}{where}": str(value) for key, value in run.items()}
    return Entry(
        _key(result),
        net,
        tags,
        {k: str(v) for k, v in flat(plain(result.spec.settings)).items()},
        {metric: _means(result.curve(metric)) for metric in result.part("train")["metrics"]},
        result.seconds,
        result,
    )


def _child(result: Result, seed: int, content: str, parent: str) -> Entry:
    """One seed of a net."""
    run = next(run for run in result.runs if seed in run["seeds"])
    return Entry(
        _key(result, seed),
        f"{result.spec.net} seed {seed}",
        {**_tags(result, content), PARENT: parent},
        {"seed": str(seed)},
        {metric: result.curve(metric)[seed] for metric in result.part("train")["metrics"]},
        run["seconds"],
    )


def _tags(result: Result, content: str) -> dict[str, str]:
    """What all runs of a net are found by, and how to read their main metric."""
    measure = result.measure
    return {
        CONTENT: content,
        "family": family(result.spec),
        "size": size(result.spec),
        "measure": measure.key,
        "measure.unit": measure.unit,
        "measure.direction": "lower is better" if measure.lower_is_better else "higher is better",
    }


def _upsert(
    client: MlflowClient,
    experiment: str,
    entry: Entry,
    known: dict[str, Run],
    counts: dict[str, int],
) -> Run | None:
    """Write a run unless it is there.

    One that is outdated, or was cut off while being written, is replaced.
    """
    old = known.get(entry.key)
    if old is not None and _is_current(old, entry):
        counts["unchanged"] += 1
        return None
    if old is not None:
        client.delete_run(old.info.run_id)
    run = _write(client, experiment, entry)
    counts["written"] += 1
    return run


def _is_current(old: Run, entry: Entry) -> bool:
    """Whether a run was written to its end, with the same content and parent."""
    same_parent = old.data.tags.get(PARENT) == entry.tags.get(PARENT)
    same_content = old.data.tags[CONTENT] == entry.tags[CONTENT]
    return bool(same_parent and same_content and old.info.status == "FINISHED")


def _write(client: MlflowClient, experiment: str, entry: Entry) -> Run:
    end = int(time.time() * 1000)
    # So that the UI shows how long the training took, not the writing.
    begin = end - int(entry.seconds * 1000)
    run = client.create_run(experiment, begin, {KEY: entry.key, **entry.tags}, entry.name)
    metrics = [
        Metric(name, value, 0, epoch + 1)
        for name, curve in entry.curves.items()
        for epoch, value in enumerate(curve)
        if value is not None
    ]
    client.log_batch(run.info.run_id, params=[Param(k, v) for k, v in entry.params.items()])
    for start in range(0, len(metrics), BATCH):
        client.log_batch(run.info.run_id, metrics=metrics[start : start + BATCH])
    if entry.result is not None:
        _attach(client, run.info.run_id, entry.result)
    client.set_terminated(run.info.run_id, "FINISHED", end)
    return run


def _attach(client: MlflowClient, run_id: str, result: Result) -> None:
    """The net's result files and its figure."""
    for kind in result.parts:
        file = paths.result_file(result.spec.study, result.spec.net, kind)
        client.log_artifact(run_id, str(file), "results")
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "net.png"
        draw_net(result, picture)
        client.log_artifact(run_id, str(picture), "figures")


def _means(columns: list[list[float | None]]) -> list[float | None]:
    """Mean over the seeds that have a number, epoch by epoch."""
    rows = [[v for v in row if v is not None] for row in zip(*columns, strict=True)]
    return [sum(row) / len(row) if row else None for row in rows]
