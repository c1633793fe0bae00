"""Write the verdict table over all studies to reports/README.md and into README.md.

Also the picture of every judged number, and the list of what the papers report.
"""

from pipeline.stage import run
from skipgate import params, paths
from skipgate.files import write_atomically
from skipgate.judging import papers
from skipgate.reporting import judged
from skipgate.reporting.gate_page import gate_page
from skipgate.reporting.glance import recorded
from skipgate.reporting.listing import papers_page
from skipgate.reporting.overview import README, overview_page, readme


def main() -> None:
    settings = params.load()
    known = papers.load(settings)
    records = {name: recorded(name) for name in (*settings.studies, "theory")}
    judged.draw(records, known, paths.judged_file())
    write_atomically(README, readme(settings, known).encode())
    write_atomically(paths.REPORTS / "README.md", overview_page(settings, known).encode())
    write_atomically(paths.REPORTS / "papers.md", papers_page(settings, known).encode())
    write_atomically(paths.REPORTS / "gate.md", gate_page(settings).encode())


if __name__ == "__main__":
    run(main, __doc__)
