"""Runs of seeds that are being trained.

A seed is trained by one process at a time, so that nobody else writes to its run; `sync` finishes
that very run, once the result is on disk.
"""

from collections.abc import Sequence

from mlflow.tracking import MlflowClient

from skipgate.files import rounded
from skipgate.settings import History
from skipgate.specs import Spec
from skipgate.tracking.entries import begun, points_in
from skipgate.tracking.server import (
    KEY,
    Point,
    experiment_of,
    key_of,
    known_runs,
    log,
    points_of,
)


class Curves:
    """What has been written of a net's seeds."""

    def __init__(self, client: MlflowClient, spec: Spec) -> None:
        self._client = client
        self._spec = spec
        self._experiment = experiment_of(client, spec.study)
        self._runs: dict[int, str] = {}
        self._there: dict[int, set[Point]] = {}

    def add(self, seeds: Sequence[int], history: History) -> None:
        """Write what is new of a history, with one row per epoch and one column per seed."""
        for place, seed in enumerate(seeds):
            points = points_in(
                {name: [rounded(row[place]) for row in rows] for name, rows in history.items()}
            )
            if seed not in self._runs:
                self._open(seed, points)
            log(self._client, self._runs[seed], points - self._there[seed])
            self._there[seed] |= points

    def _open(self, seed: int, points: set[Point]) -> None:
        """Go on with the run of an interrupted training, or begin one.

        A run with other points is of a training that was begun again and came out otherwise.
        """
        key = key_of(self._spec, seed)
        old = known_runs(self._client, self._experiment, f"tags.`{KEY}` = '{key}'").get(key)
        there = points_of(self._client, old) if old else set()
        if old is not None and there <= points:
            self._client.update_run(old.info.run_id, "RUNNING")
        else:
            if old is not None:
                self._client.delete_run(old.info.run_id)
            name, tags, params = begun(self._spec, seed)
            there = set()
            old = self._client.create_run(self._experiment, tags={KEY: key, **tags}, run_name=name)
            log(self._client, old.info.run_id, there, params)
        self._runs[seed] = old.info.run_id
        self._there[seed] = there
