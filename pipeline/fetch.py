"""Fetch one data set, verify it and write its arrays to data/NAME."""

from pipeline.stage import run
from skipgate import params, paths
from skipgate.data.sources import fetch
from skipgate.files import Problem
from skipgate.reader import nearest


def main(name: str) -> None:
    known = params.load().data
    if name not in known:
        raise Problem(f"params.yaml has no data set '{name}'; {nearest(name, known)}")
    fetch(name, known[name], paths.data_folder(name))


if __name__ == "__main__":
    run(main, __doc__, name="a data set of params.yaml")
