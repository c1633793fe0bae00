"""What CI does, as far as that can be read: pinned, least permissions, commands that there are."""

import json
import re
import shlex
from itertools import chain
from pathlib import Path

import pytest
import yaml

from tests.toys import ROOT

FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NAMES = [file.stem for file in FILES]
OURS = re.compile(r"^actions/[\w-]+@[0-9a-f]{40}$")
TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)


def read(name):
    # YAML takes a bare `on` for a truth value.
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
    workflow = yaml.safe_load(re.sub(r"^on:", '"on":', text, flags=re.MULTILINE))
    return workflow, text


def steps(name):
    return list(chain.from_iterable(job["steps"] for job in read(name)[0]["jobs"].values()))


def test_both_are_there():
    assert NAMES == ["ci", "long"]


@pytest.mark.parametrize("name", NAMES)
def test_it_may_read_and_nothing_else_and_comes_to_an_end(name):
    workflow, _ = read(name)
    assert workflow["permissions"] == {"contents": "read"}
    assert "group" in workflow["concurrency"]
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        assert job["timeout-minutes"] > 0
    for step in steps(name):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_githubs_own_and_pinned_with_their_version_beside(name):
    used = [step["uses"] for step in steps(name) if "uses" in step]
    assert used
    assert [each for each in used if not OURS.match(each)] == []
    lines = [line for line in read(name)[1].splitlines() if "uses:" in line]
    assert [line for line in lines if not re.search(r" # v\d+\.\d+\.\d+$", line)] == []


@pytest.mark.parametrize("name", NAMES)
def test_commands_are_there_and_no_expression_is_pasted_into_them(name):
    targets = TARGET.findall((ROOT / "Makefile").read_text())
    commands = [step["run"] for step in steps(name) if "run" in step]
    assert commands
    for command in commands:
        assert "${{" not in command, "a branch's name would run as a command"
        first, *rest = shlex.split(command)
        if first == "make":
            assert rest[0] in targets
        elif first == ".venv/bin/python":
            assert (ROOT / Path(*rest[1].split("."))).with_suffix(".py").exists()
        elif first.startswith("."):
            assert (ROOT / first).stat().st_mode & 0o100
        else:
            assert first in ("cat", "pipx")


def test_a_pull_request_is_held_to_what_must_pass_and_told_what_it_moves():
    workflow, _ = read("ci")
    assert "pull_request" in workflow["on"]
    assert workflow["on"]["push"] == {"branches": ["main"]}
    assert workflow["concurrency"]["cancel-in-progress"] is True
    job = workflow["jobs"]["run"]
    (gate,) = (step for step in job["steps"] if step.get("run") == ".ci/run")
    assert gate.keys() == {"run"}, "it always runs, and nothing goes on if it fails"
    (told,) = (step for step in job["steps"] if "pipeline.moved" in step.get("run", ""))
    assert told["run"].endswith('"origin/$GITHUB_BASE_REF" >> "$GITHUB_STEP_SUMMARY"')
    assert told["continue-on-error"] is True
    (checkout,) = (step for step in job["steps"] if "actions/checkout" in step.get("uses", ""))
    assert checkout["with"]["fetch-depth"] == 0, "without it the base is not there to compare with"


def test_long_studies_are_chosen_by_name_and_what_is_trained_is_kept(settings):
    workflow, text = read("long")
    assert workflow["on"].keys() == {"workflow_dispatch", "schedule"}
    chosen = workflow["on"]["workflow_dispatch"]["inputs"]["study"]
    toys = {"digits", "words"}
    assert set(chosen["options"]) == settings.studies.keys() - toys
    assert chosen["default"] in chosen["options"]
    (scheduled,) = re.findall(r"'schedule' && '(.*?)'", text)
    assert set(json.loads(scheduled)) <= set(chosen["options"])
    (job,) = workflow["jobs"].values()
    assert "self-hosted" in job["runs-on"]
    (checkout,) = (step for step in job["steps"] if "actions/checkout" in step.get("uses", ""))
    assert checkout["with"]["clean"] is False
