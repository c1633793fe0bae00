"""The curve of a training that lasts, in MLflow while it runs.

A thread of its own writes, so that a server which is slow, or not there, neither stops nor slows
the training: whatever does not arrive is added by `pipeline.sync` afterwards.
"""

import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from skipgate.files import Problem
from skipgate.settings import History
from skipgate.specs import Spec

VARIABLE = "SKIPGATE_LIVE_SECONDS"
FIRST = "60"
"""Seconds that a training lasts before it is shown; short ones do not wait for MLflow's import."""
PAUSE = 5.0
"""Seconds between two writes."""
PATIENCE = 5.0
"""Seconds that a training which is over waits for the last write."""


class Live:
    """Shows a net's seeds in MLflow from their first minute on."""

    def __init__(self, spec: Spec, folder: Path = Path()) -> None:
        self._spec = spec
        self._folder = folder
        self._due = time.monotonic() + seconds()
        self._news: dict[tuple[int, ...], History] = {}
        self._lock = threading.Lock()
        self._waiting = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def show(self, seeds: Sequence[int], history: History) -> None:
        """Take note of an epoch; this waits for nothing."""
        if time.monotonic() < self._due:
            return
        with self._lock:
            self._news[tuple(seeds)] = {name: list(rows) for name, rows in history.items()}
        self._waiting.set()
        if self._thread is None:
            # One that hangs must not keep the process from ending.
            self._thread = threading.Thread(target=self._write, daemon=True)
            self._thread.start()

    def __enter__(self) -> "Live":
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._waiting.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def _write(self) -> None:
        # MLflow would try again for minutes.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
        try:
            from skipgate.tracking import Curves, connect  # brings MLflow, which takes seconds

            curves = Curves(connect(self._folder), self._spec)
            while self._waiting.wait():
                self._waiting.clear()
                last = self._over.is_set()
                for seeds, history in self._taken().items():
                    curves.add(seeds, history)
                if last:
                    return
                self._over.wait(PAUSE)
        except Exception as error:  # whatever it is, it is no trouble of the training's
            _say(self._spec.net, error)

    def _taken(self) -> dict[tuple[int, ...], History]:
        with self._lock:
            news = self._news
            self._news = {}
        return news


def seconds() -> float:
    """How long a training lasts before it is shown; `inf` means never."""
    word = os.environ.get(VARIABLE, FIRST)
    try:
        return float(word)
    except ValueError as error:
        raise Problem(f"{VARIABLE} is '{word}'; set it to a number of seconds") from error


def _say(net: str, error: Exception) -> None:
    why = str(error).strip().splitlines()
    reason = why[0] if why else type(error).__name__
    sys.stderr.write(f"\nskipgate: {net} trains on without MLflow: {reason}\n")
