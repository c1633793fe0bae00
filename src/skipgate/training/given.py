"""A net that somebody else has trained: its weights are obtained, and it is tested."""

import time
from collections.abc import Mapping
from pathlib import Path

import torch

from skipgate.data.weights import load_into
from skipgate.evaluation import evaluate
from skipgate.files import json_bytes, rounded
from skipgate.nets.network import Network
from skipgate.nets.weights import to_list
from skipgate.provenance import provenance
from skipgate.settings import Weights
from skipgate.specs import Spec
from skipgate.tasks import task_of
from skipgate.training import checkpoints
from skipgate.training.device import prepare
from skipgate.training.loop import build_for
from skipgate.training.vault import MODEL, RESULT, RUN, Vault, key_of

SEED = 0
"""One network is one draw."""


def obtain(spec: Spec, name: str, weights: Weights, data: Path, vault: Vault) -> None:
    """See to it that the vault has the net."""
    key = key_of(spec, SEED)
    with vault.lock(key):
        if vault.find(key) is None:
            vault.put(key, take(spec, name, weights, data))


def take(spec: Spec, name: str, weights: Weights, data: Path) -> dict[str, bytes]:
    """The files of a training: weights, one test as its only epoch, and where they come from."""
    device = prepare(spec.settings.recipe)
    start = time.monotonic()
    network = build_for(spec.settings, 1)
    found = load_into(network, name, weights)
    metrics = _tested(spec, network.to(device), data, device)
    recipe = spec.settings.recipe
    run = {
        "seeds": [SEED],
        "stack": 1,
        "weights": found,
        **provenance(device.type, recipe.threads, time.monotonic() - start),
    }
    name_of = {"net": spec.net, "digest": spec.digest}
    result = {**name_of, "seeds": [SEED], "diverged": [None], "metrics": metrics}
    return {
        MODEL: checkpoints.to_bytes({"tensors": [t[0].clone() for t in to_list(network)]}),
        RESULT: json_bytes(result),
        RUN: json_bytes({**name_of, "runs": [run]}),
    }


def _tested(
    spec: Spec, network: Network, data: Path, device: torch.device
) -> Mapping[str, list[list[float | None]]]:
    task = task_of(spec.settings.data)
    test = task.load(data, spec.settings.recipe, device).test
    tally = evaluate(network, task, test, spec.settings.recipe.evaluation_batch)
    values = {spec.measure.key: tally.values(), "test_loss": tally.mean_loss()}
    return {name: [rounded(value.tolist())] for name, value in values.items()}
