"""`vary` beside a net: the same net with a choice or two changed, each a net of its own.

A change is a path into what the net is made of, as `body.norm.scale` or `T.start`, with its value.
Changes are made in `params.yaml` as it was read, so that all that follows knows nets and no
variations.
"""

from collections.abc import Iterator
from typing import Any

from skipgate.files import Problem
from skipgate.reader import nearest, read
from skipgate.settings import Body, GateChoice, Handling

SECTIONS = {"body": "bodies", "recipe": "recipes"}
"""Parts of a net that stand elsewhere in the file, under a name."""
KINDS: dict[str, Any] = {"body": Body, "recipe": Handling, "T": GateChoice, "C": GateChoice}
"""What a path may begin with."""

Plain = dict[str, Any]


def labelled(vary: Any, known: Any, where: str) -> Iterator[tuple[str, tuple[str, ...], Plain]]:
    """Each variation: the end of its name, the choices it is made of, and its changes.

    Those of a list are names of `variations`, or lists of such names that are changed together;
    those of a mapping have their changes beside them.
    """
    if isinstance(vary, dict):
        for label, changes in vary.items():
            if not isinstance(changes, dict) or not changes:
                raise Problem(f"{where}.{label}: expected paths with values, found {changes!r}")
            yield str(label), (str(label),), changes
        return
    if not isinstance(vary, list):
        raise Problem(f"{where}: expected names of variations, or changes by name, found {vary!r}")
    for item in vary:
        names = tuple(map(str, item if isinstance(item, list) else [item]))
        yield "-".join(names), names, _together(names, known, where)


def _together(names: tuple[str, ...], known: Any, where: str) -> Plain:
    """The changes of several variations; two that change the same thing are refused."""
    found: Plain = {}
    for name in names:
        if not isinstance(known, dict) or name not in known:
            offered = nearest(name, known or ["none: write it under variations"])
            raise Problem(f"{where}: there is no variation '{name}'; {offered}")
        if not isinstance(known[name], dict):
            raise Problem(f"params.variations.{name}: expected paths with values")
        for path in found.keys() & known[name].keys():
            raise Problem(f"{where}: {' and '.join(names)} both change {path}; leave one out")
        found.update(known[name])
    return found


def varied(raw: Plain, name: str, net: Plain, changes: Plain, where: str) -> Plain:
    """The net with these changes; what it is then made of is added to `raw` under its name."""
    net = dict(net)
    parts: Plain = {}
    for path, value in changes.items():
        key, *rest = str(path).split(".")
        if key not in KINDS:
            raise Problem(f"{where}.{path}: a net has no '{key}'; {nearest(key, KINDS)}")
        part = parts.get(key, _part(raw, key, net, where)) if rest else value
        parts[key] = _with(part, rest, value) if rest else value
    for key, part in parts.items():
        read(KINDS[key], part, f"{where}.{key}")
        if key in SECTIONS:
            section = SECTIONS[key]
            if name in raw[section]:
                raise Problem(f"params.{section}.{name}: a variation has this name; rename one")
            raw[section] = {**raw[section], name: part}
        net[key] = name if key in SECTIONS else part
    return net


def _part(raw: Plain, key: str, net: Plain, where: str) -> Any:
    """What a net has for one of its parts, as settings by name."""
    if key not in SECTIONS:
        return GateChoice.from_plain(net.get(key, 1), f"{where}.{key}").to_plain()
    section = raw.get(SECTIONS[key])
    word = net.get(key)
    if not isinstance(section, dict) or word not in section:
        raise Problem(f"{where}: there is no {key} '{word}' to change")
    return section[word]


def _with(settings: Any, path: list[str], value: Any) -> Plain:
    """A copy of nested settings that has this value at a path."""
    key, *rest = path
    known = settings if isinstance(settings, dict) else {}
    return {**known, key: _with(known.get(key), rest, value) if rest else value}
