"""One view over all nets that train."""

import sys
import threading
from collections.abc import Sequence

from tqdm import tqdm

from skipgate.fanout.plan import Task


class Board:
    """A bar over the work of all nets, in which a longer net counts for more; failures are kept for the end."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._shares = {
            task.spec.net: max(task.seconds, 0.1) / task.spec.settings.recipe.epochs
            for task in tasks
        }
        self._epochs = {task.spec.net: task.spec.settings.recipe.epochs for task in tasks}
        self._done = dict.fromkeys(self._shares, 0)
        self._left = set(self._shares)
        self._lock = threading.Lock()
        self.failures: dict[str, str] = {}
        total = sum(share * self._epochs[net] for net, share in self._shares.items())
        every = 0.2 if sys.stderr.isatty() else 5.0
        layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
        self._bar = tqdm(total=total, bar_format=layout, mininterval=every, file=sys.stderr)
        self._describe()

    def moved(self, net: str, epoch: int, error: float) -> None:
        """A net has finished an epoch."""
        with self._lock:
            self._bar.set_postfix_str(
                f"{net} {epoch}/{self._epochs[net]}, test error {error:.2f}%", refresh=False
            )
            self._bar.update(self._shares[net] * (epoch - self._done[net]))
            self._done[net] = epoch

    def finished(self, net: str, failure: str | None = None) -> None:
        """A net has ended, well or not."""
        with self._lock:
            self._left.discard(net)
            self._bar.update(self._shares[net] * (self._epochs[net] - self._done[net]))
            self._done[net] = self._epochs[net]
            if failure is not None:
                self.failures[net] = failure
            self._describe()

    def close(self) -> None:
        """Leave the bar as it stands."""
        self._bar.close()

    def _describe(self) -> None:
        count = len(self._shares)
        failed = f", {len(self.failures)} failed" if self.failures else ""
        self._bar.set_description_str(f"{count - len(self._left)} of {count} nets trained{failed}")
