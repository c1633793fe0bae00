"""What is watched of a net, one number per seed: its score, and what its gates and blocks do."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from skipgate.results.store import Result

Numbers = npt.NDArray[np.float64]
PerSeed = list[float | None]

LABELS = {
    "train_loss": "training loss",
    "open T": "openness of T",
    "open C": "openness of C",
    "range T": "range of T over blocks",
    "range C": "range of C over blocks",
    "moved": "how far k is from its start",
    "closed": "blocks closed",
    "lesion": "score without a block",
    "shuffle": "score after swaps",
    "bias": "mean estimation error",
    "deviation": "deviation of the estimation error",
}
"""What a quantity is called on pages; the measure of the study comes first."""
FIRST_K = 1.0
"""Where the gates of `nets/gates/scalar.py` start unless their settings say otherwise."""
SCORES = ("lesion", "shuffle")
"""Quantities in the unit of the study's measure, beside the score itself."""


def watched(result: Result) -> dict[str, PerSeed]:
    """All quantities that a net's results give, by name; null where a seed has no number."""
    found: dict[str, PerSeed] = {}
    if result.has("train"):
        found[result.measure.key] = result.score()
        if not result.is_given:
            found["train_loss"] = result.last("train_loss")
    for kind, quantities in PROBED.items():
        if result.has(kind):
            found |= {name: _listed(values) for name, values in quantities(result)}
    return found


def _gates(result: Result) -> Iterator[tuple[str, Numbers]]:
    """How open gates are, how far scalar ones have moved, and how many blocks are shut for good."""
    T, C = (_array(result.part("gates")[gate]) for gate in ("T", "C"))
    yield "open T", T.mean(0)
    yield "open C", C.mean(0)
    yield "range T", T.max(0) - T.min(0)
    yield "range C", C.max(0) - C.min(0)
    yield "closed", np.where(np.isnan(T).any(0), np.nan, (T == 0).sum(0))
    choice = result.spec.settings.T
    if choice.gate == "scalar":
        yield "moved", np.abs(T - choice.settings.get("start", FIRST_K)).mean(0)


def thirds(result: Result) -> list[PerSeed]:
    """Mean T over the first, the middle and the last third of the blocks."""
    blocks = _array(result.part("gates")["T"])
    third = len(blocks) // 3
    parts = (slice(third), slice(third, len(blocks) - third), slice(len(blocks) - third, None))
    return [_listed(blocks[part].mean(0)) for part in parts]


def _lesion(result: Result) -> Iterator[tuple[str, Numbers]]:
    """The score without a block, over all blocks that can be removed."""
    without = [row for row in result.part("lesion")["without"] if set(row) != {None}]
    if without:
        yield "lesion", _array(without).mean(0)


def _shuffle(result: Result) -> Iterator[tuple[str, Numbers]]:
    """The score after random swaps; networks whose blocks cannot change places have none."""
    part = result.part("shuffle")
    swapped = np.array(part["tau"]) < 1
    if swapped.any():
        yield "shuffle", np.median(_array(part["errors"])[swapped], axis=0)


def _estimation(result: Result) -> Iterator[tuple[str, Numbers]]:
    """Errors of all blocks but a stage's last, as shares of the spread of what is estimated."""
    part = result.part("estimation")
    size = _array(part["size"])
    share = np.where(size > 0, size, np.nan)
    for name, key in (("bias", "mean"), ("deviation", "deviation")):
        values = _array(part[key]) / share
        if len(values) > 1:
            yield name, values.mean(0)


PROBED: dict[str, Callable[[Result], Iterator[tuple[str, Numbers]]]] = {
    "gates": _gates,
    "lesion": _lesion,
    "shuffle": _shuffle,
    "estimation": _estimation,
}


def _array(rows: list[list[float | None]]) -> Numbers:
    """[block][seed], NaN where there is no number."""
    return np.array(rows, dtype=float)


def _listed(values: Numbers) -> PerSeed:
    return [float(value) if np.isfinite(value) else None for value in values]
