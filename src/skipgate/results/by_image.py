"""Results of a network of which there is one: the same numbers on images drawn again and again.

The last axis of what a probe then finds has the images as they are, and after them each resample.
The former stays where a seed's number stands; the latter are kept beside it.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from skipgate.results.by_seed import RESAMPLED, Content
from skipgate.results.store import Result
from skipgate.settings import LAYOUTS

Places = npt.NDArray[np.int64]


def parted(kind: str, found: Content, resamples: int) -> Content:
    """The numbers of the images as they are, with those of the resamples under a key of its own."""
    if not resamples:
        return found
    shared = LAYOUTS[kind].shared
    again = _cut({k: v for k, v in found.items() if k not in shared}, shared, slice(1, None))
    return {**_cut(found, shared, slice(0, 1)), RESAMPLED: again}


def _cut(value: Any, shared: tuple[str, ...], part: slice) -> Any:
    """Part of the last axis; what has one number only is the same in all resamples."""
    if isinstance(value, dict):
        return {k: v if k in shared else _cut(v, shared, part) for k, v in value.items()}
    if not isinstance(value, list) or not value:
        return value
    if isinstance(value[0], list | dict):
        return [_cut(item, shared, part) for item in value]
    return value[part] if len(value) > 1 else value


def over_images(result: Result) -> Result:
    """The result with resamples in the place of seeds; one of several seeds as it is."""
    if not result.is_given:
        return result
    parts = {
        kind: {**part, **_filled(kind, part)} if RESAMPLED in part else part
        for kind, part in result.parts.items()
    }
    return replace(result, parts=parts, resampled=True)


def redrawn(result: Result, draws: int, columns: int) -> Places:
    """Which of a probe's random draws each column takes, as [column][draw].

    A seed takes all of them. A resample of images takes as many with replacement, or what depends
    on the draw would seem certain.
    """
    if not result.resampled:
        return np.tile(np.arange(draws), (columns, 1))
    return np.random.default_rng(draws).integers(0, draws, (columns, draws))


def _filled(kind: str, part: Content) -> Content:
    """The resampled numbers; one that is the same in all resamples is repeated."""
    shared = LAYOUTS[kind].shared
    count = _longest(part[RESAMPLED], shared)
    filled: Content = _repeated(part[RESAMPLED], shared, count)
    return filled


def _longest(value: Any, shared: tuple[str, ...]) -> int:
    if isinstance(value, dict):
        kept = (item for key, item in value.items() if key not in shared)
        return max((_longest(item, shared) for item in kept), default=1)
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return max(_longest(item, shared) for item in value)
    return len(value) if isinstance(value, list) else 1


def _repeated(value: Any, shared: tuple[str, ...], count: int) -> Any:
    if isinstance(value, dict):
        return {k: v if k in shared else _repeated(v, shared, count) for k, v in value.items()}
    if not isinstance(value, list) or not value:
        return value
    if isinstance(value[0], list | dict):
        return [_repeated(item, shared, count) for item in value]
    return value * count if len(value) == 1 else value
