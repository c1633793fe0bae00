"""Run every study that can be run here, render all pages, and say what was refused.

Ends with code 1 if anything was.
"""

import argparse
import subprocess
import sys

from pipeline.stage import answer
from skipgate import params
from skipgate.files import Problem
from skipgate.results import store


def main(jobs: int) -> None:
    settings = params.load()
    _do(sys.executable, "-m", "pipeline.stages")
    for study in settings.studies:
        if jobs > 1:
            _do(sys.executable, "-m", "pipeline.fanout", f"report@{study}", "--jobs", str(jobs))
    # What comes after a stage that fails is still run: a page shows what there is.
    _do("dvc", "repro", "--ignore-errors")
    _do("dvc", "repro", "--quiet", "--single-item", "overview")
    left = {
        net: why
        for study in settings.studies
        for net, why in store.load(settings, study).lacking().items()
    }
    if left:
        told = "\n".join(f"  {net}: {why}" for net, why in left.items())
        raise Problem(f"{len(left)} nets were not run, or not wholly:\n{told}")


def _do(*words: str) -> None:
    """Run a command to its end, whatever it comes to: it says itself what went wrong."""
    print(f"$ {' '.join(words)}", flush=True)
    subprocess.run(words, check=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--jobs", type=int, default=2, help="trainings at once (default: %(default)s)"
    )
    answer(main, vars(parser.parse_args()))
