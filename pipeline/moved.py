"""Print in Markdown what numbers, verdicts and answers have moved since a commit."""

import argparse
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.stage import answer
from skipgate import paths
from skipgate.files import Problem, read_json
from skipgate.reporting.moved import Told, moved

METRICS = paths.metrics_file("*").parent
RECORDS = paths.verdict_file("*").parent


def main(base: str) -> None:
    old = Told(dict(_committed(base, METRICS)), dict(_committed(base, RECORDS)))
    print(moved(old, Told(dict(_present(METRICS)), dict(_present(RECORDS))), base))


def _present(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(folder.glob("*.json")):
        yield file.stem, read_json(file, f"run: make report STUDY={file.stem}")


def _committed(base: str, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    listed = _git("ls-tree", "--name-only", base, f"{folder.as_posix()}/", base=base)
    for name in listed.splitlines():
        if name.endswith(".json"):
            yield Path(name).stem, json.loads(_git("show", f"{base}:{name}", base=base))


def _git(*words: str, base: str) -> str:
    told = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    if told.returncode:
        raise Problem(
            f"git knows no commit '{base}' here; name another, or run: git fetch --unshallow"
        )
    return told.stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", nargs="?", default="HEAD", help="a commit (default: %(default)s)")
    answer(main, vars(parser.parse_args()))
