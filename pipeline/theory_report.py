"""Render the page and the figures of the theory study from its results."""

from pipeline.stage import run
from skipgate import paths
from skipgate.files import write_atomically
from skipgate.results.theory import theory_page


def main() -> None:
    write_atomically(paths.REPORTS / "theory.md", theory_page().encode())


if __name__ == "__main__":
    run(main, __doc__)
