"""The command `skipgate`, as people type it."""

import re
import subprocess
import sys
import tomllib

import pytest

from skipgate import cli
from tests.project import Project
from tests.toys import ROOT

SLOW = {"matplotlib", "mlflow", "pandas", "scipy", "sklearn", "torch"}
HELP = """
import runpy, sys
from skipgate import cli

for name in cli.COMMANDS:
    sys.argv = ["skipgate", name, "--help"]
    try:
        cli.main()
    except SystemExit as end:
        assert not end.code
print("imported:", *{module.partition(".")[0] for module in sys.modules})
"""


def typed(*words, folder=ROOT, code=0):
    """What the installed command answers: its entry point, called as its script calls it."""
    module, function = scripts()["skipgate"].split(":")
    script = f"import sys; from {module} import {function}; sys.argv[0] = 'skipgate'; {function}()"
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def scripts():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]


def test_alone_it_shows_every_command_and_examples_that_there_are():
    said = typed()
    assert said == typed("--help")
    listed = re.findall(r"^  (\w+)  +\w", said.partition("options:")[0], re.MULTILINE)
    assert listed == list(cli.COMMANDS)
    examples = re.findall(r"^  skipgate (\w+) ", said, re.MULTILINE)
    assert examples
    assert set(examples) <= set(cli.COMMANDS)


def test_every_commands_help_is_its_own_and_imports_nothing_slow():
    said = subprocess.run(
        [sys.executable, "-c", HELP], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert re.findall(r"^usage: skipgate (\w+) ", said, re.MULTILINE) == list(cli.COMMANDS)
    imported = set(said.rpartition("imported:")[2].split())
    assert "skipgate" in imported
    assert imported & SLOW == set()


def test_the_version_is_the_projects():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert typed("--version") == f"skipgate {project['version']}\n"


def test_a_command_does_what_its_script_does():
    script = [sys.executable, "-m", "pipeline.show"]
    shown = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "| mnist " in shown
    assert typed("show") == shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["wy"], "there is no command 'wy'; did you mean 'why'?"),
        (["why", "gated-11"], "params.yaml has no net 'gated-11'; did you mean 'gated-10'?"),
        (["check", "digts"], "params.yaml has no study 'digts'; did you mean 'digits'?"),
        (["freeze", "digts", "--reason", "x"], "params.yaml has no study 'digts'; did you mean"),
        (["compress", "gated-11", "--out", "x"], "params.yaml has no net 'gated-11'; did you mean"),
        (["bench", "lesion"], "there is no section 'lesion'; did you mean 'lesions'?"),
    ],
)
def test_wrong_words_are_answered_in_one_sentence(words, message):
    said = typed(*words, code=1)
    assert said.startswith(f"skipgate: {message}")
    assert len(said.splitlines()) == 1


def test_a_reader_who_leaves_early_gets_no_traceback():
    """As `head` does."""
    command = [sys.executable, "-m", "pipeline.show"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def test_elsewhere_it_says_where_to_go(tmp_path):
    said = typed("show", folder=tmp_path, code=1)
    assert said.strip() == (
        f"skipgate: {tmp_path} is not the folder of a skipgate project, which has params.yaml and "
        f"pipeline/; go there first: cd {ROOT}"
    )


def test_a_study_that_was_not_run_is_neither_checked_nor_frozen(tmp_path):
    project = Project(tmp_path)
    project.stage("specify")
    for words in (["check", "digits"], ["freeze", "digits", "--reason", "a test"]):
        said = project.stage(*words, code=1).strip()
        assert said == "skipgate: no net of digits has been run; run: make repro STUDY=digits"
