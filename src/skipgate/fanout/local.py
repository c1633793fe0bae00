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
"""How often a net is started when its process is killed; each goes on from the last checkpoint."""


class Pool:
    """So many places, each with its own cores and GPU; every net gets a process of its own, so that one may die alone."""

    def __init__(self, jobs: int, board: Board) -> None:
        self._board = board
        self._jobs = jobs
        self._places: queue.SimpleQueue[int] = queue.SimpleQueue()
        for place in range(jobs):
            self._places.put(place)
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def run(self, tasks: Sequence[Task]) -> None:
        """Train all; a net that fails does not stop the others. An interrupt ends every process first."""
        with ThreadPoolExecutor(self._jobs) as threads:
            try:
                for done in [threads.submit(self._train, task.spec.net) for task in tasks]:
                    done.result()
            except KeyboardInterrupt:
                self._stop()
                raise

    def _stop(self) -> None:
        self._stopped = True
        for process in list(self._running):
            process.send_signal(signal.SIGINT)

    def _train(self, net: str) -> None:
        place = self._places.get()
        failure = "its process was killed again and again"
        try:
            for _ in range(TRIES):
                if self._stopped:
                    return
                code, words = self._attempt(net, place)
                if code >= 0:
                    failure = words if code else ""
                    break
        finally:
            self._places.put(place)
        self._board.finished(net, failure or None)

    def _attempt(self, net: str, place: int) -> tuple[int, str]:
        """Run one process to its end: its exit code (negative if a signal ended it) and its last words."""
        command = [sys.executable, "-m", "pipeline.train", net, "--keep"]
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
                self._follow(net, process.stdout)
                code = process.wait()
            finally:
                self._running.discard(process)
            errors.seek(0)
            words = errors.read().strip().splitlines()
        return code, words[-1].removeprefix("skipgate: ") if words else "no reason given"

    def _follow(self, net: str, lines: IO[str] | None) -> None:
        for line in lines or ():
            with contextlib.suppress(
                json.JSONDecodeError
            ):  # the last line of a killed process may be cut
                self._board.moved(net, **json.loads(line))


def _environment(place: int, jobs: int) -> dict[str, str]:
    """One GPU a place, where the machine has several; a caller's own choice of GPUs is shared out."""
    visible = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
    gpus = visible or [str(i) for i in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]
    return (
        {**os.environ, "CUDA_VISIBLE_DEVICES": gpus[place % len(gpus)]}
        if gpus and jobs > 1
        else dict(os.environ)
    )


def _pin(pid: int, place: int, jobs: int) -> None:
    """Give each place its share of the cores, so that processes do not chase each other from cache to cache."""
    if jobs == 1 or not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    mine = cores[place % len(cores) :: jobs] or cores
    with contextlib.suppress(ProcessLookupError):
        os.sched_setaffinity(pid, mine)
