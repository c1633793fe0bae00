"""The command `skipgate`: what people type, each a script of the project's `pipeline/`."""

import argparse
import runpy
import sys
from importlib.metadata import version
from pathlib import Path

from skipgate import paths
from skipgate.files import Problem
from skipgate.reader import nearest

COMMANDS = {
    "show": "print one line of verdicts for every study",
    "why": "tell all about one net: settings, results, verdicts, how to make it again",
    "verify": "prove that results, digests, verdicts and pages follow from each other",
    "moved": "tell which numbers and verdicts have moved since a commit",
    "check": "compare a study's numbers with its frozen ones",
    "everything": "run every study that this machine can, and say what it cannot",
    "fanout": "train what a study lacks, several nets at once, or say what that would cost",
    "freeze": "make a study's present numbers the frozen ones",
    "compress": "write a trained net without the blocks that do nothing, for plain PyTorch",
    "bench": "measure speed against the ordinary ways",
}
"""Names of scripts in `pipeline/`, and what each does, the most harmless first."""
ABOUT = "Networks that learn identity mappings, and what was reported about them, regenerated."
EXAMPLES = """\
for example:
  skipgate why gated-10                          all about one net
  skipgate fanout report@cifar --dry-run         what a study would cost, before it runs
  skipgate check digits                          whether fresh numbers are the frozen ones

`skipgate COMMAND --help` says what a command takes. `make repro` runs a whole study and ends with
its verdicts; `make` lists what else there is.
"""


def main() -> None:
    """Run the command that is named, or show them all."""
    parser = argparse.ArgumentParser(
        prog="skipgate",
        usage="skipgate COMMAND ...",
        description=f"{ABOUT}\n\ncommands:\n{_listed()}",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"skipgate {version('skipgate')}")
    words = sys.argv[1:]
    if not words:
        parser.print_help()
    elif words[0].startswith("-"):
        parser.parse_args(words)
    else:
        _start(*words)


def _listed() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(f"  {name:{width}}  {about}" for name, about in COMMANDS.items())


def _start(name: str, *words: str) -> None:
    """Run a script of the project as `python -m` does, under the name that was typed."""
    try:
        _demand(name)
    except Problem as problem:
        sys.exit(f"skipgate: {problem}")
    sys.argv = [f"skipgate {name}", *words]
    sys.path.insert(0, str(Path.cwd()))
    runpy.run_module(f"pipeline.{name}", run_name="__main__")


def _demand(name: str) -> None:
    """That there is such a command, and that this is the folder of a project."""
    if name not in COMMANDS:
        raise Problem(f"there is no command '{name}'; {nearest(name, COMMANDS)}")
    if not (paths.PARAMS.exists() and Path("pipeline", f"{name}.py").exists()):
        raise Problem(
            f"{Path.cwd()} is not the folder of a skipgate project, which has {paths.PARAMS} and "
            f"pipeline/; {_where()}"
        )


def _where(package: Path = Path(__file__).parent) -> str:
    """Where to go: an editable installation lies in a project."""
    root = package.parent.parent
    if (root / paths.PARAMS).exists():
        return f"go there first: cd {root}"
    return "go to the folder that git clone made"
