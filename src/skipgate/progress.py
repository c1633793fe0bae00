"""What a person sees while a study trains."""

import sys
from collections.abc import Sequence

from tqdm import tqdm

from skipgate import paths, specs
from skipgate.files import Problem, read_json
from skipgate.params import Params
from skipgate.specs import Spec


class Bar:
    """One net's progress by epoch: which net of how many, time left, and the error so far."""

    def __init__(self, spec: Spec, heading: str) -> None:
        epochs = spec.settings.recipe.epochs
        every = 0.2 if sys.stderr.isatty() else 5.0
        self._bar = tqdm(
            total=epochs, desc=heading, unit="epoch", mininterval=every, file=sys.stderr
        )

    def show(self, history: dict[str, list[list[float]]]) -> None:
        """Move to the last epoch of a history."""
        now = latest(history)
        self._bar.set_postfix_str(f"test error {now['error']:.2f}%", refresh=False)
        self._bar.update(now["epoch"] - self._bar.n)

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()


def latest(history: dict[str, list[list[float]]]) -> dict[str, float]:
    """Epochs done, and the mean test error after the last."""
    errors = history["test_error"]
    return {"epoch": len(errors), "error": sum(errors[-1]) / len(errors[-1])}


def heading(params: Params, spec: Spec) -> str:
    """Which net of the study this is, counting those that have been trained, and the time for the rest."""
    nets = params.nets_of(spec.study)
    waiting = [n for n in nets if n != spec.net and not _is_trained(spec.study, n)]
    after = f", then {_duration(spec.study, waiting)}" if waiting else ""
    return f"{spec.study}: net {len(nets) - len(waiting)} of {len(nets)}{after}, {spec.net} x {spec.settings.seeds} seeds"


def _is_trained(study: str, net: str) -> bool:
    """Whether there is a model, and a result that belongs to the present spec beside it."""
    file = paths.result_file(study, net, "train")
    if not paths.model_file(study, net).exists() or not file.exists():
        return False
    return bool(read_json(file, "train it").get("digest") == specs.load(net).digest)


def _duration(study: str, nets: Sequence[str]) -> str:
    """How long these nets took when they were last trained, here or elsewhere, if that is known."""
    try:
        seconds = sum(
            read_json(paths.result_file(study, n, "run"), "train it")["seconds"] for n in nets
        )
    except (Problem, KeyError):
        return f"{len(nets)} more"
    return f"about {max(1, round(seconds / 60))} min for {len(nets)} more"
