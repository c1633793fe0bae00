"""Put small wrongs into copies of the project, one at a time, and see that each is caught.

    python -m tests.mutants

tests/mutants.yaml has the wrongs: an exact replacement in one file, and what must catch it, tests
or at most two nets of `digits` and the frozen numbers. The digest of a net's behaviour objects to
most of them as well, but `dvc repro` renews it; so it does not count, and specs are renewed before
a net is trained. What must catch a wrong has to pass without it: that is tried first. A whole run
writes reports/mutants.md.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from skipgate import params, paths
from skipgate.files import Problem, read_yaml, write_atomically, write_json
from skipgate.judging.quantities import LABELS
from skipgate.reader import nearest, read
from skipgate.reporting.markdown import markdown
from tests.toys import ROOT

CATALOGUE = ROOT / "tests" / "mutants.yaml"
PAGE = ROOT / paths.REPORTS / "mutants.md"
STUDY = "digits"
SCORE = "test error"
AT_ONCE = 2
IN_TURN = 3
WRAP = 48
LONGEST = 900
"""Seconds after which a command is ended."""
LEFT_OUT = ("data", "models", "mlflow.db", "mlruns")
"""What a copy of the project does without, beside hidden files."""
WHOSE = "import pipeline.stage, skipgate; print(skipgate.__file__, pipeline.stage.__file__)"
RENEW = "import sys; from tests.mutants import renew; renew(sys.argv[1:])"
PYTEST = ("-m", "pytest", "-n0", "-p", "no:cacheprovider")


@dataclass(frozen=True)
class Mutant:
    """A small wrong, and what must catch it."""

    name: str
    about: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    nets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.tests and not self.nets:
            raise ValueError("name tests or nets that must catch it")
        if len(self.nets) > 2:
            raise ValueError("two nets at most")

    def put_into(self, project: Path) -> None:
        """Make the replacement, which must fit the source in exactly one place."""
        source = project / self.file
        text = source.read_text() if source.exists() else ""
        if (count := text.count(self.old)) != 1:
            raise Problem(
                f"mutants.{self.name}: {self.file} has the old text {count} times, not once; "
                f"write it into {CATALOGUE.name} as the source has it now"
            )
        source.write_text(text.replace(self.old, self.new))


@dataclass(frozen=True)
class Catch:
    """What objected first."""

    what: str
    file: str = ""
    """Of a test; empty for the frozen numbers."""


def catalogue() -> dict[str, Mutant]:
    """All mutants by name."""
    entries = read(dict[str, dict[str, Any]], read_yaml(CATALOGUE), "mutants")
    return {
        name: read(Mutant, {"name": name, **entry}, f"mutants.{name}")
        for name, entry in entries.items()
    }


class Commands:
    """Commands that run beside each other and can all be ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._ended = False

    def run(self, folder: Path, *words: str) -> tuple[int, str]:
        """Python's exit code for these words, and all that it said."""
        with self._lock:
            if self._ended:
                raise KeyboardInterrupt
            process = _start(folder, words)
            self._running.add(process)
        try:
            said, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            command = " ".join(words)
            raise Problem(f"{command} took more than {LONGEST} seconds; choose others") from error
        finally:
            with self._lock:
                self._running.discard(process)
        return process.returncode, said

    def end(self) -> None:
        """Kill all that runs, and start nothing more."""
        with self._lock:
            self._ended = True
            for process in self._running:
                os.killpg(process.pid, signal.SIGKILL)


def _start(folder: Path, words: Sequence[str]) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
    }
    environment.pop("SKIPGATE_VAULT", None)  # what is trained here must stay here
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # so that Ctrl-C reaches us alone
    )


