"""A pool of processes on this machine."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from skipgate.fanout.board import Board
from skipgate.fanout.plan import Task

TRIES = 3
"""How often a task is started when its process is killed; it goes on from the last checkpoint."""


class Pool:
    """A fixed number of places, each with its own cores and GPU.

    Every task gets a process of its own, so that one may fail alone.
    """

    def __init__(self, jobs: int, board: Board) -> None:
        self._board = board
        self._jobs = jobs
        self._places: queue.SimpleQueue[int] = queue.SimpleQueue()
        for place in range(jobs):
            self._places.put(place)
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def run(self, tasks: Sequence[Task]) -> None:
        """Train all; one that fails does not stop the others. An interrupt ends every process."""
        with ThreadPoolExecutor(self._jobs) as threads:
            try:
                for done in [threads.submit(self._train, task) for task in tasks]:
                    done.result()
            except KeyboardInterrupt:
                self._stop()
                raise

    def _stop(self) -> None:
        self._stopped = True
        for process in list(self._running):
            process.send_signal(signal.SIGINT)

    def _train(self, task: Task) -> None:
        place = self._places.get()
        failure = "its process was killed again and again"
        try:
            for _ in range(TRIES):
                if self._stopped:
                    return
                code, words = self._attempt(task, place)
                if code >= 0:
                    failure = words if code else ""
                    break
        finally:
            self._places.put(place)
        self._board.finished(task.name, failure or None)

    def _attempt(self, task: Task, place: int) -> tuple[int, str]:
        """Run one process to its end.

        Gives its exit code, which is negative if a signal ended it, and its last words.
        """
        seeds = map(str, task.seeds)
        command = [sys.executable, "-m", "skipgate.fanout.worker", task.spec.net, *seeds]
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=_environment(place, self._jobs),
            )
            self._running.add(process)
            _pin(process.pid, place, self._jobs)
            try:
                self._follow(task.name, process.stdout)
                code = process.wait()
            finally:
                self._running.discard(process)
            errors.seek(0)
            words = errors.read().strip().splitlines()
        return code, words[-1].removeprefix("skipgate: ") if words else "no reason given"

    def _follow(self, name: str, lines: IO[str] | None) -> None:
        for line in lines or ():
            # The last line of a killed process may be cut.
            with contextlib.suppress(json.JSONDecodeError):
                self._board.moved(name, **json.loads(line))


def _environment(place: int, jobs: int) -> dict[str, str]:
    """One GPU per place, where the machine has several; a caller's own choice is shared out."""
    visible = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
    gpus = visible or [str(i) for i in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]
    if not gpus or jobs <= 1:
        return dict(os.environ)
    return {**os.environ, "CUDA_VISIBLE_DEVICES": gpus[place % len(gpus)]}


def _pin(pid: int, place: int, jobs: int) -> None:
    """Give each place its share of the cores, so that processes do not chase each other."""
    if jobs == 1 or not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    mine = cores[place % len(cores) :: jobs] or cores
    with contextlib.suppress(ProcessLookupError):
        os.sched_setaffinity(pid, mine)
