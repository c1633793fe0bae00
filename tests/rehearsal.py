"""Run `make all` over every study in a fresh clone, with trainings and probes cut short, and look at what is left.

    python -m tests.rehearsal --keep FOLDER

takes the last commit and about an hour of one core. What needs a GPU or a data set that is not at
hand must be refused by name; everything else must have results, and every study its page.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import yaml

from skipgate import params
from skipgate.specs import resolve
from tests.project import at
from tests.soak import say
from tests.toys import ROOT

IMAGES = 500
PROBED = 100
FEW = 2


def cut(settings) -> None:
    """One epoch of few examples, few seeds, few images to probe."""
    for recipe in settings["recipes"].values():
        if recipe.get("kind") != "given":
            recipe["epochs"] = 1
            recipe["images"] = IMAGES
    for changes in settings["variations"].values():
        if "recipe.validation" in changes:
            changes["recipe.validation"] = PROBED
    _cut_seeds(settings)
    for probes in settings["probes"].values():
        _cut_probes(probes)
        if "words" not in probes:
            probes["images"] = min(probes.get("images", PROBED), PROBED)


def _cut_seeds(settings) -> None:
    """A network that somebody else has trained keeps its one."""
    nets = [net for study in settings["nets"].values() for net in study.values()]
    for one in (*nets, *(study.get("defaults", {}) for study in settings["studies"].values())):
        if "seeds" in one:
            one["seeds"] = min(one["seeds"], FEW)


def _cut_probes(probes) -> None:
    for name, value in probes.items():
        if isinstance(value, dict):
            _cut_probes(value)
        elif name in ("images", "greedy_images", "alone"):
            probes[name] = min(value, PROBED)
        elif name in ("orders", "draws"):
            probes[name] = FEW
    probes.pop("whole", None)


def rehearse(folder: Path) -> None:
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    file = folder / "params.yaml"
    settings = yaml.safe_load(file.read_text())
    cut(settings)
    file.write_text(yaml.safe_dump(settings, sort_keys=False))
    log = folder / "all.log"
    with log.open("w") as output:
        # What `make all` runs, in the environment that is there.
        done = at(folder).start("python", "-m", "pipeline.everything", output=output.fileno())
        done.wait()
    known = params.load(file)
    nets = [net for study in known.studies for net in known.nets_of(study)]
    refused = _refused(log.read_text())
    say(f"{len(nets)} nets, of which {len(refused)} were refused: {', '.join(refused)}")
    missing = [study for study in known.studies if not _renewed(folder, study)]
    needless = [net for net in refused if resolve(known, net).recipe.device != "cuda"]
    if missing or needless or (done.returncode == 0 and refused):
        raise SystemExit(f"not rendered: {missing}; refused without need: {needless}; see {log}")


def _refused(log: str) -> list[str]:
    """The nets that the last lines name."""
    _, found, listed = log.rpartition(" nets were not run, or not wholly:\n")
    lines = listed.splitlines() if found else []
    return [line.partition(":")[0].strip() for line in lines if line.startswith("  ")]


def _renewed(folder: Path, study: str) -> bool:
    """Whether a study's page is not the committed one: every net of it was cut."""
    name = f"reports/{study}.md"
    words = ["git", "diff", "--quiet", "HEAD", "--", name]
    return subprocess.run(words, cwd=folder, check=False).returncode == 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="a new folder to work in; else a temporary one")
    words = parser.parse_args()
    if words.keep:
        rehearse(words.keep)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            rehearse(Path(temporary) / "skipgate")
