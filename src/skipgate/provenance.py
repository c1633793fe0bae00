"""Where a result comes from.

Enough to find the code and judge the machine, nothing about its owner.
"""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from skipgate import paths
from skipgate.files import sha256

DECISIVE = ("src", "pipeline", "params.yaml", "requirements.lock")


def provenance(device: str, threads: int, seconds: float) -> dict[str, Any]:
    """Commit, lock file, versions, device, threads and time."""
    return {
        "commit": _commit(),
        "lock": sha256(paths.LOCK.read_bytes())[:16] if paths.LOCK.exists() else None,
        "python": platform.python_version(),
        "torch": version("torch"),
        "machine": f"{platform.system()} {platform.machine()}",
        "device": device,
        "threads": threads,
        "seconds": round(seconds, 1),
    }


def _commit() -> str | None:
    """The commit at hand; None outside a repository.

    It is marked if what decides results differs from it.
    """
    try:
        head = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
        )
        changed = subprocess.run(
            ["git", "diff", "--quiet", "HEAD", "--", *DECISIVE], capture_output=True, check=False
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("-dirty" if changed.returncode else "")


def machine() -> str:
    """System, processor and cores in a few words."""
    return f"{platform.system()} {platform.machine()}, {_processor()}, {os.cpu_count()} cores"


def _processor() -> str:
    """What the system calls its processor."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    return next(
        (line.split(":")[1].strip() for line in lines if line.startswith("model name")),
        "unknown processor",
    )
