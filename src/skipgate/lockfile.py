"""What `dvc.lock` records of what stages wrote: the proof that nobody has edited it since."""

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from skipgate.files import TEMPORARY, Problem, read_yaml

LOCK = Path("dvc.lock")


def written() -> dict[Path, tuple[str, str]]:
    """The stage that wrote each file or folder, and the MD5 that it left."""
    return _recorded(LOCK.absolute(), LOCK.stat().st_mtime_ns) if LOCK.exists() else {}


@functools.lru_cache(maxsize=1)
def _recorded(lock: Path, _changed: int) -> dict[Path, tuple[str, str]]:
    """The record, which takes a while to read, as long as it does not change."""
    content = read_yaml(lock)
    try:
        stages: dict[str, Any] = content["stages"]
        return {
            Path(o["path"]): (s, str(o.get("md5", "")))
            for s, record in stages.items()
            for o in record.get("outs", ())
        }
    except (AttributeError, KeyError, TypeError) as problem:
        # DVC does not write the file in one go.
        remedy = "let a running dvc come to its end, or restore it with git"
        raise Problem(f"{LOCK} is cut off or damaged; {remedy}") from problem


def is_as_written(path: Path) -> bool:
    """Whether a file or folder is there, and what the stage that wrote it left."""
    recorded = written().get(path)
    return recorded is not None and path.exists() and md5(path) == recorded[1]


def md5(path: Path) -> str:
    """The hash that DVC uses for a file or a folder; empty for what is not there."""
    if not path.exists():
        return ""
    if path.is_file():
        return _md5(path.read_bytes())
    files = sorted(file for file in path.rglob("*") if file.is_file())
    listed = [
        {"md5": md5(file), "relpath": file.relative_to(path).as_posix()}
        for file in files
        if not file.name.startswith(TEMPORARY)
    ]
    listed.sort(key=lambda entry: entry["relpath"])
    return _md5(json.dumps(listed, sort_keys=True).encode()) + ".dir"


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
