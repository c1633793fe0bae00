"""Which settings of `params.yaml` follow what a paper states, and where they depart from it.

A setting is named by its path. Braces stand for several of them: `bodies.mnist-{2,10}.width`.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skipgate.files import Problem
from skipgate.judging.papers import Paper
from skipgate.params import Params
from skipgate.reader import flat, nearest, plain

BRACES = re.compile(r"\{([^}]*)\}")


class Settings:
    """Everything that `params.yaml` sets, its defaults included, by path."""

    def __init__(self, params: Params) -> None:
        self._values = flat(plain(params))

    def found(self, setting: str) -> dict[str, Any]:
        """The values at the paths that a setting stands for; None for what has settings within."""
        return {path: self._value(path) for path in expanded(setting)}

    def _value(self, path: str) -> Any:
        if path in self._values:
            return self._values[path]
        if not any(known.startswith(f"{path}.") for known in self._values):
            raise Problem(
                f"papers: params.yaml has no setting '{path}'; {nearest(path, self._values)}"
            )
        return None


def expanded(setting: str) -> list[str]:
    """The paths that a setting stands for."""
    pieces = [
        piece.split(",") if i % 2 else [piece] for i, piece in enumerate(BRACES.split(setting))
    ]
    return ["".join(choice) for choice in itertools.product(*pieces)]


def departures(params: Params, papers: Mapping[str, Paper]) -> list[str]:
    """Settings that are not what the statement or structure says that they are said to follow."""
    settings = Settings(params)
    found = []
    for source, what, setting, stated in _followed(papers):
        values = settings.found(setting)
        for (path, value), expected in zip(values.items(), _each(stated, len(values)), strict=True):
            if expected is not None and value is not None and value != expected:
                found.append(f"{path} is {value}, where {source} has {expected}: {what}")
    return found


def _followed(papers: Mapping[str, Paper]) -> Iterator[tuple[str, str, str, Any]]:
    """Source, what is stated, the setting that follows it, and the value it must have.

    That is None where the statement is open.
    """
    for source, paper in papers.items():
        for name, protocol in paper.protocols.items():
            for line in protocol.statements:
                if line.setting:
                    stated = line.value if line.means is None else line.means
                    yield source, f"{name}, {line.what}", line.setting, stated
        for name, table in paper.tables.items():
            for cell in table.cells:
                if cell.setting:
                    place = f"{name}, {cell.row}, {cell.column}"
                    yield source, place, cell.setting, cell.value


def _each(stated: Any, count: int) -> Sequence[Any]:
    """What each of several settings must be: a list goes to them one by one."""
    if not isinstance(stated, list) or count == 1:
        return [stated] * count
    if len(stated) != count:
        raise Problem(f"papers: {stated} cannot go to {count} settings; name one setting for each")
    return stated
