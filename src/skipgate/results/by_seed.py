"""Results taken apart by seed and put together again: `join(kind, split(kind, x))` is x.

In the result of a probe the seed is the last axis of everything that its layout does not share; in
that of a training it is the first.
"""

from collections.abc import Mapping
from typing import Any

from skipgate.settings import LAYOUTS, Layout

Content = dict[str, Any]
RESAMPLED = "resampled"
"""What `results/by_image.py` keeps beside a result, for a single network."""
HEAD = ("net", "digest", "probe_digest", RESAMPLED)
"""Keys that say which result this is, or are of one network only."""


def split(kind: str, content: Content) -> dict[int, Content]:
    """The result of each seed alone."""
    return {seed: _one(kind, content, place) for place, seed in enumerate(content["seeds"])}


def join(kind: str, parts: Mapping[int, Content]) -> Content:
    """One result of many seeds, in their order."""
    seeds = sorted(parts)
    ordered = [parts[seed] for seed in seeds]
    if kind == "train":
        return _trained(ordered, seeds)
    layout = LAYOUTS[kind]
    if layout.rows:
        ordered = _aligned(ordered, layout)
    joined: Content = _joined(ordered, (*HEAD, *layout.shared))
    return joined


def _trained(ordered: list[Content], seeds: list[int]) -> Content:
    """Trainings put together; what the first results did not record yet is null for their seeds."""
    names = dict.fromkeys(name for part in ordered for name in part["metrics"])
    joined = {
        **{key: ordered[0][key] for key in ("net", "digest")},
        "seeds": seeds,
        "diverged": [part["diverged"][0] for part in ordered],
        "metrics": {name: [_curve(part["metrics"], name) for part in ordered] for name in names},
    }
    if any("blocks" in part for part in ordered):
        joined["blocks"] = [part.get("blocks", [None])[0] for part in ordered]
    return joined


def _curve(metrics: Content, name: str) -> list[Any]:
    """One seed's values of a metric by epoch."""
    epochs = len(next(iter(metrics.values()))[0])
    curve: list[Any] = metrics[name][0] if name in metrics else [None] * epochs
    return curve


def only(kind: str, content: Content, seeds: list[int]) -> Content:
    """The result of these seeds; one that was measured on all together stays as it is."""
    if content["seeds"] == seeds or is_together(kind):
        return content
    parts = split(kind, content)
    return join(kind, {seed: parts[seed] for seed in seeds})


def is_together(kind: str) -> bool:
    """Whether a probe is measured on several seeds at once, and says on which."""
    return kind in LAYOUTS and LAYOUTS[kind].together


def runs_of(content: Content, seeds: list[int]) -> list[Content]:
    """Where the seeds were trained: one record for each range that was trained in one stack.

    Records of the first results have no list; they are of all seeds in one stack.
    """
    if "runs" in content:
        return list(content["runs"])
    record = {key: value for key, value in content.items() if key not in ("net", "digest")}
    return [{"seeds": seeds, **record}]


def models_of(content: Content) -> list[str]:
    """Which weights each seed's result is of.

    The first results name one file that had the weights of all seeds.
    """
    return content.get("models") or [content["model"]] * len(content["seeds"])


def _one(kind: str, content: Content, place: int) -> Content:
    if kind == "train":
        return {
            **{key: content[key] for key in ("net", "digest")},
            "seeds": [content["seeds"][place]],
            "diverged": [content["diverged"][place]],
            "metrics": {name: [rows[place]] for name, rows in content["metrics"].items()},
            **({"blocks": [content["blocks"][place]]} if "blocks" in content else {}),
        }
    content = {**content, "models": models_of(content)}
    content.pop("model", None)
    shared = (*HEAD, *LAYOUTS[kind].shared)
    return {
        key: value if key in shared else _taken(value, place, shared)
        for key, value in content.items()
    }


def _taken(value: Any, place: int, shared: tuple[str, ...]) -> Any:
    """One seed's part, the seed still being the last axis."""
    if isinstance(value, dict):
        return {k: v if k in shared else _taken(v, place, shared) for k, v in value.items()}
    if not isinstance(value, list) or not value:
        return value
    if isinstance(value[0], list | dict):
        return [_taken(item, place, shared) for item in value]
    return [value[place]]


def _joined(values: list[Any], shared: tuple[str, ...]) -> Any:
    """Several parts, one after the other along the last axis; a part that is null has nulls."""
    whole = next((value for value in values if value is not None), None)
    if whole is None:
        return None
    values = [_nulls(whole) if value is None else value for value in values]
    if isinstance(whole, dict):
        keys = dict.fromkeys(key for value in values for key in value)
        return {
            key: whole[key] if key in shared else _joined([v.get(key) for v in values], shared)
            for key in keys
        }
    if whole and isinstance(whole[0], list | dict):
        return [_joined(list(items), shared) for items in zip(*values, strict=True)]
    return [item for value in values for item in value]


def _nulls(like: Any) -> Any:
    """The same shape, with null for every number."""
    if isinstance(like, dict):
        return {key: _nulls(item) for key, item in like.items()}
    return [_nulls(item) for item in like] if isinstance(like, list) else None


def _aligned(parts: list[Content], layout: Layout) -> list[Content]:
    """The parts with the same rows, in order; a row that a seed lacks is null there."""
    *names, values = layout.rows
    found = []
    for part in parts:
        rows: dict[tuple[int, ...], Any] = {}
        counts: dict[tuple[int, ...], int] = {}
        for *row, value in zip(*(part[key] for key in layout.rows), strict=True):
            counts[tuple(row)] = counts.get(tuple(row), 0) + 1
            rows[(*row, counts[tuple(row)])] = value
        found.append(rows)
    every = sorted(set().union(*found))
    columns = {key: [row[i] for row in every] for i, key in enumerate(names)}
    return [
        {**part, **columns, values: [rows.get(row, [None]) for row in every]}
        for part, rows in zip(parts, found, strict=True)
    ]
