"""Look the locked packages up in a vulnerability database; where none can be reached, say so."""

import json
import subprocess
import sys

from pipeline.stage import run
from skipgate import paths

SECONDS = 180


def main() -> None:
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--requirement",
        str(paths.LOCK),
        "--disable-pip",
        "--format",
        "json",
    ]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SECONDS
        )
        packages = json.loads(answer.stdout)["dependencies"]
    except (json.JSONDecodeError, subprocess.TimeoutExpired):
        print(
            "advisories: no vulnerability database can be reached; the packages were not looked up"
        )
        return
    known = [(p["name"], p["version"], v["id"]) for p in packages for v in p.get("vulns", ())]
    for name, version, number in known:
        print(f"advisories: {name} {version} has {number}")
    print(f"advisories: {len(packages)} packages looked up, {len(known)} known vulnerabilities")


if __name__ == "__main__":
    run(main, __doc__)
