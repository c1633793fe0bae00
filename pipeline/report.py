"""Render the page, figures, verdicts, metrics and plots of one study from its results."""

from pipeline.stage import run
from skipgate import params, paths
from skipgate.files import write_atomically, write_json
from skipgate.judging import papers
from skipgate.judging.judgement import judge_study
from skipgate.reporting import choice_figure, curves, paper_figures
from skipgate.reporting.figures import draw_all
from skipgate.reporting.metrics import metrics
from skipgate.reporting.pages import study_page
from skipgate.results import store


def main(study: str) -> None:
    settings = params.load()
    loaded = store.load(settings, study)
    judgement = judge_study(settings, loaded, papers.load(settings))
    page = study_page(settings, loaded, judgement)
    # A study that was not run has nothing to draw, and DVC wants the folder all the same.
    paths.figure_folder(study).mkdir(parents=True, exist_ok=True)
    draw_all(loaded, paths.figure_folder(study))
    paper_figures.draw_all(loaded, judgement, paths.figure_folder(study))
    choice_figure.draw_all(judgement.choices, paths.figure_folder(study))
    curves.write_all(loaded, paths.plots_folder(study))
    numbers = metrics(loaded, judgement, settings.studies[study].rule)
    write_json(paths.metrics_file(study), numbers)
    write_json(paths.verdict_file(study), judgement.plain())
    write_atomically(paths.REPORTS / f"{study}.md", page.encode())


if __name__ == "__main__":
    run(main, __doc__, study="a study of params.yaml")
