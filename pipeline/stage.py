"""What stage scripts share: arguments, errors of one sentence, a study that was asked for."""

import argparse
import os
import select
import sys
from collections.abc import Callable, Sequence
from typing import Any

from skipgate.files import Problem
from skipgate.params import Params
from skipgate.reader import nearest
from skipgate.results import store

NOBODY_READS = 141
"""What shells say of a command that wrote where nobody read."""


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
        sys.stdout.flush()
    except Problem as problem:
        sys.exit(f"skipgate: {problem}")
    except KeyboardInterrupt:
        print(
            "\nskipgate: interrupted; the same command goes on from the last finished epoch",
            file=sys.stderr,
        )
        sys.exit(130)
    except BrokenPipeError:
        _end_if_nobody_reads()
        raise


def _end_if_nobody_reads() -> None:
    """Leave without a word if what is printed goes nowhere any more, as by `| head`."""
    output = select.poll()
    output.register(sys.stdout, select.POLLOUT)
    if any(event & select.POLLERR for _, event in output.poll(0)):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python flushes again
        sys.exit(NOBODY_READS)


def study_of(settings: Params, name: str, nets: Sequence[str]) -> store.StudyResults:
    """The results of a study that was run and has the nets that are named."""
    study = store.load(settings, name)
    for net in nets:
        if net not in study.specs:
            raise Problem(f"{name} has no net '{net}'; {nearest(net, study.specs)}")
    if not study.results:
        raise Problem(f"no net of {name} has been run; run: make repro STUDY={name}")
    return study
