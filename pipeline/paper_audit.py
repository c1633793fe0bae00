"""Write the papers' audit, their own sums and counts recomputed, to reports/audit.md."""

from pipeline.stage import run
from skipgate import params, paths
from skipgate.files import write_atomically
from skipgate.judging import papers
from skipgate.reporting.audit_page import audit_page


def main() -> None:
    write_atomically(paths.REPORTS / "audit.md", audit_page(papers.load(params.load())).encode())


if __name__ == "__main__":
    run(main, __doc__)
