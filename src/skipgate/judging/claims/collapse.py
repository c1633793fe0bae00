"""How weights fall that nothing but decay acts on (epsilon-ResNet, section 3, weight collapse)."""

import math
from collections.abc import Sequence

import numpy as np

from skipgate.results import turns
from skipgate.results.discards import Numbers, records
from skipgate.results.store import Result
from skipgate.settings import Recipe, Sgd


def against_decay(result: Result, seed: int) -> list[float]:
    """Fall over that by decay alone, as logarithms, of each block that is shut to the end.

    It is taken from a whole epoch after shutting on, when momentum has forgotten what came before.
    Nothing where training has recorded no blocks, or has no decay.
    """
    record = records(result)[seed]
    expected = _by_epoch(result, seed)
    if record is None or not expected:
        return []
    kept = record["epochs"]
    found = []
    for block, shut in enumerate(record["shut"]):
        start = next((i for i, epoch in enumerate(kept) if shut and epoch > shut[-1]), len(kept))
        if turns.is_on(shut) and start < len(kept) - 1:
            largest = _largest([record["percentiles"][p][block] for p in ("0", "100")])
            fall = math.log(largest[-1] / largest[start])
            found.append(fall / sum(expected[kept[start] + 1 : kept[-1] + 1]))
    return found


def _largest(ends: Sequence[Sequence[float]]) -> Numbers:
    """The largest weight by kept epoch; of weights that are 0 to the last digit, the least."""
    found: Numbers = np.abs(np.array(ends, dtype=float)).max(0)
    return np.maximum(found, np.finfo(np.float32).tiny)


def _by_epoch(result: Result, seed: int) -> list[float]:
    """The logarithm of what decay alone leaves of a weight in each epoch."""
    recipe = result.spec.settings.recipe
    if not isinstance(recipe, Recipe) or not isinstance(recipe.optimiser, Sgd):
        return []
    if not recipe.decay.rate:
        return []
    steps = math.ceil(result.part("identity")["training"] / recipe.batch)
    found = []
    for epoch, rate in enumerate(result.curve("rate")[seed]):
        decay = recipe.decay.rate * recipe.decay.left(epoch * steps)
        found.append(steps * math.log(left_by_decay(recipe.optimiser, rate or 0.0, decay)))
    return found


def left_by_decay(optimiser: Sgd, rate: float, decay: float) -> float:
    """What a step leaves of a weight that nothing but decay acts on, once momentum has settled.

    Weight w and velocity v follow v' = m v + d w and w' = w - r v', or with Nesterov's form
    w' = w - r (d w + m v'): this is the larger eigenvalue of that map.
    """
    momentum = optimiser.momentum
    pull = rate * decay
    trace = 1 + momentum - pull * (1 + momentum if optimiser.nesterov else 1)
    determinant = momentum * (1 - pull) if optimiser.nesterov else momentum
    return (trace + math.sqrt(trace**2 - 4 * determinant)) / 2
