"""What nets whose gates may stay shut have discarded, as their results have it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from skipgate.results import turns
from skipgate.results.store import Result
from skipgate.settings import Imagenet, Mlp, Resnet
from skipgate.specs import Spec

Numbers = npt.NDArray[np.float64]

WHOLE = 0
COMPRESSED = 1
"""The networks of the probe `identity`, in its order."""


def epsilon_of(spec: Spec) -> float:
    """The threshold of a net's gates."""
    return float(spec.settings.T.settings["epsilon"])


def side_of(spec: Spec) -> float:
    """The weight of the loss on the side; 0 where there is none."""
    body = spec.settings.body
    return body.side if isinstance(body, Imagenet | Resnet) else 0.0


def layers_of(spec: Spec) -> int:
    """Layers as papers count them: those of the blocks, the first and the last."""
    body = spec.settings.body
    if isinstance(body, Mlp):
        return body.depth + 2
    each = 3 if isinstance(body, Imagenet) and body.bottleneck else 2
    return each * body.count + 2


def strict(result: Result) -> Numbers:
    """1 where a block is a strict identity, [block][seed]; NaN in a seed that failed."""
    return np.array(result.part("identity")["strict"], dtype=float)


def share(result: Result) -> list[float | None]:
    """The share of the blocks that are strict identities, per seed."""
    return [None if np.isnan(each) else float(each) for each in strict(result).mean(0)]


def by_stage(result: Result) -> Numbers:
    """The same of each stage, [stage][seed]."""
    stages = np.array(result.part("identity")["stage"])
    rows = strict(result)
    return np.array([rows[stages == stage].mean(0) for stage in np.unique(stages)])


def pair(result: Result, name: str) -> Numbers:
    """Of the whole network and the compressed one, [network][seed]."""
    return np.array(result.part("identity")[name], dtype=float)


def saved(result: Result, name: str) -> list[float | None]:
    """The share of something that the compressed network does without, per seed."""
    whole, compressed = pair(result, name)
    return [None if np.isnan(each) else float(each) for each in 1 - compressed / whole]


def records(result: Result) -> list[dict[str, Any] | None]:
    """What training has recorded of the blocks of each seed; older results have nothing."""
    found: list[dict[str, Any] | None] = result.part("train").get("blocks", [])
    return found or [None] * result.spec.seeds


def has_record(result: Result) -> bool:
    """Whether training has recorded the blocks of some seed."""
    return result.has("train") and any(records(result))


def collapsed(result: Result) -> list[float | None]:
    """How many blocks have collapsed after the last epoch, per seed."""
    return [
        float(sum(map(turns.is_on, record["collapsed"]))) if record else None
        for record in records(result)
    ]