class Copy:
    """The project in a folder of its own, with a wrong in it or none."""

    def __init__(self, folder: Path, commands: Commands, mutant: Mutant | None = None) -> None:
        self.folder = folder
        self._commands = commands
        for source in ROOT.iterdir():
            if source.is_dir() and not source.name.startswith(".") and source.name not in LEFT_OUT:
                ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(source, folder / source.name, ignore=ignored)
            elif source.is_file() and source.name not in LEFT_OUT:
                shutil.copy(source, folder)
        if mutant is not None:
            mutant.put_into(folder)
        _, said = self._run("-c", WHOSE)
        assert all(Path(file).is_relative_to(folder) for file in said.split()), said

    def failing(self, tests: Sequence[str], *options: str) -> list[Catch]:
        """Those of these tests that fail."""
        if not tests:
            return []
        code, said = self._run(*PYTEST, *options, *tests)
        if code not in (0, 1):
            raise Problem(f"{' '.join(tests)} cannot be run; correct the catalogue\n{said}")
        ids = re.findall(r"^(?:FAILED|ERROR) ([^\s\[]+)", said, re.MULTILINE)
        return [Catch(test.split("::")[-1], test.split("::")[0]) for test in dict.fromkeys(ids)]

    def outside(self, nets: Sequence[str]) -> list[Catch]:
        """What the frozen numbers say of these nets, trained and probed in this copy."""
        if not nets:
            return []
        for net in nets:
            shutil.rmtree(self.folder / paths.RESULTS / STUDY / net, ignore_errors=True)
        self._succeed("-m", "pipeline.fetch", STUDY)
        self._succeed("-c", RENEW, *nets)
        for stage in ("train", "probe"):
            for net in nets:
                self._succeed("-m", f"pipeline.{stage}", net)
        check = ("-m", "pipeline.check", STUDY, *nets)
        code, said = self._run(*check)
        alarm = _alarm(said, nets)
        if bool(code) != bool(alarm):
            raise Problem(f"python {' '.join(check)} ended with {code}\n{said}")
        return [Catch(alarm)] if alarm else []

    def _succeed(self, *words: str) -> None:
        code, said = self._run(*words)
        if code:
            raise Problem(f"python {' '.join(words)} ended with {code}\n{said}")

    def _run(self, *words: str) -> tuple[int, str]:
        return self._commands.run(self.folder, *words)


def renew(nets: Sequence[str]) -> None:
    """Write the specs of these nets anew, as `pipeline.specify` does for all; runs in a copy."""
    from skipgate.behaviour import specify

    settings = params.load()
    for net in nets:
        train, probe = specify(settings, net)
        write_json(paths.spec_file(net), train)
        write_json(paths.probe_spec_file(net), probe)


def _alarm(said: str, nets: Sequence[str]) -> str:
    """The net and the quantity that the check names first, without their numbers."""
    found = re.search(rf"^({'|'.join(nets)}): (.*)$", said, re.MULTILINE)
    if found is None:
        return ""
    labels = [label for label in (*LABELS.values(), SCORE) if label in found[2]]
    return f"{found[1]}: {max(labels, key=len, default=found[2])}"


