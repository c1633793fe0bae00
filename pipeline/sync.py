"""Bring MLflow up to date with the results on disk; with --links, say where its UI shows them.

Running it twice changes nothing. It writes to the server that MLFLOW_TRACKING_URI names, else to
mlflow.db.
"""

import argparse
from pathlib import Path

from pipeline.stage import answer
from skipgate import params
from skipgate.judging import papers
from skipgate.judging.judgement import judge_study
from skipgate.results import store
from skipgate.tracking import connect, links, sync


def main(links_at: str | None) -> None:
    settings = params.load()
    sources = papers.load(settings)
    client = connect(Path())
    found = {}
    for study in settings.studies:
        results = store.load(settings, study)
        counts = sync(client, settings, results, judge_study(settings, results, sources))
        print(f"{study}: {counts['written']} runs written, {counts['unchanged']} unchanged")
        found[study] = links(client, study, links_at) if links_at else {}
    for study, views in found.items():
        for name, address in views.items():
            print(f"{study}, {name}: {address}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--links", dest="links_at", metavar="ADDRESS", help="where the UI is, or will be"
    )
    answer(main, vars(parser.parse_args()))
