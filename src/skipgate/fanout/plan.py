"""Which nets of a study have to be trained."""

import json
import subprocess
from dataclasses import dataclass

from skipgate import paths, specs
from skipgate.files import Problem, read_json
from skipgate.params import Params
from skipgate.reader import nearest
from skipgate.specs import Spec
from skipgate.training.vault import Vault, key_of


@dataclass(frozen=True)
class Task:
    """A net to train, and how long that is likely to take."""

    spec: Spec
    seconds: float


def study_of(params: Params, target: str) -> str:
    """The study that a target `report@STUDY` names."""
    stage, _, study = target.rpartition("@")
    if stage != "report" or study not in params.studies:
        known = [f"report@{name}" for name in params.studies]
        raise Problem(f"there is no target '{target}'; {nearest(target, known)}")
    return study


def dvc(*words: str) -> str:
    """Run a DVC command; its own words say what is wrong with it."""
    answer = subprocess.run(["dvc", *words], capture_output=True, text=True, check=False)
    if answer.returncode:
        said = [line for line in answer.stderr.splitlines() if line.startswith("ERROR")] or [
            "no reason given"
        ]
        raise Problem(f"dvc {words[0]} failed: {said[0].removeprefix('ERROR: ')}")
    return answer.stdout


def prepare(params: Params, study: str) -> None:
    """Specs and data, which trainings depend on."""
    data = sorted({f"fetch@{net.data}" for net in params.nets_of(study).values()})
    dvc("repro", "--quiet", "specify", *data)


def waiting(params: Params, study: str, vault: Vault) -> list[Task]:
    """Nets whose training DVC calls missing or stale and the vault does not hold; the longest first."""
    nets = list(params.nets_of(study))
    changed = json.loads(dvc("status", "--json", *(f"train@{net}" for net in nets)))
    found = [specs.load(net) for net in nets if f"train@{net}" in changed]
    tasks = [Task(spec, _seconds(spec)) for spec in found if vault.find(key_of(spec)) is None]
    return sorted(tasks, key=lambda task: -task.seconds)


def _seconds(spec: Spec) -> float:
    """As long as it took when it was last trained; where that is not known, a guess that ranks nets by their work."""
    file = paths.result_file(spec.study, spec.net, "run")
    if file.exists():
        return float(read_json(file, "train it").get("seconds", 0.0))
    recipe = spec.settings.recipe
    return spec.parameters * recipe.epochs * spec.settings.seeds / 1e5