@contextmanager
def copied(commands: Commands, mutant: Mutant | None = None) -> Iterator[Copy]:
    """A copy that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        yield Copy(Path(folder).resolve(), commands, mutant)


def judge(mutant: Mutant, commands: Commands) -> Catch | None:
    """What catches the mutant, the cheapest first; None if it survives."""
    with copied(commands, mutant) as copy:
        caught = copy.failing(mutant.tests, "-x") or copy.outside(mutant.nets)
    return caught[0] if caught else None


def without_wrongs(chosen: Sequence[Mutant]) -> list[Callable[[Commands], None]]:
    """All that is to catch something, tried on untouched copies: none of it may object."""
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    nets = sorted({mutant.nets for mutant in chosen if mutant.nets})
    halves = [half for half in (tests[::2], tests[1::2]) if half]

    def tried(tests: Sequence[str], nets: Sequence[str], commands: Commands) -> None:
        with copied(commands) as copy:
            found = [catch.what for catch in copy.failing(tests) + copy.outside(nets)]
        if found:
            raise Problem(f"without any wrong, {', '.join(found)} objects; mend that first")

    pairs = [((), group) for group in nets] + [(half, ()) for half in halves]
    return [lambda commands, pair=pair: tried(*pair, commands) for pair in pairs]


def hunt(chosen: Sequence[Mutant]) -> dict[str, Catch | None]:
    """Judge the chosen mutants, two at a time, and tell what becomes of each."""
    commands = Commands()
    found: dict[str, Catch | None] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            before = [pool.submit(work, commands) for work in without_wrongs(chosen)]
            for done in tqdm(as_completed(before), "without wrongs", len(before), unit="command"):
                done.result()
            running = {pool.submit(judge, mutant, commands): mutant.name for mutant in chosen}
            with tqdm(as_completed(running), "mutants", len(running), unit="mutant") as bar:
                for done in bar:
                    name = running[done]
                    found[name] = done.result()
                    bar.write(f"{name}: {told(found[name])}", sys.stdout)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            commands.end()
            raise
    return {mutant.name: found[mutant.name] for mutant in chosen}


def told(caught: Catch | None) -> str:
    return "SURVIVES" if caught is None else f"caught by {caught.what}"


def page(mutants: dict[str, Mutant], found: dict[str, Catch | None]) -> str:
    """What a whole run has found: conclusions, a table, and what each wrong is."""
    by_test = sum(catch is not None and bool(catch.file) for catch in found.values())
    surviving = [name for name, catch in found.items() if catch is None]
    rows = [
        {"mutant": f"`{name}`", "where": _linked(mutants[name].file), "caught by": _by(catch)}
        for name, catch in found.items()
    ]
    lines = [f"- `{name}`: {mutants[name].about}" for name in found]
    return "\n".join(
        [
            "# Mutants\n",
            "A mutant is this project with one small wrong put into it. What catches it must pass "
            "without it. The digest of a net's",
            "behaviour, which objects to most of them, counts for nothing here: `dvc repro` renews "
            "it.\n",
            f"**{_conclusion(len(found), surviving)}** Caught by a test: {by_test}; by the frozen "
            f"numbers of `{STUDY}`: {len(found) - by_test - len(surviving)}.\n",
            markdown(rows),
            "\n## What is wrong in each\n",
            *lines,
            "\nMade by `make mutants` from `tests/mutants.yaml`.\n",
        ]
    )


def _conclusion(count: int, surviving: Sequence[str]) -> str:
    if not surviving:
        return f"All {count} mutants are caught."
    return f"Of {count} mutants {len(surviving)} survive: {', '.join(surviving)}."


def _linked(file: str) -> str:
    name = file.removeprefix("src/skipgate/").removesuffix("/__init__.py")
    return f"[{name}]({paths.link(Path(file), paths.REPORTS)})"


def _by(catch: Catch | None) -> str:
    if catch is None:
        return "nothing: it survives"
    if not catch.file:
        return _wrapped(f"frozen numbers: {catch.what}")
    words = _wrapped(catch.what.removeprefix("test_").replace("_", " "))
    return f"[{words}]({paths.link(Path(catch.file), paths.REPORTS)})"


def _wrapped(words: str) -> str:
    return "<br>".join(textwrap.wrap(words, WRAP))


def in_turn(mutants: Sequence[Mutant], landed: int) -> list[Mutant]:
    """The next few after those of the commit before, round and round."""
    return [mutants[(landed * IN_TURN + i) % len(mutants)] for i in range(IN_TURN)]


def commits() -> int:
    """How many commits led here."""
    counted = ["git", "rev-list", "--count", "HEAD"]
    return int(subprocess.run(counted, cwd=ROOT, check=True, capture_output=True).stdout)


def main(only: Sequence[str], *, turn: bool, listed: bool) -> None:
    mutants = catalogue()
    if listed:
        sys.stdout.writelines(f"{name}: {mutant.about}\n" for name, mutant in mutants.items())
        return
    for name in only:
        if name not in mutants:
            raise Problem(f"{CATALOGUE.name} has no mutant '{name}'; {nearest(name, mutants)}")
    chosen = [mutants[name] for name in only or mutants]
    found = hunt(in_turn(chosen, commits()) if turn else chosen)
    if not only and not turn:
        write_atomically(PAGE, page(mutants, found).encode())
    surviving = [name for name, catch in found.items() if catch is None]
    if surviving:
        raise Problem(f"{', '.join(surviving)} survives; write a test that catches it")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="NAME", nargs="+", default=(), help="these alone")
    parser.add_argument("--turn", action="store_true", help="three, others after every commit")
    parser.add_argument("--list", action="store_true", dest="listed", help="name all mutants")
    try:
        main(**vars(parser.parse_args()))
    except Problem as problem:
        sys.exit(f"skipgate: {problem}")
    except KeyboardInterrupt:
        sys.exit("\nskipgate: interrupted; nothing is left of it")
