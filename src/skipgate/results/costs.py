"""What nets would cost on a GPU, as `pipeline.costs` estimates it without one."""

from dataclasses import dataclass
from typing import Any

from skipgate import params, paths
from skipgate.files import read_json
from skipgate.reader import read
from skipgate.settings import Gpu
from skipgate.specs import Spec

SECONDS = 3600


@dataclass(frozen=True)
class Cost:
    """What training one net takes, counted on its real network without running it."""

    digest: str
    """Of the net that was counted."""
    operations: float
    """Of a training step, forward and back, for each example."""
    launches: int
    """Kernels of a training step."""
    memory: int
    """Bytes of a training step at its peak, for one seed."""
    batch: int
    steps: int
    """Of one seed's whole training."""
    seeds: int

    def hours(self, gpu: Gpu) -> float:
        """An estimate: by operations, or by launches where there is too little to do for each."""
        each = max(self.operations * self.batch / gpu.speed, self.launches * gpu.launch)
        return self.seeds * self.steps * each / SECONDS

    def told(self, gpu: Gpu) -> str:
        """In words, marked as an estimate."""
        return (
            f"about {rounded(self.hours(gpu))} hours of an {gpu.name} and "
            f"{self.memory / 1e9:.1f} GB, by estimate"
        )


def load() -> dict[str, Cost]:
    """By net, as far as they were estimated."""
    if not paths.COSTS.exists():
        return {}
    found: dict[str, Any] = read_json(paths.COSTS, "run: dvc repro -s costs")
    return {net: read(Cost, value, f"{paths.COSTS}: {net}") for net, value in found.items()}


def refusal(net: str) -> str:
    """Why a net that needs a GPU is not trained without one, and how to insist."""
    cost = load().get(net)
    told = f" ({cost.told(params.load().gpu)})" if cost else ""
    return (
        f"{net} needs a GPU and there is none{told}; to train it on this CPU all the same, set "
        "device: cpu in its recipe"
    )


def is_of(cost: Cost | None, spec: Spec) -> bool:
    """Whether this is what the net costs as it is now."""
    return cost is not None and (cost.digest, cost.seeds) == (spec.digest, spec.seeds)


def rounded(number: float) -> str:
    """As exact as an estimate is worth."""
    return f"{number:.1f}" if number < 10 else f"{number:,.0f}"
