"""The catalogue of mutants fits the source, and its page is of this catalogue."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from skipgate import params
from skipgate.files import Problem
from tests.mutants import PAGE, STUDY, Catch, Commands, Mutant, catalogue, in_turn, judge, page
from tests.toys import ROOT

MUTANTS = catalogue()
HARMLESS = Mutant(
    "harmless",
    "Another word for the same.",
    "src/skipgate/settings/measures.py",
    "def ",
    "def ",
    ("tests/test_measures.py::test_direction",),
)
COMPARED_WITH_WHAT_IS_COMMITTED = ("test_integrity.py", "test_behaviour.py")


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_a_replacement_fits_the_source_and_changes_it(mutant, tmp_path):
    copy = tmp_path / mutant.file
    copy.parent.mkdir(parents=True)
    before = (ROOT / mutant.file).read_text()
    copy.write_text(before)
    mutant.put_into(tmp_path)
    assert copy.read_text() != before
    if copy.suffix == ".py":
        compile(copy.read_text(), mutant.file, "exec")


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_what_must_catch_it_is_there_and_is_no_digest(mutant):
    for test in mutant.tests:
        file, *_, name = test.split("::")
        assert f"def {name}(" in (ROOT / file).read_text()
        assert not file.endswith(COMPARED_WITH_WHAT_IS_COMMITTED)
    assert set(mutant.nets) <= set(params.load(ROOT / "params.yaml").nets_of(STUDY))


def test_the_page_has_the_mutants_of_the_catalogue_and_all_are_caught():
    text = PAGE.read_text()
    assert re.findall(r"^\| `(.*?)`", text, re.MULTILINE) == list(MUTANTS)
    assert f"All {len(MUTANTS)} mutants are caught." in text
    assert len(MUTANTS) >= 25


def test_the_page_names_what_survives_and_tells_tests_from_frozen_numbers():
    some = list(MUTANTS)[:3]
    found = [Catch("test_a_gate_opens", "tests/x.py"), Catch("gated-10: mean of T"), None]
    text = page(MUTANTS, dict(zip(some, found, strict=True)))
    assert f"**Of 3 mutants 1 survive: {some[2]}.** Caught by a test: 1; by the frozen" in text
    assert "[a gate opens](../tests/x.py)" in text
    assert "frozen numbers: gated-10: mean of T" in text


def test_a_replacement_that_fits_twice_or_nowhere_is_refused_with_the_remedy():
    for old, count in (("def ", r"\d+"), ("no such text", "0")):
        with pytest.raises(
            Problem, match=rf"mutants\.harmless: .*measures\.py has the old text {count} times"
        ):
            judge(dataclasses.replace(HARMLESS, old=old), Commands())


def test_turns_go_round_the_catalogue():
    mutants = list(MUTANTS.values())
    rounds = len(mutants)
    seen = [mutant.name for landed in range(rounds) for mutant in in_turn(mutants, landed)]
    assert len(seen) == 3 * rounds
    assert set(seen) == set(MUTANTS)
    assert [m.name for m in in_turn(mutants, 5)] == [m.name for m in in_turn(mutants, 5 + rounds)]
    slow = [sum(bool(m.nets) for m in in_turn(mutants, landed)) for landed in range(rounds)]
    assert max(slow) == 1, "put others between mutants that need nets: .ci/run has minutes"


def test_a_harmless_change_survives_and_a_wrong_is_caught():
    words = "(min if self.lower_is_better else max)(values, default=None)"
    harmless = dataclasses.replace(HARMLESS, old=words, new=f"({words})")
    assert judge(harmless, Commands()) is None
    wrong = dataclasses.replace(HARMLESS, old=words, new=words.replace("if", "if not"))
    assert judge(wrong, Commands()) == Catch("test_direction", "tests/test_measures.py")


def test_an_interrupted_run_leaves_no_copy_and_no_process(tmp_path):
    run = subprocess.Popen(
        [sys.executable, "-m", "tests.mutants", "--only", "seeds-all-equal"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Tests in the background ignore Ctrl-C, and children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not working_in(tmp_path):
        assert run.poll() is None, run.communicate()[0]
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert said.endswith("interrupted; nothing is left of it\n")
    assert list(tmp_path.glob("mutant-*")) == []
    assert working_in(tmp_path) == []


def working_in(folder):
    return [
        process
        for process in psutil.process_iter(["cwd"])
        if process.info["cwd"] and Path(process.info["cwd"]).is_relative_to(folder)
    ]
