"""Render the page and the figures of the theory study from its results."""

from pipeline.stage import run
from skipgate import params, paths
from skipgate.files import write_atomically, write_json
from skipgate.judging import papers
from skipgate.judging.exact import judge_theory
from skipgate.reporting.theory import draw, theory_page


def main() -> None:
    judgement = judge_theory(papers.load(params.load()))
    draw()
    write_json(paths.verdict_file("theory"), judgement.plain())
    write_atomically(paths.REPORTS / "theory.md", theory_page(judgement).encode())


if __name__ == "__main__":
    run(main, __doc__)
