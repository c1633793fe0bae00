"""Print one line of verdicts for every study, and where the pages are that explain them."""

from pipeline.stage import run
from skipgate import params, paths


def main() -> None:
    from skipgate.reporting.overview import study_table  # brings pandas

    settings = params.load()
    print("\n" + study_table(settings))
    pages = [paths.REPORTS / f"{study}.md" for study in (*settings.studies, "theory")]
    print("\nreport:", " ".join(str(page) for page in pages if page.exists()))
    print("What the words mean, and what surprises most:", paths.REPORTS / "README.md")


if __name__ == "__main__":
    run(main, __doc__)
