"""One view over all tasks that train."""

import sys
import threading
from collections.abc import Sequence

from tqdm import tqdm

from skipgate.fanout.plan import Task


class Board:
    """A progress bar over all work, in which a longer task counts for more.

    Failures are kept for the end.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = {task.name: task for task in tasks}
        self._epochs = {task.name: task.spec.settings.training.epochs for task in tasks}
        self._shares = {
            task.name: max(task.seconds, 0.1) / self._epochs[task.name] for task in tasks
        }
        self._done = dict.fromkeys(self._shares, 0)
        self._left = set(self._shares)
        self._lock = threading.Lock()
        self.failures: dict[str, str] = {}
        total = sum(share * self._epochs[name] for name, share in self._shares.items())
        every = 0.2 if sys.stderr.isatty() else 5.0
        layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
        self._bar = tqdm(total=total, bar_format=layout, mininterval=every, file=sys.stderr)
        self._describe()

    def moved(self, name: str, epoch: int, value: float) -> None:
        """A task has finished an epoch."""
        measure = self._tasks[name].spec.measure
        told = f"{name} {epoch}/{self._epochs[name]}, {measure.label} {measure.text(value)}"
        with self._lock:
            self._bar.set_postfix_str(told, refresh=False)
            self._advance(name, epoch)

    def finished(self, name: str, failure: str | None = None) -> None:
        """A task has ended, well or not."""
        with self._lock:
            self._left.discard(name)
            self._advance(name, self._epochs[name])
            if failure is not None:
                self.failures[name] = failure
            self._describe()

    def close(self) -> None:
        """Leave the bar as it stands."""
        self._bar.close()

    def _advance(self, name: str, epoch: int) -> None:
        self._bar.update(self._shares[name] * max(0, epoch - self._done[name]))
        self._done[name] = max(epoch, self._done[name])

    def _describe(self) -> None:
        nets = {task.spec.net for task in self._tasks.values()}
        left = {self._tasks[name].spec.net for name in self._left}
        failed = f", {len(self.failures)} failed" if self.failures else ""
        done = len(nets) - len(left)
        self._bar.set_description_str(f"{done} of {len(nets)} nets trained{failed}")
