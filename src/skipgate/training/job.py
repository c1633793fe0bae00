"""Some seeds of a net from spec to files.

This is what the `train` stage, processes and clusters all run.
"""

import gc
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import torch

from skipgate.data.fetching import found_hash
from skipgate.files import Problem, json_bytes, rounded
from skipgate.group import ALONE, Group
from skipgate.nets.dense import compiled
from skipgate.nets.network import Network, StatefulHead
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


def obtain(
    spec: Spec,
    seeds: Sequence[int],
    data: Path,
    vault: Vault,
    watch: Watch,
    group: Group = ALONE,
) -> None:
    """See to it that the vault has these seeds: train those that it lacks.

    Of several processes only the leader looks into the vault and writes there.
    """
    for wanted in pieces(seeds, spec.stack):
        piece = piece_of(spec, wanted)
        checkpoint = vault.checkpoint(piece)
        with vault.lock(piece) if group.leads else nullcontext():
            while chosen := group.decided(partial(_chosen, spec, wanted, vault, checkpoint)):
                for seed, files in train(spec, chosen, data, checkpoint, watch, group).items():
                    vault.put(key_of(spec, seed), files)
            if group.leads:
                checkpoint.unlink(missing_ok=True)


def _chosen(spec: Spec, wanted: Sequence[int], vault: Vault, checkpoint: Path) -> list[int]:
    """The seeds to train next, of those that are wanted; none if the vault has all."""
    missing = vault.missing(spec, wanted)
    return (_begun(checkpoint, missing) or missing) if missing else []


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
    spec: Spec,
    seeds: Sequence[int],
    data: Path,
    checkpoint: Path,
    watch: Watch,
    group: Group = ALONE,
) -> dict[int, dict[str, bytes]]:
    """Train seeds side by side; returns weights, result and provenance of each as files.

    Of several processes the leader has the files.
    """
    settings = spec.settings
    if lacks_gpu(settings.recipe):
        raise Problem(refusal(spec.net))
    device = prepare(settings.recipe, group)
    recipe = settings.training
    split = task_of(settings.data).load(data, recipe, device).used_by(recipe)
    _check_batches(len(split.train), recipe.batch, group)
    state = begin(settings, seeds, device)
    state.group = group
    _check_alike(spec, state, device)
    # What is there by now stays; looking through it again and again takes a twentieth of a small
    # net's time.
    gc.freeze()
    try:
        fit(state, split, checkpoint, lambda history: watch(seeds, history))
    finally:
        gc.unfreeze()
    return _files(spec, state, device, data) if group.leads else {}


def _check_batches(count: int, batch: int, group: Group) -> None:
    """Refuse batches, and shares of them, that have no variance."""
    if count % batch == 1:
        raise Problem(
            f"a batch of {batch} leaves a last one of a single example, which has "
            "no variance; choose another"
        )
    processes = group.share.count
    if processes > batch:
        raise Problem(f"{processes} processes cannot share batches of {batch}; start fewer")
    smallest = (count % batch or batch) // processes
    if not group.alone and smallest < 2:
        raise Problem(
            f"{processes} processes leave one of them {smallest} example(s) of a batch of "
            f"{count % batch or batch}, which have no variance; start fewer"
        )


def _check_alike(spec: Spec, state: State, device: torch.device) -> None:
    """Refuse processes that would not train the same net by the same code."""
    if state.group.alone:
        return
    if isinstance(state.network.head, StatefulHead):
        raise Problem("a network that carries a state from batch to batch takes one process")
    found = provenance(device.type, spec.settings.recipe.threads, 0)
    names = ("commit", "lock", "torch", "device", "threads")
    told = {name: found[name] for name in names}
    state.group.agree({"digest": spec.digest, "seeds": state.seeds, **told})


def _files(
    spec: Spec, state: State, device: torch.device, data: Path
) -> dict[int, dict[str, bytes]]:
    run = {
        "seeds": list(state.seeds),
        "stack": spec.stack,
        **state.group.record,
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
    watched: dict[str, object] = {}
    if state.lives is not None:
        columns |= {name: _by_seed(rows) for name, rows in state.lives.history.items()}
        places = range(len(state.seeds))
        watched["blocks"] = [state.lives.blocks(state.network, place) for place in places]
    return {
        "net": spec.net,
        "digest": spec.digest,
        "seeds": list(state.seeds),
        "diverged": [_failed_at(*curves) for curves in zip(*columns.values(), strict=True)],
        "metrics": columns,
        **watched,
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
