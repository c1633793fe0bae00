"""What all stage scripts share: arguments, and errors of one sentence."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from skipgate.files import Problem


def run(work: Callable[..., Any], about: str | None, **arguments: str) -> None:
    """Call `work` with the words of the command line; a Problem ends in one sentence and code 1."""
    parser = argparse.ArgumentParser(description=about)
    for name, meaning in arguments.items():
        parser.add_argument(name, help=meaning)
    answer(work, vars(parser.parse_args()))


def answer(work: Callable[..., Any], words: dict[str, Any]) -> None:
    """Call `work`, and end with one sentence if something is wrong."""
    try:
        work(**words)
    except Problem as problem:
        sys.exit(f"skipgate: {problem}")
    except KeyboardInterrupt:
        print(
            "\nskipgate: interrupted; the same command goes on from the last finished epoch",
            file=sys.stderr,
        )
        sys.exit(130)
