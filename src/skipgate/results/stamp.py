"""Whether files are what they were, told by names, sizes and times: nothing is read."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from skipgate.files import TEMPORARY, sha256


def stamp(places: Sequence[Path]) -> str:
    """Changes when a file at or below one of the places is made, written to, moved or removed."""
    lines = sorted(line for place in places for line in _seen(place))
    return sha256("\n".join(lines).encode())


def _seen(place: Path) -> Iterator[str]:
    """A line for each file; a path that is not there has none."""
    files = [place] if place.is_file() else _below(place)
    for file in files:
        with suppress(FileNotFoundError):  # removed meanwhile
            # A Path for each of thousands of files would take longer.
            status = os.stat(file)  # noqa: PTH116
            yield f"{os.fspath(file)} {status.st_size} {status.st_mtime_ns}"


def _below(folder: Path) -> Iterator[str]:
    for root, _, names in os.walk(folder):
        for name in names:
            if not name.startswith(TEMPORARY) and not name.endswith(".pyc"):
                yield f"{root}/{name}"
