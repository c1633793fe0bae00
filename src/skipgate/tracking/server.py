"""Where runs are kept: a server that MLFLOW_TRACKING_URI names, or the project's own database."""

import logging
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
# It would be told of every run that ends; `pipeline.sync --links` says where runs are.
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")

from filelock import FileLock
from mlflow.entities import Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from skipgate.files import Problem
from skipgate.specs import Spec

VARIABLE = "MLFLOW_TRACKING_URI"
DATABASE = Path("mlflow.db")
ARTIFACTS = Path("mlruns")
KEY = "skipgate.key"
"""The tag that a run is found by."""
SECONDS = 5.0
"""How long a server may take to say that it is there."""
BATCH = 1000
"""The most points, or runs, that MLflow takes or gives at once."""

Point = tuple[str, int, float]
"""Metric, step, value."""


def address(folder: Path) -> str:
    """Of the server, or of the database of the project in this folder."""
    return os.environ.get(VARIABLE) or f"sqlite:///{(folder / DATABASE).absolute()}"


def is_server(uri: str) -> bool:
    """Whether it is spoken to over the network."""
    return uri.startswith(("http://", "https://"))


def connect(folder: Path) -> MlflowClient:
    """A client of the server, or of the database in this folder, which is made on first use."""
    for name in ("alembic", "mlflow.store.db.utils"):
        logging.getLogger(name).setLevel(logging.WARNING)
    uri = address(folder)
    if is_server(uri):
        _knock(uri)
        return MlflowClient(uri)
    # Processes that find no database would all make its tables, and all but one would fail.
    with FileLock(folder / f"{DATABASE}.lock"):
        try:
            return MlflowClient(uri)
        except MlflowException as error:
            raise Problem(f"MLflow cannot use {uri} ({error.message}); see to that") from error


def _knock(uri: str) -> None:
    """MLflow itself would try for minutes before it says that nobody is there."""
    try:
        urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=SECONDS).close()  # noqa: S310
    except urllib.error.HTTPError:
        return  # somebody is there, and may want a password first
    except (OSError, ValueError) as error:
        raise Problem(
            f"no MLflow server answers at {uri}; start it, or unset {VARIABLE} to use {DATABASE}"
        ) from error


def experiment_of(client: MlflowClient, study: str) -> str:
    """The study's experiment, made on first use."""
    found = client.get_experiment_by_name(study)
    if found is None:
        # A server knows best where its artifacts lie.
        place = None if is_server(client.tracking_uri) else ARTIFACTS.absolute().as_uri()
        try:
            return str(client.create_experiment(study, place))
        except MlflowException:  # another process was faster
            found = client.get_experiment_by_name(study)
            if found is None:
                raise
    if found.lifecycle_stage == "deleted":
        # It was deleted by a click in the UI; the results are still there.
        client.restore_experiment(found.experiment_id)
    return str(found.experiment_id)


def key_of(spec: Spec, seed: int | None = None) -> str:
    """What the run of a net, or of one of its seeds, is found by."""
    return f"{spec.net}/{spec.digest}" + ("" if seed is None else f"/{seed}")


def known_runs(client: MlflowClient, experiment: str, condition: str = "") -> dict[str, Run]:
    """Our runs of an experiment by their keys."""
    runs: list[Run] = []
    token = None
    while True:
        page = client.search_runs([experiment], condition, max_results=BATCH, page_token=token)
        runs += page
        token = page.token
        if not token:
            return {run.data.tags[KEY]: run for run in runs if KEY in run.data.tags}


def points_of(client: MlflowClient, run: Run) -> set[Point]:
    """All that was logged of a run's metrics."""
    return {
        (name, point.step, point.value)
        for name in run.data.metrics
        for point in client.get_metric_history(run.info.run_id, name)
    }


def log(
    client: MlflowClient, run_id: str, points: set[Point], params: Mapping[str, str] | None = None
) -> None:
    """Write points and parameters.

    A point has no time of its own: the database would keep one that is logged at two times twice.
    """
    metrics = [Metric(name, value, 0, step) for name, step, value in sorted(points)]
    if params:
        client.log_batch(run_id, params=[Param(name, value) for name, value in params.items()])
    for start in range(0, len(metrics), BATCH):
        client.log_batch(run_id, metrics=metrics[start : start + BATCH])


def runs_of(folder: Path, net: str, digest: str) -> list[str]:
    """The runs of a net as it is now, the whole net first; none where there is no database."""
    if not is_server(address(folder)) and not (folder / DATABASE).exists():
        return []
    client = connect(folder)
    experiments = [e.experiment_id for e in client.search_experiments()]
    runs = client.search_runs(experiments, f"tags.`{KEY}` LIKE '{net}/{digest}%'")
    lines = [
        f"{run.data.tags['mlflow.runName']}: run {run.info.run_id}, {run.info.status.lower()}"
        for run in runs
    ]
    return sorted(lines, key=lambda line: (len(line), line))
