"""Train, probe and report a study, bring MLflow up to date, and print the verdict table.

DVC is asked once what is stale. Where nothing is, nothing else is started.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from pipeline.show import show
from pipeline.stage import answer
from pipeline.stages import renew
from skipgate import params, paths
from skipgate.fanout import plan
from skipgate.files import write_atomically
from skipgate.results.stamp import stamp

SHOWN = (paths.RESULTS, paths.SPECS, paths.PARAMS, Path("src"), Path("pipeline"))
"""What MLflow's database follows from."""


def main(study: str, jobs: int) -> None:
    settings = params.load()
    target = f"report@{study}"
    plan.study_of(settings, target)
    renew(settings)
    if plan.stale(target):
        if jobs != 1:
            _do(sys.executable, "-m", "pipeline.fanout", target, "--jobs", str(jobs))
        _do("dvc", "repro", target)
    _do("dvc", "repro", "--quiet", "--single-item", "overview")
    _sync()
    show(settings)


def _sync() -> None:
    """Bring MLflow's database up to date, unless neither it nor the results have changed since."""
    files = stamp(SHOWN)
    if paths.SYNCED.exists() and paths.SYNCED.read_text() == f"{files} {_database()}":
        return
    _do(sys.executable, "-m", "pipeline.sync")
    write_atomically(paths.SYNCED, f"{files} {_database()}".encode())


def _database() -> str:
    return stamp(list(Path().glob("mlflow.db*")))


def _do(*words: str) -> None:
    """Run a command, which says itself what went wrong, and end as it has ended."""
    try:
        code = subprocess.run(words, check=False).returncode
    except KeyboardInterrupt:
        code = 130
    if code:
        sys.exit(code)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", help="a study of params.yaml")
    parser.add_argument("--jobs", type=int, default=2, help="nets at once (default: %(default)s)")
    answer(main, vars(parser.parse_args()))
