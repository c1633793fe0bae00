"""Measure speed against the ordinary ways, and write reports/bench.md.

Both sides of a comparison are measured in one run, section by section.
"""

import argparse
from collections.abc import Sequence

from pipeline.stage import answer
from skipgate.files import Problem
from skipgate.reader import nearest

SECTIONS = ("training", "compiled", "convolutions", "language", "lesions")


def main(sections: Sequence[str]) -> None:
    for name in sections:
        if name not in SECTIONS:
            raise Problem(f"there is no section '{name}'; {nearest(name, SECTIONS)}")
    from skipgate import bench_page  # brings PyTorch, after a wrong name is refused

    for name in sections or SECTIONS:
        print(bench_page.renew(name))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="SECTION",
        help=f"which to measure, of {', '.join(SECTIONS)} (default: all, which takes an hour)",
    )
    answer(main, vars(parser.parse_args()))
