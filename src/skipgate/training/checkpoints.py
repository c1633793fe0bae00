"""State on disk: what a killed run continues from, and what a finished one leaves."""

import io
import warnings
from pathlib import Path
from typing import Any

import torch

from skipgate.files import Problem


def to_bytes(state: dict[str, Any]) -> bytes:
    """Tensors and plain values as a file.

    The same state gives the same bytes, whatever the file is called.
    """
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def load(path: Path | io.BytesIO, remedy: str) -> dict[str, Any]:
    """Read what `to_bytes` made; a damaged file is refused.

    Only tensors and plain values are ever unpickled.
    """
    name = path if isinstance(path, Path) else "a seed's weights"
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise Problem(f"{name} is not there; {remedy}") from error
    except OSError:
        raise
    except Exception as error:  # a damaged pickle can fail in any way
        raise Problem(f"{name} is damaged or cut short; {remedy}") from error
    return state


def resume(path: Path) -> dict[str, Any] | None:
    """The checkpoint of an interrupted run, if there is one that can be read."""
    if not path.exists():
        return None
    try:
        return load(path, "starting again")
    except Problem as problem:
        warnings.warn(str(problem), stacklevel=2)
        return None
