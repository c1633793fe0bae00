"""A study run with other seeds or probes than `params.yaml` says, in a folder of its own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml
from tqdm import tqdm

from skipgate import live, paths
from skipgate.files import Problem, read_yaml, write_atomically
from skipgate.judging.quantities import PROBED
from skipgate.params import Params

FOLDER = Path(".frozen")


def reference_run(
    params: Params, study: str, seeds: int, jobs: int, chosen: Sequence[str] = ()
) -> Path:
    """Train and probe nets of the study with `seeds` seeds each; the folder that has the results.

    Trainings go through the project's vault, so that seeds which it has are not trained again.
    """
    folder = FOLDER / study
    folder.mkdir(parents=True, exist_ok=True)
    settings = yaml.safe_dump(_only(study, seeds), sort_keys=False)
    write_atomically(folder / paths.PARAMS, settings.encode())
    _link(folder / "data", Path("data"))
    _link(folder / paths.LOCK, paths.LOCK)
    # A net that is what it was keeps its digest, by which the vault knows its seeds.
    shutil.copytree(paths.SPECS, folder / paths.SPECS, dirs_exist_ok=True)
    _stage(folder, "stages")
    _stage(folder, "specify")
    nets = list(chosen or params.nets_of(study))
    with ThreadPoolExecutor(jobs) as pool:
        work = pool.map(lambda net: _of_net(folder, net), nets)
        for _ in tqdm(work, desc=f"{study}: {seeds} seeds each", unit="net", total=len(nets)):
            pass
    return folder


def _of_net(folder: Path, net: str) -> None:
    _stage(folder, "train", net)
    _stage(folder, "probe", net)


def _only(study: str, seeds: int) -> Any:
    """The settings with this study alone, its seeds, and only the probes that are watched."""
    settings = read_yaml(paths.PARAMS)
    settings["nets"] = {study: settings["nets"][study]}
    settings["studies"] = {study: settings["studies"][study]}
    for net in settings["nets"][study].values():
        net.pop("seeds", None)
    settings["studies"][study]["defaults"]["seeds"] = seeds
    for probes in settings["probes"].values():
        # What a net of the study is not probed for could not be compared.
        probes["kinds"] = [kind for kind in PROBED if kind in probes.get("kinds", PROBED)]
    return settings


def _link(place: Path, target: Path) -> None:
    if not place.exists():
        place.symlink_to(target.resolve())


def _stage(folder: Path, stage: str, *words: str) -> None:
    """Run a stage of the pipeline in the folder; what it says is shown only if it fails."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path.cwd()), str(Path.cwd() / "src")]),
        "SKIPGATE_VAULT": str(paths.vault_folder().resolve()),
        live.VARIABLE: "inf",  # MLflow shows the seeds that the study has
    }
    command = [sys.executable, "-m", f"pipeline.{stage}", *words]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise Problem(
            f"{stage} {' '.join(words)} failed: {said[-1] if said else 'no reason given'}"
        )
