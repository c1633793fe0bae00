"""One net from spec to weights: what the `train` stage runs."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from skipgate.data.images import load
from skipgate.files import rounded
from skipgate.nets.bodies import Plan, build
from skipgate.nets.network import Network
from skipgate.nets.weights import from_list, to_list
from skipgate.specs import Spec
from skipgate.training import checkpoints
from skipgate.training.device import prepare
from skipgate.training.loop import History, begin, fit


@dataclass(frozen=True)
class Job:
    """Where a training reads and writes."""

    spec: Spec
    data: Path
    model: Path
    checkpoint: Path


def train(job: Job, watch: Callable[[History], None]) -> dict[str, Any]:
    """Train all seeds, write the weights and return the result; the checkpoint goes once the weights are safe."""
    settings = job.spec.settings
    device = prepare(settings.recipe)
    split = load(job.data, settings.data, settings.recipe.pixels, device)
    state = begin(settings, range(settings.seeds), device)
    fit(state, split, job.checkpoint, watch)
    checkpoints.save(job.model, {"digest": job.spec.digest, "tensors": to_list(state.network)})
    job.checkpoint.unlink(missing_ok=True)
    return {
        "net": job.spec.net,
        "digest": job.spec.digest,
        "seeds": list(state.seeds),
        "diverged": [_first_failure(column) for column in _by_seed(state.history["train_loss"])],
        "metrics": {name: _by_seed(rows) for name, rows in state.history.items()},
    }


def load_trained(job: Job) -> tuple[Network, torch.device]:
    """The trained network, ready to be probed."""
    settings, remedy = job.spec.settings, f"run: dvc repro train@{job.spec.net}"
    device = prepare(settings.recipe)
    network = build(settings.body, Plan(settings.T, settings.C, settings.data, settings.seeds))
    from_list(network, checkpoints.load(job.model, remedy)["tensors"])
    return network.to(device).eval(), device


def _by_seed(rows: list[list[float]]) -> list[list[float | None]]:
    """[epoch][seed] to [seed][epoch]."""
    return [rounded(list(column)) for column in zip(*rows, strict=True)]


def _first_failure(losses: list[float | None]) -> int | None:
    """The epoch (from 0) at which a seed's loss stopped being a number, if it did."""
    return losses.index(None) if None in losses else None
