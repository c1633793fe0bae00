"""Freeze a study's numbers as the reference that later runs are checked against.

A study may ask for more seeds than it reports (`frozen_seeds`): they are trained and probed in a
folder of their own, and what is finished there is found again after an interruption.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from pipeline.stage import answer, study_of
from skipgate import params, paths
from skipgate.fanout.reference import reference_run
from skipgate.files import Problem, read_json, write_atomically, write_json
from skipgate.results import store

CHANGELOG = Path("CHANGELOG.md")
RESULTS = "### Results\n\n"


def main(name: str, nets: Sequence[str], reason: str, jobs: int) -> None:
    if not reason.strip():
        raise Problem(
            "say why: make freeze STUDY=... REASON='the schedule steps at 82 instead of 80'; the "
            "reason goes into CHANGELOG.md with the old and the new numbers"
        )
    settings = params.load()
    study = study_of(settings, name, nets)
    study.demand("train")
    from skipgate.judging import frozen  # brings SciPy, after a wrong name is refused

    old = frozen.load(study)
    content = frozen.freeze(_reference(settings, name, nets, jobs) or study, reason)
    if nets:
        before = read_json(paths.frozen_file(name), "freeze all nets first, naming none")
        content["nets"] = before["nets"] | {net: content["nets"][net] for net in nets}
    write_json(paths.frozen_file(name), content)
    line = frozen.describe(study, reason, old, frozen.load(study))
    _tell(line)
    print(f"{paths.frozen_file(name)} renewed; {CHANGELOG} says: {line}")


def _tell(line: str) -> None:
    """Put a line under the changelog's results."""
    text = CHANGELOG.read_text()
    if RESULTS not in text:
        raise Problem(f"{CHANGELOG} has no line '{RESULTS.strip()}'; add it, and under it: {line}")
    write_atomically(CHANGELOG, text.replace(RESULTS, f"{RESULTS}{line}\n", 1).encode())


def _reference(
    settings: params.Params, name: str, nets: Sequence[str], jobs: int
) -> store.StudyResults | None:
    """The study with as many seeds as are to be frozen; None if its own are."""
    seeds = settings.studies[name].frozen_seeds
    if not seeds:
        return None
    folder = reference_run(settings, name, seeds, jobs, nets)
    root = Path.cwd()
    os.chdir(folder)
    try:
        return store.load(params.load(), name)
    finally:
        os.chdir(root)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", metavar="STUDY", help="a study of params.yaml")
    parser.add_argument(
        "nets",
        metavar="NET",
        nargs="*",
        default=(),
        help="nets of that study; the others stay as they are (default: all)",
    )
    parser.add_argument("--reason", required=True, help="why, for CHANGELOG.md")
    parser.add_argument("--jobs", type=int, default=2, help="nets at once (default: %(default)s)")
    answer(main, vars(parser.parse_args()))
