"""Compare two checkouts of the project: what a change that should move no number has moved.

    python -m tests.compare OLD NEW

Pages are compared without their links and padding: a place that has the same numbers in other words
is counted, one with other numbers is printed. Result files are compared byte for byte.
"""

import argparse
import difflib
import re
import sys
from pathlib import Path

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def words(page: Path) -> list[str]:
    """The lines of a page as a person reads them."""
    text = re.sub(r"\]\([^)]*\)", "]", page.read_text())
    text = re.sub(r":?-{3,}:?", "---", text)
    return re.sub(r" +", " ", text).splitlines()


def pages(old: Path, new: Path) -> int:
    """Print what differs in the pages; how many places have other numbers."""
    moved = 0
    found = [*sorted(new.glob("reports/*.md")), *sorted(new.glob("reports/verdicts/*.json"))]
    for page in found:
        before = old / page.relative_to(new)
        a, b = (words(file) if file.exists() else [] for file in (before, page))
        same = other = 0
        for tag, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            lines = ["\n".join(a[i:j]), "\n".join(b[k:m])]
            if tag == "equal":
                continue
            if NUMBER.findall(lines[0]) == NUMBER.findall(lines[1]):
                same += 1
            else:
                other += 1
                say(f"{page.name}\n- {lines[0]}\n+ {lines[1]}")
        say(f"{page.relative_to(new)}: {same} places with other words, {other} with other numbers")
        moved += other
    return moved


def results(old: Path, new: Path) -> int:
    """Print which result files differ; how many do."""
    files = sorted(new.glob("results/**/*.json"))
    different = [
        file
        for file in files
        if not (before := old / file.relative_to(new)).exists()
        or before.read_bytes() != file.read_bytes()
    ]
    for file in different:
        say(f"{file.relative_to(new)} differs")
    say(f"{len(files) - len(different)} of {len(files)} result files have the same bytes")
    return len(different)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    given = parser.parse_args()
    sys.exit(bool(pages(given.old, given.new) + results(given.old, given.new)))
