"""What a person sees while a study trains."""

import sys
from collections.abc import Sequence
from typing import Any

from tqdm import tqdm

from skipgate import paths, specs
from skipgate.files import Problem, read_json
from skipgate.params import Params
from skipgate.results.by_seed import runs_of
from skipgate.settings import History
from skipgate.specs import Spec, told


class Bar:
    """One net's progress by epoch: which net of how many, time left, and the measure so far."""

    def __init__(self, spec: Spec, heading: str) -> None:
        self._measure = spec.measure
        self._heading = heading
        self._epochs = spec.settings.training.epochs
        self._seeds: Sequence[int] = ()
        self._bar: tqdm[Any] | None = None

    def show(self, seeds: Sequence[int], history: History) -> None:
        """Move to the last epoch of a history; seeds that are trained apart have bars apart."""
        if self._bar is None or tuple(seeds) != tuple(self._seeds):
            self._begin(seeds)
        now = latest(self._measure.key, history)
        value = self._measure.text(now["value"])
        if self._bar is not None:
            self._bar.set_postfix_str(f"{self._measure.label} {value}", refresh=False)
            self._bar.update(now["epoch"] - self._bar.n)

    def _begin(self, seeds: Sequence[int]) -> None:
        if self._bar is not None:
            self._bar.close()
        self._seeds = seeds
        every = 0.2 if sys.stderr.isatty() else 5.0
        heading = f"{self._heading} {told(seeds)}"
        self._bar = tqdm(
            total=self._epochs, desc=heading, unit="epoch", mininterval=every, file=sys.stderr
        )

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def latest(metric: str, history: History) -> dict[str, float]:
    """Epochs done, and the mean over seeds after the last."""
    values = history[metric]
    return {"epoch": len(values), "value": sum(values[-1]) / len(values[-1])}


def heading(params: Params, spec: Spec) -> str:
    """Which net of the study this is, counting those that have been trained, and what is left."""
    nets = params.nets_of(spec.study)
    waiting = [n for n in nets if n != spec.net and not _is_trained(spec.study, n)]
    after = f", then {_duration(spec.study, waiting)}" if waiting else ""
    return f"{spec.study}: net {len(nets) - len(waiting)} of {len(nets)}{after}, {spec.net}"


def _is_trained(study: str, net: str) -> bool:
    """Whether there are weights, and a result that belongs to the present spec beside them."""
    file = paths.result_file(study, net, "train")
    if not paths.model_file(study, net).exists() or not file.exists():
        return False
    spec = specs.load(net)
    found = read_json(file, "train it")
    return bool(found.get("digest") == spec.digest and len(found["seeds"]) >= spec.seeds)


def _duration(study: str, nets: Sequence[str]) -> str:
    """How long these nets took when they were last trained, if that is known."""
    seconds = [took(study, net) for net in nets]
    known = [found for found in seconds if found is not None]
    if len(known) < len(nets):
        return f"{len(nets)} more"
    return f"about {max(1, round(sum(known) / 60))} min for {len(nets)} more"


def took(study: str, net: str) -> float | None:
    """Seconds that a net's seeds took when they were last trained, here or elsewhere."""
    try:
        content = read_json(paths.result_file(study, net, "run"), "train it")
        return float(sum(run["seconds"] for run in runs_of(content, [])))
    except (Problem, KeyError):
        return None
