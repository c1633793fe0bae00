"""Fetch one data set, verify it and write its arrays to data/NAME."""

from pipeline.stage import run
from skipgate import params, paths
from skipgate.data.fetching import fetch
from skipgate.files import Problem
from skipgate.reader import nearest


def main(name: str) -> None:
    settings = params.load()
    if name not in settings.data:
        raise Problem(f"params.yaml has no data set '{name}'; {nearest(name, settings.data)}")
    content = settings.data[name]
    found = fetch(name, content, settings.sources[name], paths.data_folder(name))
    if not content.sha256:
        print(f"data.{name}: the decoded content hashes to {found}; no hash of it is recorded")


if __name__ == "__main__":
    run(main, __doc__, name="a data set of params.yaml")
