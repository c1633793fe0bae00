"""Which seeds of a study's nets have to be trained, in pieces that can be handed out."""

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from skipgate import specs, stages
from skipgate.files import Problem
from skipgate.params import Params
from skipgate.progress import took
from skipgate.reader import nearest
from skipgate.results.costs import refusal
from skipgate.settings import Source
from skipgate.specs import Spec, pieces, told
from skipgate.training import harvest
from skipgate.training.vault import Vault

LOCKED = "Unable to acquire lock"
BUSY = "is busy, it is being blocked by"
HOLDER = re.compile(r"\(PID (\d+)\): ([^\n]+)")
"""How DVC says that another of its commands is running, and which."""


@dataclass(frozen=True)
class Task:
    """Seeds of a net to train side by side, and how long that is likely to take."""

    spec: Spec
    seeds: tuple[int, ...]
    seconds: float
    source: Source
    """Where another machine may have the data."""

    @property
    def name(self) -> str:
        """The net, and which of its seeds if not all."""
        whole = len(self.seeds) == self.spec.seeds
        return self.spec.net if whole else f"{self.spec.net} {told(self.seeds)}"


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
        raise Problem(f"dvc {words[0]} failed: {_reason(answer.stderr)}")
    return answer.stdout


def _reason(said: str) -> str:
    """Why a DVC command failed: who holds its lock, what its stage said last, or its error."""
    if LOCKED in said or BUSY in said:
        holder = HOLDER.search(said)
        who = f"process {holder[1]}, {holder[2].strip()}," if holder else "another dvc command"
        return f"{who} holds the lock of this project; let it come to its end, then run this again"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    ours = [line.removeprefix("skipgate: ") for line in lines if line.startswith("skipgate: ")]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR")]
    return (ours[-1:] or errors or lines[-1:] or ["it gave no reason"])[0]


def prepare(params: Params, study: str, *, dry_run: bool) -> None:
    """Specs and data, which trainings depend on.

    Only to tell what would be trained, data are fetched where nothing else says how many they are.
    """
    stages.renew(params)
    nets = params.nets_of(study)
    needed = [net for net in nets if not (dry_run and params.said_examples_of(net))]
    dvc("repro", "specify", *sorted({f"fetch@{nets[net].data}" for net in needed}))


def stale(target: str) -> set[str]:
    """The stages that DVC calls missing or stale, among all that the target follows from.

    It is asked of them together: of each by name, it would gather what it knows for every name.
    """
    return set(json.loads(dvc("status", "--json", "--with-deps", target)))


def waiting(params: Params, study: str, vault: Vault) -> list[Task]:
    """Pieces whose training DVC calls missing or stale and nobody has; the longest first."""
    # What somebody else has trained is not handed out: `dvc repro` obtains it.
    nets = [name for name, net in params.nets_of(study).items() if not net.start]
    if not nets:
        return []
    changed = stale(f"report@{study}")
    tasks = [
        task for net in nets if f"train@{net}" in changed for task in _tasks(params, net, vault)
    ]
    return sorted(tasks, key=lambda task: -task.seconds)


def refused(tasks: Sequence[Task]) -> dict[str, str]:
    """Why some nets cannot be trained on this machine, by net."""
    wanting = [task.spec for task in tasks if task.spec.settings.recipe.device == "cuda"]
    if wanting:
        from skipgate.training.device import lacks_gpu  # brings PyTorch, which others do without

        wanting = [spec for spec in wanting if lacks_gpu(spec.settings.recipe)]
    return {spec.net: refusal(spec.net) for spec in wanting}


def _tasks(params: Params, net: str, vault: Vault) -> list[Task]:
    spec = specs.load(net)
    missing = harvest.missing(harvest.at_hand(spec, vault), vault)
    per_seed = _seconds(spec) / spec.seeds
    source = params.sources[spec.dataset]
    return [
        Task(spec, seeds, per_seed * len(seeds), source) for seeds in pieces(missing, spec.stack)
    ]


def _seconds(spec: Spec) -> float:
    """As long as it took when it was last trained, or a guess that ranks nets by their work."""
    known = took(spec.study, spec.net)
    return known or spec.parameters * spec.settings.training.epochs * spec.seeds / 1e5
