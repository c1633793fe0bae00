"""Results of a network of which there is one: the same numbers on images drawn again and again.

The last axis of what a probe then finds has the images as they are, and after them each resample.
The former stays where a seed's number stands; the latter are kept beside it.
"""

from dataclasses import replace
from typing import Any

from skipgate.results.by_seed import RESAMPLED, Content
from skipgate.results.store import Result
from skipgate.settings import LAYOUTS


def parted(kind: str, found: Content, resamples: int) -> Content:
    """The numbers of the images as they are, with those of the resamples under a key of its own."""
    if not resamples:
        return found
    shared = LAYOUTS[kind].shared
    as_they_are = {k: v if k in shared else _cut(v, slice(0, 1)) for k, v in found.items()}
    again = {k: _cut(v, slice(1, None)) for k, v in found.items() if k not in shared}
    return {**as_they_are, RESAMPLED: again}


def _cut(value: Any, part: slice) -> Any:
    """Part of the last axis; what has one number only is the same in all resamples."""
    if isinstance(value, dict):
        return {key: _cut(item, part) for key, item in value.items()}
    if not isinstance(value, list) or not value:
        return value
    if isinstance(value[0], list | dict):
        return [_cut(item, part) for item in value]
    return value[part] if len(value) > 1 else value


def over_images(result: Result) -> Result:
    """The result with resamples in the place of seeds; one of several seeds as it is."""
    if not result.is_given:
        return result
    parts = {
        kind: {**part, **_filled(part[RESAMPLED], part)} if RESAMPLED in part else part
        for kind, part in result.parts.items()
    }
    return replace(result, parts=parts)


def _filled(again: Content, part: Content) -> Content:
    """The resampled keys; a leaf of one number is repeated."""
    count = _longest(again)
    return {key: _repeated(value, count) for key, value in again.items() if key in part}


def _longest(value: Any) -> int:
    if isinstance(value, dict):
        return max(map(_longest, value.values()), default=1)
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return max(map(_longest, value))
    return len(value) if isinstance(value, list) else 1


def _repeated(value: Any, count: int) -> Any:
    if isinstance(value, dict):
        return {key: _repeated(item, count) for key, item in value.items()}
    if not isinstance(value, list) or not value:
        return value
    if isinstance(value[0], list | dict):
        return [_repeated(item, count) for item in value]
    return value * count if len(value) == 1 else value
