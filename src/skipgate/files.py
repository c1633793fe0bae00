"""Reading and writing files so that nothing is ever half-written."""

import errno
import hashlib
import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import yaml

SIGNIFICANT = 6
TEMPORARY = ".tmp-"
"""What unfinished files begin with; git and DVC ignore them."""

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C takes a fifth of the time, where PyYAML was built with it."""


class Problem(Exception):
    """Something the user can put right: one sentence that says what to change."""


class NotAtHand(Problem):
    """Something that a study can do without is not to be had here."""


def write_atomically(path: Path, content: bytes | memoryview) -> None:
    """Write beside `path` and rename over it.

    A reader sees the old file or the new one, nothing between.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # else a power cut may leave the new name with no content
        temporary.chmod(0o644)  # mkstemp makes files private; results are meant to be read
        temporary.replace(path)
    except OSError as error:
        remedy = "free some space" if error.errno == errno.ENOSPC else "see to that"
        raise Problem(
            f"{path} could not be written ({error.strerror}); {remedy} and run it again"
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """One key per line but lists on one line, so that a diff of a result is readable."""
    write_atomically(path, json_bytes(value))


def json_bytes(value: Any) -> bytes:
    """The content that `write_json` writes."""
    return (_laid_out(value) + "\n").encode()


def _laid_out(value: Any, margin: str = "") -> str:
    if not isinstance(value, dict) or not value:
        return json.dumps(value, allow_nan=False)
    deeper = margin + "  "
    lines = [f"{deeper}{json.dumps(key)}: {_laid_out(item, deeper)}" for key, item in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{margin}}}"


def read_json(path: Path, remedy: str) -> Any:
    """The value in a JSON file; a missing or damaged one is refused together with its remedy."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError as error:
        raise Problem(f"{path} is not there; {remedy}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise Problem(f"{path} is damaged or cut short ({error}); {remedy}") from error


def read_yaml(path: Path) -> Any:
    """The value in a YAML file."""
    try:
        return yaml.load(path.read_text(), LOADER)  # noqa: S506  both are safe
    except FileNotFoundError as error:
        raise Problem(f"{path} is not there; run this from the project's root") from error
    except yaml.YAMLError as error:
        raise Problem(f"{path} is not valid YAML: {' '.join(str(error).split())}") from error


def rounded(value: Any) -> Any:
    """Numbers to as many digits as a result needs.

    NaN and infinity become null, which JSON knows.
    """
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def sha256(*parts: bytes | memoryview) -> str:
    """Hex digest of the parts, one after the other."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
