"""Freeze a study's present numbers as the reference that later runs are checked against."""

from pathlib import Path

from pipeline.stage import run
from skipgate import params, paths
from skipgate.files import Problem, write_atomically, write_json
from skipgate.judging import frozen
from skipgate.results import store

CHANGELOG = Path("CHANGELOG.md")
RESULTS = "### Results\n\n"


def main(name: str) -> None:
    study = store.load(params.load(), name)
    study.demand("train")
    file = paths.frozen_file(name)
    old = frozen.load(name)
    write_json(file, frozen.freeze(study))
    line = frozen.describe(study, old, frozen.load(name))
    text = CHANGELOG.read_text()
    if RESULTS not in text:
        raise Problem(
            f"{CHANGELOG} has no line '{RESULTS.strip()}' to write under; add it and run this again"
        )
    write_atomically(CHANGELOG, text.replace(RESULTS, f"{RESULTS}{line}\n", 1).encode())
    print(f"{file} renewed; {CHANGELOG} says: {line}")


if __name__ == "__main__":
    run(main, __doc__, name="a study of params.yaml")
