"""The papers against themselves.

Their sums, counts and equations are recomputed from the numbers they print.
"""

from collections.abc import Mapping
from typing import get_args

from skipgate.judging.audit import epsilon, equations, estimates, gresnet, unrolled
from skipgate.judging.audit.check import Check, Printed, Word
from skipgate.judging.papers import Paper

WORDS: tuple[Word, ...] = get_args(Word)
MODULES = (gresnet, epsilon, unrolled, equations, estimates)


def audit(papers: Mapping[str, Paper]) -> list[Check]:
    """All checks, paper by paper."""
    found: list[Check] = []
    for name in papers:
        for module in MODULES:
            for checks in module.CHECKS.get(name, ()):
                found += checks(Printed(papers, name))
    return found
