"""Kill workers and drivers of a fan-out at random, and compare what is left with a quiet run.

    python -m tests.soak --kills 200

needs the digits study trained in this project (make repro); it works in a temporary copy.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from skipgate import params
from skipgate.files import json_bytes
from skipgate.results.by_seed import split
from skipgate.training import models
from tests.project import Project
from tests.toys import ROOT

FILES = ("model.pt", "train.json")


def entries(vault: Path) -> dict[str, tuple[bytes, ...]]:
    """Finished trainings, without their provenance."""
    found = [
        entry for entry in vault.glob("*-*") if entry.is_dir() and not entry.name.startswith(".")
    ]
    return {entry.name: tuple((entry / name).read_bytes() for name in FILES) for entry in found}


def undisturbed() -> dict[str, tuple[bytes, ...]]:
    """The project's own trainings, by the key that a vault keeps each seed under."""
    found = {}
    for net in params.load(ROOT / "params.yaml").nets_of("digits"):
        spec = json.loads((ROOT / "specs" / f"{net}.json").read_text())
        name = f"{spec['digest']}-{spec['settings']['data']['sha256'][:16]}"
        file = ROOT / "models" / "digits" / f"{net}.pt"
        weights = models.unpack(file, spec["digest"], "run: make repro")
        result = json.loads((ROOT / "results" / "digits" / net / "train.json").read_text())
        for seed, part in split("train", result).items():
            found[f"{name}-{seed}"] = (weights[seed], json_bytes(part))
    return found


def whole_project(folder: Path) -> Project:
    """A copy with every net of the study, not the two small ones of the tests."""
    project = Project(folder)
    shutil.copy(ROOT / "params.yaml", folder)
    shutil.copytree(ROOT / "papers", folder / "papers", dirs_exist_ok=True)
    shutil.copytree(ROOT / "specs", folder / "specs", dirs_exist_ok=True)
    project.run("git", "init", "--quiet")
    project.run("dvc", "init", "--quiet")
    project.run("dvc", "repro", "--quiet", "specify", "fetch@digits")
    return project


def start(project: Project) -> subprocess.Popen[str]:
    # Nobody reads what it says, and a full pipe would stop it.
    return project.start(
        "python", "-m", "pipeline.fanout", "report@digits", "--jobs", "2", output=subprocess.DEVNULL
    )


def orphans(project: Project) -> list[psutil.Process]:
    """Workers that have outlived their driver."""
    return [p for p in psutil.process_iter(["cwd"]) if p.info["cwd"] == str(project.folder)]


def kill_one(driver: subprocess.Popen[str], generator: random.Random) -> bool:
    """Kill the driver once in ten times, else a worker, if there is one."""
    try:
        workers = psutil.Process(driver.pid).children()
    except psutil.NoSuchProcess:
        return False
    victim = (
        driver.pid if generator.random() < 0.1 or not workers else generator.choice(workers).pid
    )
    try:
        psutil.Process(victim).send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return False
    return True


def soak(kills: int, seed: int) -> None:
    reference = undisturbed()
    generator = random.Random(seed)  # noqa: S311
    done = rounds = seen = 0
    with tempfile.TemporaryDirectory() as folder:
        project = whole_project(Path(folder))
        vault = project.folder / ".vault"
        while done < kills or rounds == 0:
            driver = start(project)
            while driver.poll() is None:
                time.sleep(generator.uniform(0.2, 6.0))
                if done < kills:
                    done += kill_one(driver, generator)
                kept = entries(vault)
                assert len(kept) >= seen, "a finished training was lost"
                assert all(kept[key] == reference[key] for key in kept), (
                    "a training differs from the undisturbed one"
                )
                seen = len(kept)
            driver.wait()
            say(f"{done} kills, {seen} of {len(reference)} trainings, {rounds} rounds")
            if seen == len(reference):
                rounds, seen = rounds + 1, 0
                psutil.wait_procs(orphans(project))
                shutil.rmtree(vault)
    say(f"{done} kills over {rounds} rounds: nothing lost, every training the same bytes")


def say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    words = parser.parse_args()
    soak(words.kills, words.seed)
