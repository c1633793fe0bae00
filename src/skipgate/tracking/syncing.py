"""Bringing MLflow up to date with results on disk, run by run and in place."""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mlflow.entities import Run, RunTag
from mlflow.tracking import MlflowClient

from skipgate import paths
from skipgate.judging.judgement import Judgement
from skipgate.params import Params
from skipgate.reporting.figures import draw_net
from skipgate.results.store import Result, StudyResults
from skipgate.tracking.entries import PARENT, Entry, of_net, of_seed
from skipgate.tracking.note import Told, home
from skipgate.tracking.server import KEY, experiment_of, key_of, known_runs, log, points_of
from skipgate.tracking.views import save_views

CONTENT = "skipgate.content"
"""The tag that says whether a run is up to date; written last."""


@dataclass
class Book:
    """The runs of one experiment while they are brought up to date."""

    client: MlflowClient
    experiment: str
    known: dict[str, Run]
    start: int
    """When the first run in the study's order is said to have begun, in milliseconds."""
    counts: dict[str, int] = field(default_factory=lambda: {"written": 0, "unchanged": 0})


def sync(
    client: MlflowClient, params: Params, study: StudyResults, judgement: Judgement
) -> dict[str, int]:
    """Bring one study's runs up to date; runs whose content is there already are left alone."""
    results = study.having("train", "run")
    experiment = experiment_of(client, study.name)
    # The UI folds seeds under their nets only where runs are sorted by their beginning.
    start = client.get_experiment(experiment).creation_time or int(time.time() * 1000)
    book = Book(client, experiment, known_runs(client, experiment), start)
    said = Told(judgement, home())
    for index, result in enumerate(results.values()):
        parent = _upsert(book, of_net(params, result, index, said))
        for seed in range(result.spec.seeds):
            # Nets come first, so that the first page of runs has them all.
            place = len(results) * (seed + 1) + index
            _upsert(book, of_seed(params, result, seed, place, parent, said.home))
    _tidy(book, study)
    save_views(client, experiment, study)
    return book.counts


def _tidy(book: Book, study: StudyResults) -> None:
    """Remove runs of seeds that a net no longer has; end those that nobody will ever finish."""
    wanted = {key_of(spec, seed) for spec in study.specs.values() for seed in range(spec.seeds)}
    nets = {key_of(spec) for spec in study.specs.values()}
    for key, run in book.known.items():
        net, _, _ = key.rpartition("/")
        if net in nets and key not in wanted and run.info.status != "RUNNING":
            book.client.delete_run(run.info.run_id)
        elif net not in nets and key not in nets and run.info.status == "RUNNING":
            book.client.set_terminated(run.info.run_id, "KILLED")


def _upsert(book: Book, entry: Entry) -> str:
    """See to it that a run is there, whole and once; gives its id.

    What is there and right stays: a training that was logged while it ran, an outdated run, one
    that was cut off while being written. A run that says something else is replaced.
    """
    old = book.known.get(entry.key)
    if old is not None and _is_current(old, entry):
        book.counts["unchanged"] += 1
        return str(old.info.run_id)
    book.counts["written"] += 1
    if old is not None and not _agrees(book.client, old, entry):
        book.client.delete_run(old.info.run_id)
        old = None
    if old is None:
        begin = book.start - entry.place
        old = book.client.create_run(book.experiment, begin, {KEY: entry.key}, entry.name)
    _complete(book.client, old, entry)
    return str(old.info.run_id)


def _is_current(old: Run, entry: Entry) -> bool:
    return old.info.status == "FINISHED" and old.data.tags.get(CONTENT) == entry.content


def _agrees(client: MlflowClient, old: Run, entry: Entry) -> bool:
    """Whether all parameters and points that a run has, which cannot be changed, are right."""
    return old.data.params.items() <= entry.params.items() and (
        points_of(client, old) <= entry.points
    )


def _complete(client: MlflowClient, old: Run, entry: Entry) -> None:
    """Add to a run what it lacks, and end it."""
    run_id = old.info.run_id
    tags = {"mlflow.runName": entry.name, KEY: entry.key, **entry.tags}
    for name in _outdated(old, tags):
        client.delete_tag(run_id, name)
    client.log_batch(run_id, tags=[RunTag(name, value) for name, value in tags.items()])
    log(client, run_id, entry.points - points_of(client, old), entry.params)
    client.log_inputs(run_id, [entry.dataset])
    for file in entry.weights:
        client.log_artifact(run_id, str(file), "weights")
    if entry.result is not None:
        _attach(client, run_id, entry.result)
    client.set_tag(run_id, CONTENT, entry.content)
    client.set_terminated(run_id, "FINISHED", old.info.start_time + int(entry.seconds * 1000))


def _outdated(old: Run, tags: dict[str, str]) -> Iterator[str]:
    """Tags that are no longer said; MLflow's own stay."""
    for name in old.data.tags.keys() - tags.keys():
        if not name.startswith("mlflow.") or name == PARENT:
            yield name


def _attach(client: MlflowClient, run_id: str, result: Result) -> None:
    """The net's result files and its figure."""
    for kind in result.parts:
        file = paths.result_file(result.spec.study, result.spec.net, kind)
        client.log_artifact(run_id, str(file), "results")
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "net.png"
        draw_net(result, picture)
        client.log_artifact(run_id, str(picture), "figures")
