"""Obtaining data sets. Whatever the source, the decoded arrays must match one recorded hash.

Where nobody could record it, the official files match theirs, and the arrays are counted.
"""

import importlib
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from skipgate.files import Problem, read_json, sha256, write_atomically, write_json
from skipgate.settings import Source, TaskSettings

Arrays = dict[str, npt.NDArray[Any]]
FOUND = "content.json"
"""What the arrays hash to, beside them where no hash is recorded."""


def fetch(name: str, content: TaskSettings, source: Source, folder: Path) -> str:
    """Obtain and decode a data set, compare it with its hash and write one .npy file per array.

    Gives what it hashes to.
    """
    reader = importlib.import_module(f"skipgate.data.sources.{source.kind}")
    arrays: Arrays = reader.arrays(name, source, content)
    found = content_hash(arrays)
    if content.sha256 and found != content.sha256:
        raise Problem(
            f"data.{name}: the decoded content hashes to {found}, not to the recorded "
            f"{content.sha256}"
        )
    for array_name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        write_atomically(folder / f"{array_name}.npy", buffer.getbuffer())
    if not content.sha256:
        write_json(folder / FOUND, {"sha256": found})
    return found


def content_hash(arrays: Arrays) -> str:
    """SHA-256 over names, shapes and bytes."""
    parts = (
        part
        for name, array in arrays.items()
        for part in (f"{name}{array.shape}".encode(), np.ascontiguousarray(array).data)
    )
    return sha256(*parts)


def found_hash(folder: Path) -> dict[str, str]:
    """What fetched arrays hash to, where that was not known before."""
    file = folder / FOUND
    return {"data": read_json(file, fetch_again(folder))["sha256"]} if file.exists() else {}


def read_arrays(folder: Path, names: Iterable[str]) -> list[npt.NDArray[Any]]:
    """Fetched arrays."""
    arrays = []
    for name in names:
        try:
            arrays.append(np.load(folder / f"{name}.npy"))
        except (OSError, ValueError, EOFError) as error:
            raise Problem(
                f"{folder / name}.npy is missing or damaged; {fetch_again(folder)}"
            ) from error
    return arrays


def fetch_again(folder: Path) -> str:
    """The command that fetches what lies in a folder."""
    return f"run: dvc repro -f -s fetch@{folder.name}"
