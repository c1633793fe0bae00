"""What stage scripts share: arguments, errors of one sentence, a study that was asked for."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from skipgate.files import Problem
from skipgate.params import Params
from skipgate.reader import nearest
from skipgate.results import store


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


def study_of(settings: Params, name: str, nets: Sequence[str]) -> store.StudyResults:
    """The results of a study that was run and has the nets that are named."""
    study = store.load(settings, name)
    for net in nets:
        if net not in study.specs:
            raise Problem(f"{name} has no net '{net}'; {nearest(net, study.specs)}")
    if not study.results:
        raise Problem(f"no net of {name} has been run; run: make repro STUDY={name}")
    return study
