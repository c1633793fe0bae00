"""Freeze a study's present numbers as the reference that later runs are checked against."""

from pipeline.stage import run
from skipgate import params, paths
from skipgate.files import Problem, write_json
from skipgate.results import frozen, store


def main(name: str) -> None:
    study = store.load(params.load(), name)
    if study.missing:
        raise Problem("; ".join(f"{net}: {reason}" for net, reason in study.missing.items()))
    file = paths.frozen_file(name)
    write_json(file, frozen.freeze(study))
    print(f"{file} renewed; say so in CHANGELOG.md under Results")


if __name__ == "__main__":
    run(main, __doc__, name="a study of params.yaml")
