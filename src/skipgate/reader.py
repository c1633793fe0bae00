"""A strict reader: plain YAML or JSON values into frozen dataclasses.

What does not fit is refused by its path.
"""

import dataclasses
import difflib
import importlib
import types
import typing
from abc import ABC
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from skipgate.files import Problem

NUMBERS = {int: "a whole number", float: "a number", str: "a word", bool: "true or false"}


OFFERED = 20
"""Words that a sentence offers where none is close."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a sentence that offers the closest known word, or those that there are."""
    choices = sorted(known)
    close = difflib.get_close_matches(word, choices, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    more = len(choices) - OFFERED
    return f"use one of: {', '.join(choices[:OFFERED])}" + (f" and {more} more" if more > 0 else "")


def positive(**numbers: float) -> None:
    """Refuse numbers that are not above 0."""
    for name, number in numbers.items():
        if number <= 0:
            raise ValueError(f"{name} must be above 0, found {number}")


def between(low: float, high: float, **numbers: float) -> None:
    """Refuse numbers outside a range."""
    for name, number in numbers.items():
        if not low <= number <= high:
            raise ValueError(f"{name} must be between {low:g} and {high:g}, found {number:g}")


def read(kind: Any, value: Any, path: str) -> Any:
    """Read `value` as `kind`.

    A kind is a dataclass, a number, a word, a Literal, a tuple, a mapping or a union of these.
    """
    origin = typing.get_origin(kind)
    if hasattr(kind, "from_plain"):
        return kind.from_plain(value, path)
    if kind is Any:
        return value
    if dataclasses.is_dataclass(kind):
        return fields_of(kind, value, path)
    if origin is typing.Literal:
        return _literal(kind, value, path)
    if origin is tuple:
        return _tuple(typing.get_args(kind), value, path)
    if origin is dict:
        inner = typing.get_args(kind)[1]
        return {
            name: read(inner, item, f"{path}.{name}")
            for name, item in _mapping(value, path).items()
        }
    if origin in (types.UnionType, typing.Union):
        return _union(typing.get_args(kind), value, path)
    return _plain(kind, value, path)


def fields_of(kind: Any, value: Any, path: str) -> Any:
    """A dataclass from the mapping of its fields."""
    fields = {field.name: field for field in dataclasses.fields(kind)}
    required = {name for name, field in fields.items() if _no_default(field)}
    hints = typing.get_type_hints(kind)
    return construct(
        kind, {name: hints[name] for name in fields}, required, _mapping(value, path), path
    )


class Chosen(ABC):
    """Something that `kind` chooses: the word is the name of the file that defines it."""

    folder: ClassVar[str]
    """The package with one file per kind."""

    @classmethod
    def from_plain(cls, value: Any, path: str) -> Self:
        """Read `{kind: WORD, ...}` as the class in the file WORD."""
        word = _mapping(value, path).get("kind")
        package = importlib.import_module(cls.folder)
        known = words_in(Path(next(iter(package.__path__))))
        if not isinstance(word, str) or word not in known:
            raise Problem(f"{path}.kind: {word!r} is not known; {nearest(str(word), known)}")
        made: Self = fields_of(class_in(f"{cls.folder}.{word}", cls), value, path)
        return made


def words_in(folder: Path) -> list[str]:
    """The names of a folder's Python files: the words that `params.yaml` may use."""
    return sorted(file.stem for file in folder.glob("*.py") if file.stem != "__init__")


def class_in(module_name: str, parent: type) -> Any:
    """The one class of a kind that a module defines."""
    module = importlib.import_module(module_name)
    found = [
        c
        for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, parent) and c.__module__ == module.__name__
    ]
    if len(found) != 1:
        file = Path(str(module.__file__)).name
        raise Problem(
            f"{file} defines {len(found)} classes of {parent.__name__}; one file holds one"
        )
    return found[0]


def construct(
    make: Any, hints: Mapping[str, Any], required: set[str], value: Mapping[str, Any], path: str
) -> Any:
    """Call `make` with the keys of `value`, each read by its hint.

    Unknown and missing keys are refused.
    """
    for name in value:
        if name not in hints:
            raise Problem(f"{path}.{name}: unknown key; {nearest(str(name), hints)}")
    for name in sorted(required - value.keys()):
        raise Problem(f"{path}: the key '{name}' is missing")
    try:
        return make(
            **{name: read(hints[name], item, f"{path}.{name}") for name, item in value.items()}
        )
    except ValueError as error:
        raise Problem(f"{path}: {error}") from error


def later(default: Any) -> Any:
    """A setting that came when there were specs already: it is written only where it is used.

    So a new setting changes no spec, and trains nothing again.
    """
    if isinstance(default, dict):  # one for each object, as dataclasses demand
        return dataclasses.field(default_factory=default.copy, metadata={"later": default})
    return dataclasses.field(default=default, metadata={"later": default})


def _no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _mapping(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Problem(f"{path}: expected keys and values, found {value!r}")
    return value


def _literal(kind: Any, value: Any, path: str) -> Any:
    choices = typing.get_args(kind)
    if value not in choices:
        raise Problem(f"{path}: {value!r} is not known; {nearest(str(value), map(str, choices))}")
    return value


def _tuple(items: tuple[Any, ...], value: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise Problem(f"{path}: expected a list, found {value!r}")
    kinds = [items[0]] * len(value) if items[-1] is Ellipsis else list(items)
    if len(kinds) != len(value):
        raise Problem(f"{path}: expected {len(kinds)} items, found {len(value)}")
    return tuple(
        read(kind, item, f"{path}[{i}]")
        for i, (kind, item) in enumerate(zip(kinds, value, strict=True))
    )


def _union(kinds: tuple[Any, ...], value: Any, path: str) -> Any:
    """A word or a mapping; or dataclasses, told apart by their literal `kind`."""
    words = [kind for kind in kinds if typing.get_origin(kind) is typing.Literal]
    if words:
        (mapping,) = (kind for kind in kinds if kind not in words)
        return read(mapping if isinstance(value, dict) else words[0], value, path)
    by_kind = {typing.get_args(typing.get_type_hints(kind)["kind"])[0]: kind for kind in kinds}
    word = _mapping(value, path).get("kind")
    if not isinstance(word, str) or word not in by_kind:
        raise Problem(f"{path}.kind: {word!r} is not known; {nearest(str(word), by_kind)}")
    return read(by_kind[word], value, path)


def _plain(kind: type, value: Any, path: str) -> Any:
    fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        hint = ""
        if kind in (int, float) and isinstance(value, str) and _is_number(value):
            hint = f" (YAML reads it as text; write it out, as in {float(value):f})"
        raise Problem(f"{path}: expected {NUMBERS[kind]}, found {value!r}{hint}")
    return kind(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def plain(value: Any) -> Any:
    """The inverse of `read`: values that YAML and JSON know."""
    if hasattr(value, "to_plain"):
        return value.to_plain()
    if dataclasses.is_dataclass(value):
        return {
            field.name: plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if getattr(value, field.name) != field.metadata.get("later", dataclasses.MISSING)
        }
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested plain settings as dotted keys."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found.update(
            flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
        )
    return found
