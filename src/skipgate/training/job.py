"""One net from spec to files: what the `train` stage, a pool of processes and a cluster all run."""

import gc
from collections.abc import Callable
from pathlib import Path

import torch

from skipgate.data.images import Split, load
from skipgate.files import Problem, json_bytes, rounded
from skipgate.nets.bodies import Plan, build
from skipgate.nets.network import Network
from skipgate.nets.weights import from_list, to_list
from skipgate.provenance import provenance
from skipgate.specs import Spec
from skipgate.training import checkpoints
from skipgate.training.device import prepare
from skipgate.training.loop import History, State, begin, fit
from skipgate.training.vault import MODEL, RESULT, RUN, Vault, key_of

Watch = Callable[[History], None]
"""Called after every epoch."""


def obtain(spec: Spec, data: Path, vault: Vault, watch: Watch) -> Path:
    """The folder of this training's files: from the vault, or trained now and kept there."""
    key = key_of(spec)
    with vault.lock(key):
        return vault.find(key) or vault.put(key, train(spec, data, vault.checkpoint(key), watch))


def train(spec: Spec, data: Path, checkpoint: Path, watch: Watch) -> dict[str, bytes]:
    """Train all seeds and return the weights, the result and the provenance as files."""
    settings = spec.settings
    device = prepare(settings.recipe)
    split = load(data, settings.data, settings.recipe.pixels, device)
    split = Split(split.train.first(settings.recipe.images), split.test)
    if len(split.train) % settings.recipe.batch == 1:
        raise Problem(
            f"a batch of {settings.recipe.batch} leaves a last one of a single image, which has no variance; choose another"
        )
    state = begin(settings, range(settings.seeds), device)
    gc.freeze()  # what is there by now stays; looking through it again and again takes a twentieth of a small net's time
    try:
        fit(state, split, checkpoint, watch)
    finally:
        gc.unfreeze()
    run = provenance(device.type, settings.recipe.threads, state.seconds)
    return {
        MODEL: checkpoints.to_bytes({"digest": spec.digest, "tensors": to_list(state.network)}),
        RESULT: json_bytes(_result(spec, state)),
        RUN: json_bytes({"net": spec.net, "digest": spec.digest, **run}),
    }


def load_trained(spec: Spec, model: Path) -> tuple[Network, torch.device]:
    """The trained network, ready to be probed."""
    settings = spec.settings
    device = prepare(settings.recipe)
    network = build(settings.body, Plan(settings.T, settings.C, settings.data, settings.seeds))
    remedy = f"run: dvc repro train@{spec.net}"
    saved = checkpoints.load(model, remedy)
    if saved["digest"] != spec.digest:
        raise Problem(f"{model} was trained by other code or settings; {remedy}")
    from_list(network, saved["tensors"])
    return network.to(device).eval(), device


def _result(spec: Spec, state: State) -> dict[str, object]:
    return {
        "net": spec.net,
        "digest": spec.digest,
        "seeds": list(state.seeds),
        "diverged": [
            _failed_at(*columns)
            for columns in zip(*map(_by_seed, state.history.values()), strict=True)
        ],
        "metrics": {name: _by_seed(rows) for name, rows in state.history.items()},
    }


def _by_seed(rows: list[list[float]]) -> list[list[float | None]]:
    """[epoch][seed] to [seed][epoch]."""
    return [rounded(list(column)) for column in zip(*rows, strict=True)]


def _failed_at(*curves: list[float | None]) -> int | None:
    """The epoch (from 0) from which on some metric of a seed was no number to the end, if there is one."""
    epochs = list(zip(*curves, strict=True))
    failed = None
    while epochs and None in epochs.pop():
        failed = len(epochs)
    return failed
