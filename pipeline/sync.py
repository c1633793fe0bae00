"""Bring the MLflow database up to date with the results on disk.

Running it twice changes nothing.
"""

from pathlib import Path

from pipeline.stage import run
from skipgate import params
from skipgate.results import store
from skipgate.tracking import connect, sync


def main() -> None:
    settings = params.load()
    client = connect(Path())
    for study in settings.studies:
        counts = sync(client, store.load(settings, study))
        print(f"{study}: {counts['written']} runs written, {counts['unchanged']} unchanged")


if __name__ == "__main__":
    run(main, __doc__)
