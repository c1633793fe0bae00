"""Some seeds of a net from spec to files.

This is what the `train` stage, processes and clusters all run.
"""

import gc
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch

from skipgate.data.fetching import found_hash
from skipgate.files import Problem, json_bytes, rounded
from skipgate.nets.dense import compiled
from skipgate.nets.network import Network
from skipgate.nets.weights import from_list, to_list
from skipgate.provenance import provenance
from skipgate.results.by_seed import split as split_by_seed
from skipgate.results.costs import refusal
from skipgate.settings import History
from skipgate.specs import Spec, pieces
from skipgate.tasks import task_of
from skipgate.training import checkpoints
from skipgate.training.device import lacks_gpu, prepare
from skipgate.training.loop import State, begin, build_for, fit
from skipgate.training.nadam import Nadam
from skipgate.training.vault import MODEL, RESULT, RUN, Vault, key_of, piece_of

Watch = Callable[[Sequence[int], History], None]
"""Called after every epoch, with the seeds that are trained together."""


def obtain(spec: Spec, seeds: Sequence[int], data: Path, vault: Vault, watch: Watch) -> None:
    """See to it that the vault has these seeds: train those that it lacks."""
    for wanted in pieces(seeds, spec.stack):
        piece = piece_of(spec, wanted)
        checkpoint = vault.checkpoint(piece)
        with vault.lock(piece):
            while missing := vault.missing(spec, wanted):
                chosen = _begun(checkpoint, missing) or missing
                for seed, files in train(spec, chosen, data, checkpoint, watch).items():
                    vault.put(key_of(spec, seed), files)
            checkpoint.unlink(missing_ok=True)


def _begun(checkpoint: Path, missing: Sequence[int]) -> list[int] | None:
    """The seeds of an unfinished training, if it has any of those that are missing.

    It is finished as it was begun: seeds in another stack would come out in other last bits.
    """
    saved = checkpoints.resume(checkpoint)
    if saved is None or not set(saved["seeds"]) & set(missing):
        checkpoint.unlink(missing_ok=True)
        return None
    return list(saved["seeds"])


def train(
    spec: Spec, seeds: Sequence[int], data: Path, checkpoint: Path, watch: Watch
) -> dict[int, dict[str, bytes]]:
    """Train seeds side by side; returns weights, result and provenance of each as files."""
    settings = spec.settings
    if lacks_gpu(settings.recipe):
        raise Problem(refusal(spec.net))
    device = prepare(settings.recipe)
    recipe = settings.training
    split = task_of(settings.data).load(data, recipe, device).used_by(recipe)
    if len(split.train) % recipe.batch == 1:
        raise Problem(
            f"a batch of {recipe.batch} leaves a last one of a single example, which has "
            "no variance; choose another"
        )
    state = begin(settings, seeds, device)
    # What is there by now stays; looking through it again and again takes a twentieth of a small
    # net's time.
    gc.freeze()
    try:
        fit(state, split, checkpoint, lambda history: watch(seeds, history))
    finally:
        gc.unfreeze()
    return _files(spec, state, device, data)


def _files(
    spec: Spec, state: State, device: torch.device, data: Path
) -> dict[int, dict[str, bytes]]:
    run = {
        "seeds": list(state.seeds),
        "stack": spec.stack,
        "compiled": compiled(state.network.chain) or isinstance(state.optimiser, Nadam),
        **found_hash(data),
        **provenance(device.type, spec.settings.recipe.threads, state.seconds),
    }
    tensors = to_list(state.network)
    results = split_by_seed("train", _result(spec, state))
    return {
        seed: {
            MODEL: checkpoints.to_bytes({"tensors": [t[place].clone() for t in tensors]}),
            RESULT: json_bytes(results[seed]),
            RUN: json_bytes({"net": spec.net, "digest": spec.digest, "runs": [run]}),
        }
        for place, seed in enumerate(state.seeds)
    }


def network_of(spec: Spec, weights: Mapping[int, bytes], seeds: Sequence[int]) -> Network:
    """The trained network of these seeds, ready to be probed."""
    device = prepare(spec.settings.recipe)
    network = build_for(spec.settings, len(seeds))
    remedy = f"run: make again NET={spec.net}"
    loaded = [checkpoints.load(io.BytesIO(weights[seed]), remedy)["tensors"] for seed in seeds]
    columns = zip(*loaded, strict=True)
    from_list(network, [torch.stack(column) for column in columns])
    return network.to(device).eval()


def _result(spec: Spec, state: State) -> dict[str, object]:
    columns = {name: _by_seed(rows) for name, rows in state.history.items()}
    return {
        "net": spec.net,
        "digest": spec.digest,
        "seeds": list(state.seeds),
        "diverged": [_failed_at(*curves) for curves in zip(*columns.values(), strict=True)],
        "metrics": columns,
    }


def _by_seed(rows: list[list[float]]) -> list[list[float | None]]:
    """[epoch][seed] to [seed][epoch]."""
    return [rounded(list(column)) for column in zip(*rows, strict=True)]


def _failed_at(*curves: list[float | None]) -> int | None:
    """The epoch (from 0) from which some metric of a seed stayed NaN to the end, if any."""
    epochs = list(zip(*curves, strict=True))
    failed = None
    while epochs and None in epochs.pop():
        failed = len(epochs)
    return failed
