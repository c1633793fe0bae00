"""Print the verdict table and where the reports are."""

from pathlib import Path

from pipeline.stage import run
from skipgate import params, paths
from skipgate.reporting.glance import study_table


def main() -> None:
    show(params.load())


def show(settings: params.Params) -> None:
    print("\n" + study_table(settings, Path()))
    pages = [paths.REPORTS / f"{study}.md" for study in settings.studies]
    print("\nreport:", " ".join(str(page) for page in pages if page.exists()))


if __name__ == "__main__":
    run(main, __doc__)
