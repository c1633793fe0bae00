"""Tasks on a Ray cluster.

Ray finds the places, watches the machines and tries again; nothing of that is done here.
"""

import socket
import tempfile
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import skipgate
from skipgate.data.fetching import fetch
from skipgate.fanout.board import Board
from skipgate.fanout.plan import Task
from skipgate.files import Problem
from skipgate.live import Live
from skipgate.progress import latest
from skipgate.settings import History
from skipgate.training.job import obtain
from skipgate.training.vault import MANIFEST, Vault, key_of

RETRIES = 3
POLL = 0.5
SECONDS = 5.0
NOBODY = "no Ray cluster answers at {}; start one with: ray start --head"


Files = dict[int, dict[str, bytes]]
"""What the training of each seed left."""

Told = tuple[Sequence[int], History]
"""The seeds that a task trains together just now, and their history."""


class News:
    """What tasks report from their machines; an actor beside the driver."""

    def __init__(self) -> None:
        self.latest: dict[str, Told] = {}

    def tell(self, name: str, now: Told) -> None:
        """A task has finished an epoch."""
        self.latest[name] = now

    def read(self) -> dict[str, Told]:
        """The last word of every task that has said something since this was asked last."""
        latest = self.latest
        self.latest = {}
        return latest


def work(task: Task, shared: tuple[str, str], news: Any) -> Files | None:
    """Train on whatever machine this is; None says that the files are in the vault already.

    Where the driver's vault can be seen from here, seeds are kept and resumed there; elsewhere a
    vault of this machine serves, and the files travel back.
    """
    vault_folder = Path(shared[0])
    here = Path(tempfile.gettempdir()) / "skipgate"
    seen = (vault_folder / shared[1]).exists()
    vault = Vault(vault_folder if seen else here / "vault")

    def tell(seeds: Sequence[int], history: History) -> None:
        news.tell.remote(task.name, (seeds, history))

    obtain(task.spec, task.seeds, _data(task, here), vault, tell)
    return None if seen else {seed: _files(vault, task, seed) for seed in task.seeds}


def _files(vault: Vault, task: Task, seed: int) -> dict[str, bytes]:
    entry = vault.root / key_of(task.spec, seed)
    return {file.name: file.read_bytes() for file in entry.iterdir() if file.name != MANIFEST}


def _data(task: Task, here: Path) -> Path:
    """The data set, fetched once per machine."""
    content = task.spec.settings.data
    store = Vault(here / "data")
    folder = store.root / content.identity
    with store.lock(content.identity):
        if not (folder / "whole").exists():
            fetch(task.spec.dataset, content, task.source, folder)
            (folder / "whole").touch()
    return folder


def run(tasks: Sequence[Task], address: str | None, vault: Vault, board: Board) -> None:
    """Train all on the cluster at `address`, or the one that RAY_ADDRESS names."""
    vault.root.mkdir(parents=True, exist_ok=True)
    marker = vault.root / f".shared-{uuid.uuid4().hex}"
    if address:
        _knock(address)
    # Every machine runs the driver's code.
    code = {"py_modules": [str(Path(skipgate.__file__).parent)]}
    try:
        ray.init(
            address=address or "auto",
            runtime_env=code,
            log_to_driver=False,
            configure_logging=False,
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise Problem(NOBODY.format(address or "RAY_ADDRESS")) from error
    try:
        marker.touch()
        _drive(tasks, (str(vault.root.absolute()), marker.name), vault, board)
    finally:
        marker.unlink(missing_ok=True)
        ray.shutdown()


def _knock(address: str) -> None:
    """Ray itself waits for minutes before it says that nobody is there."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS).close()
    except (OSError, ValueError) as error:
        raise Problem(NOBODY.format(address)) from error


def _drive(tasks: Sequence[Task], shared: tuple[str, str], vault: Vault, board: Board) -> None:
    beside = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    news: Any = ray.remote(News).options(num_cpus=0, scheduling_strategy=beside).remote()
    gpus = min(1.0, ray.cluster_resources().get("GPU", 0.0))
    pending = {}
    for task in tasks:
        options = {
            "num_cpus": task.spec.settings.recipe.threads,
            "num_gpus": gpus,
            "max_retries": RETRIES,
        }
        pending[ray.remote(work).options(**options).remote(task, shared, news)] = task
    with ExitStack() as shown:
        # The driver writes for all: it has the database, or reaches the server.
        lives = {task.name: shown.enter_context(Live(task.spec)) for task in tasks}
        while pending:
            done, _ = ray.wait(list(pending), timeout=POLL)
            waiting = {task.name: task for task in pending.values()}
            for name, (seeds, history) in ray.get(news.read.remote()).items():
                if name in waiting:
                    now = latest(waiting[name].spec.measure.key, history)
                    board.moved(name, int(now["epoch"]), now["value"])
                lives[name].show(seeds, history)
            for reference in done:
                task = pending.pop(reference)
                board.finished(task.name, _collect(reference, task, vault))


def _collect(reference: Any, task: Task, vault: Vault) -> str | None:
    """Keep what a task brought; otherwise say why it brought nothing."""
    try:
        files = ray.get(reference)
    except RayTaskError as error:
        return str(error.cause) if error.cause else "it failed on its machine"
    except RayError as error:
        return f"its machine was lost {RETRIES + 1} times ({type(error).__name__})"
    for seed, content in (files or {}).items():
        vault.put(key_of(task.spec, seed), content)
    return None
