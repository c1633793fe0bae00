"""Render the page, the figures and the verdicts of one study from its results."""

from pipeline.stage import run
from skipgate import params, paths
from skipgate.files import Problem, write_atomically, write_json
from skipgate.reader import nearest
from skipgate.results.pages import study_page


def main(study: str) -> None:
    settings = params.load()
    if study not in settings.studies:
        raise Problem(f"params.yaml has no study '{study}'; {nearest(study, settings.studies)}")
    page, line = study_page(settings, study)
    write_json(paths.verdict_file(study), line)
    write_atomically(paths.REPORTS / f"{study}.md", page.encode())


if __name__ == "__main__":
    run(main, __doc__, study="a study of params.yaml")
