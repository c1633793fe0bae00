"""Compute what the papers derive, and write it to results/theory; nothing is trained."""

from pipeline.stage import run
from skipgate import paths
from skipgate.files import rounded, write_json
from skipgate.theory import results


def main() -> None:
    for name, result in results().items():
        write_json(paths.theory_file(name), rounded(result))


if __name__ == "__main__":
    run(main, __doc__)
