"""Obtaining data sets. Whatever the source, the decoded arrays must match one recorded hash."""

import importlib
import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from skipgate.files import Problem, sha256, write_atomically
from skipgate.settings import Source, TaskSettings

Arrays = dict[str, npt.NDArray[np.integer[Any]]]


def fetch(name: str, content: TaskSettings, source: Source, folder: Path) -> None:
    """Obtain and decode a data set, compare it with its hash and write one .npy file per array."""
    reader = importlib.import_module(f"skipgate.data.sources.{source.kind}")
    arrays: Arrays = reader.arrays(name, source)
    found = content_hash(arrays)
    if found != content.sha256:
        raise Problem(
            f"data.{name}: the decoded content hashes to {found}, not to the recorded "
            f"{content.sha256}"
        )
    for array_name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        write_atomically(folder / f"{array_name}.npy", buffer.getvalue())


def content_hash(arrays: Arrays) -> str:
    """SHA-256 over names, shapes and bytes."""
    parts = (
        part
        for name, array in arrays.items()
        for part in (f"{name}{array.shape}".encode(), array.tobytes())
    )
    return sha256(*parts)
