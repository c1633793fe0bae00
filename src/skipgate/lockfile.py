"""What `dvc.lock` records of the files that stages wrote: the proof that nobody has edited them since."""

import hashlib
from pathlib import Path
from typing import Any

from skipgate.files import Problem, read_yaml

LOCK = Path("dvc.lock")


def written() -> dict[Path, tuple[str, str]]:
    """The stage that wrote each file, and the MD5 that it left."""
    stages: dict[str, Any] = read_yaml(LOCK).get("stages", {}) if LOCK.exists() else {}
    try:
        return {
            Path(o["path"]): (s, str(o.get("md5", "")))
            for s, record in stages.items()
            for o in record.get("outs", ())
        }
    except (
        AttributeError,
        KeyError,
        TypeError,
    ) as problem:  # DVC does not write the file in one go
        remedy = "let a running dvc come to its end, or restore it with git"
        raise Problem(f"{LOCK} is cut off or damaged; {remedy}") from problem


def md5(file: Path) -> str:
    """The hash that DVC uses; empty for a file that is not there."""
    if not file.exists():
        return ""
    return hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()
