"""Tasks on a Ray cluster. Ray finds the places, watches the machines and tries again; nothing of that is done here."""

import socket
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import skipgate
from skipgate.data.sources import fetch
from skipgate.fanout.board import Board
from skipgate.fanout.plan import Task
from skipgate.files import Problem
from skipgate.progress import latest
from skipgate.specs import Spec
from skipgate.training.job import obtain
from skipgate.training.vault import Vault, key_of

RETRIES = 3
POLL = 0.5
SECONDS = 5.0
NOBODY = "no Ray cluster answers at {}; start one with: ray start --head"


class News:
    """What the nets report from their machines; an actor beside the driver."""

    def __init__(self) -> None:
        self.latest: dict[str, dict[str, float]] = {}

    def tell(self, net: str, now: dict[str, float]) -> None:
        """A net has finished an epoch."""
        self.latest[net] = now

    def read(self) -> dict[str, dict[str, float]]:
        """The last word of every net."""
        return self.latest


def work(spec: Spec, shared: tuple[str, str], news: Any) -> dict[str, bytes] | None:
    """Train on whatever machine this is; None says that the files are in the vault already.

    Where the driver's vault can be seen from here, the training is kept and resumed there;
    elsewhere a vault of this machine serves, and the files travel back.
    """
    vault_folder = Path(shared[0])
    marker = shared[1]
    here = Path(tempfile.gettempdir()) / "skipgate"
    seen = (vault_folder / marker).exists()
    vault = Vault(vault_folder if seen else here / "vault")
    entry = obtain(
        spec, _data(spec, here), vault, lambda history: news.tell.remote(spec.net, latest(history))
    )
    return (
        None
        if seen
        else {
            file.name: file.read_bytes() for file in entry.iterdir() if file.name != "manifest.json"
        }
    )


def _data(spec: Spec, here: Path) -> Path:
    """The data set, fetched once a machine."""
    data = spec.settings.data
    store = Vault(here / "data")
    folder = store.root / data.sha256
    with store.lock(data.sha256):
        if not (folder / "whole").exists():
            fetch(spec.dataset, data, folder)
            (folder / "whole").touch()
    return folder


def run(tasks: Sequence[Task], address: str | None, vault: Vault, board: Board) -> None:
    """Train all on the cluster at `address`, or the one that RAY_ADDRESS names."""
    vault.root.mkdir(parents=True, exist_ok=True)
    marker = vault.root / f".shared-{uuid.uuid4().hex}"
    if address:
        _knock(address)
    code = {
        "py_modules": [str(Path(skipgate.__file__).parent)]
    }  # every machine runs the driver's code
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
        pending[ray.remote(work).options(**options).remote(task.spec, shared, news)] = task.spec
    while pending:
        done, _ = ray.wait(list(pending), timeout=POLL)
        for net, now in ray.get(news.read.remote()).items():
            if net in {spec.net for spec in pending.values()}:
                board.moved(net, int(now["epoch"]), now["error"])
        for reference in done:
            spec = pending.pop(reference)
            board.finished(spec.net, _collect(reference, spec, vault))


def _collect(reference: Any, spec: Spec, vault: Vault) -> str | None:
    """Keep what a task brought; otherwise say why it brought nothing."""
    try:
        files = ray.get(reference)
    except RayTaskError as error:
        return str(error.cause) if error.cause else "it failed on its machine"
    except RayError as error:
        return f"its machine was lost {RETRIES + 1} times ({type(error).__name__})"
    if files is not None:
        with vault.lock(key_of(spec)):
            vault.put(key_of(spec), files)
    return None
