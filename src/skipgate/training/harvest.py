"""What `train@NET` leaves: one result, one provenance and one file of weights for all seeds.

Seeds come from the vault; from the files that an earlier run left, as long as `dvc.lock` says that
nobody has edited them; and from a training, where neither has them.
"""

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skipgate import lockfile, paths
from skipgate.files import Problem, json_bytes, read_json, write_atomically, write_json
from skipgate.results.by_seed import join, runs_of, split
from skipgate.specs import Spec
from skipgate.training import models
from skipgate.training.vault import MODEL, RESULT, RUN, Vault, key_of

Train = Callable[[Sequence[int]], None]
"""Fills the vault with these seeds."""


@dataclass
class Harvest:
    """A net's seeds so far: the result of each, where it was trained, and its weights."""

    spec: Spec
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    weights: dict[int, bytes] = field(default_factory=dict)


def gather(spec: Spec, vault: Vault, train: Train) -> Harvest:
    """All seeds of the net; what is new is trained.

    Seeds whose results are at hand without their weights are trained only if those are the net's
    seeds, neither more nor fewer, and there are no weights at all: that is somebody who asks for
    the whole net again.
    """
    harvest = at_hand(spec, vault)
    new = missing(harvest, vault)
    if new:
        train(new)
    for seed in range(spec.seeds):
        _from_vault(harvest, vault, seed)
    _keep(harvest, vault)
    return harvest


def missing(harvest: Harvest, vault: Vault) -> list[int]:
    """The seeds to train, given what the working tree has."""
    wanted = range(harvest.spec.seeds)
    not_kept = vault.missing(harvest.spec, wanted)
    new = [seed for seed in not_kept if seed not in harvest.results]
    asked_again = not harvest.weights and set(harvest.results) == set(wanted)
    return not_kept if asked_again and not new else new


def at_hand(spec: Spec, vault: Vault) -> Harvest:
    """What the working tree has, if it is what its stage wrote."""
    harvest = Harvest(spec)
    _from_files(harvest, vault)
    return harvest


def write(harvest: Harvest) -> None:
    """The three files of the stage, for the seeds that the net has."""
    spec = harvest.spec
    wanted = range(spec.seeds)
    weights = {seed: w for seed, w in harvest.weights.items() if seed in wanted}
    result = join("train", {seed: harvest.results[seed] for seed in wanted})
    records = {json.dumps(harvest.runs[seed]): harvest.runs[seed] for seed in wanted}
    run = {"net": spec.net, "digest": spec.digest, "runs": list(records.values())}
    write_atomically(paths.model_file(spec.study, spec.net), models.pack(spec.digest, weights))
    write_json(paths.result_file(spec.study, spec.net, "train"), result)
    write_json(paths.result_file(spec.study, spec.net, "run"), run)


def write_absent(spec: Spec, why: str) -> None:
    """The three files of the stage for a net that is not to be had."""
    name = {"net": spec.net, "digest": spec.digest}
    write_atomically(paths.model_file(spec.study, spec.net), models.pack(spec.digest, {}))
    result = {**name, "seeds": [], "absent": why}
    write_json(paths.result_file(spec.study, spec.net, "train"), result)
    write_json(paths.result_file(spec.study, spec.net, "run"), {**name, "runs": []})


def _from_vault(harvest: Harvest, vault: Vault, seed: int) -> None:
    entry = vault.find(key_of(harvest.spec, seed))
    if entry is not None:
        _take(harvest, entry, seed)
        harvest.weights[seed] = (entry / MODEL).read_bytes()


def _take(harvest: Harvest, entry: Path, seed: int) -> None:
    """A seed's result and where it was trained, under this net's own name."""
    name = {"net": harvest.spec.net, "digest": harvest.spec.digest}
    harvest.results[seed] = {**read_json(entry / RESULT, "it is trained again"), **name}
    harvest.runs[seed] = read_json(entry / RUN, "it is trained again")["runs"][0]


def _from_files(harvest: Harvest, vault: Vault) -> None:
    """The seeds of the working tree; what is there without weights is kept in the vault too.

    A run that is killed after it wrote its files, and before DVC recorded them, would otherwise
    not know its own results again.
    """
    spec = harvest.spec
    for seed in range(spec.seeds):
        entry = vault.find(_kept(spec, seed))
        if entry is not None:
            _take(harvest, entry, seed)
    files = [paths.result_file(spec.study, spec.net, kind) for kind in ("train", "run")]
    if not _can_be_trusted(files):
        return
    result, run = (read_json(file, f"restore it with: git checkout -- {file}") for file in files)
    if not result["digest"] == run["digest"] == spec.digest or not result["seeds"]:
        return
    harvest.results.update(split("train", result))
    for record in runs_of(run, result["seeds"]):
        harvest.runs.update(dict.fromkeys(record["seeds"], record))
    found = _weights(spec)
    harvest.weights.update({seed: w for seed, w in found.items() if seed in harvest.results})


def _keep(harvest: Harvest, vault: Vault) -> None:
    """Results without weights, which nobody could make again, outlive a kill."""
    spec = harvest.spec
    for seed in range(spec.seeds):
        if seed not in harvest.weights:
            run = {"net": spec.net, "digest": spec.digest, "runs": [harvest.runs[seed]]}
            files = {RESULT: json_bytes(harvest.results[seed]), RUN: json_bytes(run)}
            vault.put(_kept(spec, seed), files)


def _kept(spec: Spec, seed: int) -> str:
    return f"result-{key_of(spec, seed)}"


def _can_be_trusted(files: Sequence[Path]) -> bool:
    """Whether files are what their stage wrote; one that is there and is not, is named."""
    for file in files:
        if file.exists() and lockfile.written() and not lockfile.is_as_written(file):
            sentence = f"{file} is not what dvc.lock records, and is not used"
            warnings.warn(f"{sentence}; restore it with: git checkout -- {file}", stacklevel=2)
    return all(map(lockfile.is_as_written, files))


def _weights(spec: Spec) -> dict[int, bytes]:
    """The weights at hand that belong to the spec, if nobody has edited their file."""
    file = paths.model_file(spec.study, spec.net)
    if not lockfile.is_as_written(file):
        return {}
    try:
        return models.unpack(file, spec.digest, "it is trained again")
    except Problem:
        return {}
