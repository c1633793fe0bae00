"""Print one line of verdicts for every study, and where the pages are that explain them."""

from pipeline.stage import run
from skipgate import params, paths
from skipgate.reporting.glance import study_table


def main() -> None:
    show(params.load())


def show(settings: params.Params) -> None:
    print("\n" + study_table(settings))
    pages = [paths.REPORTS / f"{study}.md" for study in (*settings.studies, "theory")]
    print("\nreport:", " ".join(str(page) for page in pages if page.exists()))
    print("What the words mean, and what surprises most:", paths.REPORTS / "README.md")


if __name__ == "__main__":
    run(main, __doc__)
