"""The pipeline as a user runs it: real commands in a small copy of the project."""

import json
import os
import re
import shutil
import signal
import time

import pytest

from skipgate.settings.probing import USUAL
from tests.project import NETS, Project
from tests.toys import ROOT

NEW_GATE = '''"""Half of everything."""

from torch import Tensor

from skipgate.nets.gate import Gate, Slot


class Half(Gate):
    """T = share."""

    def __init__(self, slot: Slot, share: float = 0.5) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor, f: Tensor, t: Tensor | float | None = None) -> float:
        return self.share
'''


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_only_what_changed_runs_again(project):
    """The life of a study: from nothing, again, after a comment, a new rate, a new gate, and in a fresh clone."""
    project.run("git", "init", "--quiet")
    project.run("dvc", "init", "--quiet")
    first = project.repro("report@digits")
    assert first[:2] == ["fetch@digits", "specify"] or first[:2] == ["specify", "fetch@digits"]
    assert sorted(first[2:]) == sorted(
        [*(f"{s}@{n}" for s in ("train", "probe") for n in NETS), "costs", "report@digits"]
    )
    assert project.repro("report@digits") == []

    # A comment and a rename in the source.
    scalar = project.folder / "src" / "skipgate" / "nets" / "gates" / "scalar.py"
    scalar.write_text(scalar.read_text().replace("x: Tensor", "inputs: Tensor") + "\n# a comment\n")
    assert project.repro("report@digits") == ["specify"]

    # Another learning rate for one net.
    def faster(settings):
        recipe = settings["recipes"]["digits-dense"]
        settings["recipes"]["faster"] = {**recipe, "optimiser": {"kind": "nadam", "rate": 0.004}}
        settings["nets"]["digits"]["gated-2"]["recipe"] = "faster"

    project.edit_params(faster)
    assert sorted(project.repro("report@digits")) == [
        "costs",
        "probe@gated-2",
        "report@digits",
        "specify",
        "train@gated-2",
    ]

    # A new gate: one file and one line.
    (scalar.parent / "half.py").write_text(NEW_GATE)
    project.edit_params(
        lambda s: s["nets"]["digits"].update({"half-2": {"body": "mlp-2", "T": "half"}})
    )
    assert sorted(project.repro("report@digits")) == [
        "costs",
        "probe@half-2",
        "report@digits",
        "specify",
        "train@half-2",
    ]
    page = (project.folder / "reports" / "digits.md").read_text()
    assert "| `half-2`" in page
    assert "T half, C constant 1" in page
    assert project.result("half-2", "gates")["T"] == [[0.5, 0.5]]

    # A fresh clone, without models: the report renders, nothing trains.
    project.run("git", "add", "--all")
    project.run(
        "git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "all"
    )
    clone = project.folder.parent / f"{project.folder.name}-clone"
    project.run("git", "clone", "--quiet", str(project.folder), str(clone))
    project.folder = clone
    assert "Running stage" not in project.run("dvc", "repro", "--allow-missing", "report@digits")
    (clone / "reports" / "digits.md").unlink()
    project.run("dvc", "repro", "--force", "--single-item", "report@digits")
    assert not (clone / "models").exists()
    assert (clone / "reports" / "digits.md").read_text() == page


def test_a_killed_training_goes_on_to_the_same_bytes(project):
    project.edit_params(lambda s: s["recipes"]["digits-dense"].update(epochs=25))
    project.stage("fetch", "digits")
    project.stage("specify")
    output = project.stage("train", "gated-2")
    assert "digits: net 1 of 2, then 1 more, gated-2 seeds 0 to 1" in output
    model = project.folder / "models" / "digits" / "gated-2.pt"
    whole, result = model.read_bytes(), project.result("gated-2", "train")
    assert not list((project.folder / ".vault" / "checkpoints").glob("*")), (
        "a finished training leaves no checkpoint"
    )
    model.unlink()
    shutil.rmtree(project.folder / ".vault")

    data = project.spec("gated-2")["settings"]["data"]["sha256"]
    name = f"{result['digest']}-{data[:16]}-of5-0.pt"
    checkpoint = project.folder / ".vault" / "checkpoints" / name
    kills = 0
    for _ in range(3):
        process = project.start("python", "-m", "pipeline.train", "gated-2")
        seen = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        while process.poll() is None and not (
            checkpoint.exists() and checkpoint.stat().st_mtime_ns > seen
        ):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        assert not model.exists() or process.returncode == 0
    assert kills, "no run was killed in the middle"
    output = project.stage("train", "gated-2")
    assert model.read_bytes() == whole
    assert project.result("gated-2", "train") == result


def test_an_interrupt_says_how_to_go_on(project):
    project.edit_params(lambda s: s["recipes"]["digits-dense"].update(epochs=2000))
    project.stage("fetch", "digits")
    project.stage("specify")
    process = project.start("python", "-m", "pipeline.train", "gated-2")
    while not list(project.folder.glob(".vault/checkpoints/*.pt")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate()
    assert process.returncode == 130
    assert output.rstrip().endswith(
        "skipgate: interrupted; the same command goes on from the last finished epoch"
    )
    assert not (project.folder / "models").exists()


def test_a_bad_setting_ends_in_one_sentence_and_leaves_the_specs_alone(project):
    project.stage("specify")
    before = {file: file.read_bytes() for file in project.folder.rglob("specs/**/*.json")}
    assert len(before) == 4
    project.edit_params(
        lambda s: s["nets"]["digits"]["gated-2"].update(T={"gate": "scalar", "strat": 1})
    )
    output = project.stage("specify", code=1)
    assert (
        output.splitlines()[-1]
        == "skipgate: params.nets.gated-2.T.strat: unknown key; did you mean 'start'?"
    )
    assert "Traceback" not in output
    assert {file: file.read_bytes() for file in project.folder.rglob("specs/**/*.json")} == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "gatd-2"], "skipgate: specs/gatd-2.json is not there; run: dvc repro specify"),
        (
            ["fetch", "mnits"],
            "skipgate: params.yaml has no data set 'mnits'; did you mean 'mnist'?",
        ),
        (["report", "digit"], "skipgate: params.yaml has no study 'digit'; did you mean 'digits'?"),
        (["probe", "gated-2"], "skipgate: specs/gated-2.json is not there; run: dvc repro specify"),
    ],
)
def test_wrong_words_are_answered_in_one_sentence(project, words, message):
    assert project.stage(*words, code=1).strip() == message


def test_training_without_data_says_how_to_fetch_them(project):
    project.stage("specify")
    output = project.stage("train", "gated-2", code=1)
    assert output.splitlines()[-1].endswith(
        "train_images.npy is missing or damaged; run: dvc repro -f -s fetch@digits"
    )
    assert not list((project.folder / "results").rglob("*.json"))


@pytest.mark.parametrize("section", ["nets", "data", "studies"])
@pytest.mark.parametrize("name", ["$(touch evil)", "../evil", "a; touch evil"])
def test_a_name_that_is_a_command_runs_nothing(project, section, name):
    project.run("git", "init", "--quiet")
    project.run("dvc", "init", "--quiet")

    def rename(settings):
        known = settings["nets"]["digits"] if section == "nets" else settings[section]
        known[name] = next(iter(known.values()))

    project.edit_params(rename)
    process = project.start("dvc", "repro")
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0, output
    assert not [*project.folder.rglob("evil*"), *project.folder.parent.glob("evil*")]


def test_a_result_tells_nothing_of_the_machines_owner(project):
    project.environment["SECRET_TOKEN"] = "hunter2"  # noqa: S105
    project.stage("specify")
    project.stage("fetch", "digits")
    project.stage("train", "gated-2")
    run = project.result("gated-2", "run")
    assert sorted(run) == ["digest", "net", "runs"]
    (record,) = run["runs"]
    machine = ["commit", "lock", "python", "torch", "machine", "device", "threads", "seconds"]
    assert sorted(record) == sorted(["seeds", "stack", "compiled", *machine])
    assert (record["seeds"], record["stack"], record["compiled"]) == ([0, 1], 5, True)
    written = b"".join(
        f.read_bytes()
        for folder in ("results", "models", ".vault")
        for f in (project.folder / folder).rglob("*")
        if f.is_file()
    )
    for secret in ("hunter2", str(project.folder), os.uname().nodename):
        assert secret.encode() not in written


def test_removing_a_net_removes_its_specs(project):
    project.stage("specify")
    project.edit_params(lambda s: s["nets"]["digits"].pop("gated-2"))
    project.stage("specify")
    assert (
        sorted(file.name for file in project.folder.rglob("specs/**/*.json"))
        == ["residual-2.json"] * 2
    )


def test_the_database_can_be_deleted_and_rebuilt(project):
    for net in NETS:
        for kind in ("train", "run", *USUAL):
            target = project.result_file(net, kind)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / target.relative_to(project.folder), target)
    shutil.copy(ROOT / "params.yaml", project.folder)
    shutil.copytree(ROOT / "specs", project.folder / "specs", dirs_exist_ok=True)
    assert "12 runs written, 0 unchanged" in project.stage("sync")
    assert "0 runs written, 12 unchanged" in project.stage("sync")
    (project.folder / "mlflow.db").unlink()
    assert "12 runs written, 0 unchanged" in project.stage("sync")


def test_whatever_is_edited_by_hand_fails_the_check_and_is_named(project):
    """The whole command, on what a run left: first all holds, then four edits, each undone again."""
    project.run("git", "init", "--quiet")
    project.run("dvc", "init", "--quiet")
    (project.folder / "reports").mkdir()
    for name in ("bench", "mutants"):
        (project.folder / "reports" / f"{name}.md").write_text("made by no stage\n")
    (project.folder / "docs").symlink_to(ROOT / "docs")
    project.run("dvc", "repro", "report@digits", "theory-report", "paper-audit")
    project.run("dvc", "repro", "-s", "overview")
    assert "follow from each other" in project.stage("verify")
    edits = {
        "results/digits/gated-2/train.json": (
            r'"seeds": \[0, 1\]',
            '"seeds": [1, 0]',
            "results/digits/gated-2/train.json is not what",
        ),
        "reports/digits.md": (r"\| reported", "| repotred", "reports/digits.md, line "),
        "papers/gresnet.yaml": (
            r"value: 2\.17",
            "value: 2.71",
            "d = 2, gated, gated-2: reported 2.17",
        ),
        "src/skipgate/nets/gates/scalar.py": (
            r"start: float = 1\.0",
            "start: float = 0.9",
            "settings.T.start is 0.9 where the spec says 1.0",
        ),
    }
    for name, (old, new, sentence) in edits.items():
        file = project.folder / name
        before = file.read_text()
        assert re.search(old, before), name
        file.write_text(re.sub(old, new, before, count=1))
        assert sentence in project.stage("verify", code=1), name
        file.write_text(before)
    assert "follow from each other" in project.stage("verify")
    lesion = project.result_file("gated-2", "lesion")
    before = lesion.read_text()
    lesion.write_text(before.replace('"whole": [', '"whole": [9'))
    project.run("dvc", "repro", "-s", "probe@gated-2")
    assert lesion.read_text() == before, "an edited result is made again, not taken over"


def test_why_tells_all_about_a_net_and_freeze_leaves_a_line(project):
    project.run("git", "init", "--quiet")
    project.run("dvc", "init", "--quiet")
    project.run("dvc", "repro", "report@digits")
    page = project.stage("why", "gated-2")
    for words in (
        "gated, d = 2, study digits",
        "nothing: ",
        "test error, last epoch",
        "mnist-test-error, d = 2, gated",
        "make again NET=gated-2",
    ):
        assert words in page
    (project.folder / "CHANGELOG.md").write_text("# Changelog\n\n### Results\n\n- old\n")
    (project.folder / "frozen").mkdir(exist_ok=True)
    assert "say why" in project.stage("freeze", "digits", "--reason", " ", code=1)
    project.stage("freeze", "digits", "--reason", "a test")
    assert "- `digits` frozen anew (a test): " in (project.folder / "CHANGELOG.md").read_text()
    kept = json.loads((project.folder / "frozen" / "digits.json").read_text())
    errors = kept["nets"]["gated-2"]["quantities"]["test_error"]
    assert len(errors) == 3, "more seeds are frozen than the study reports"
    fresh = [column[-1] for column in project.result("gated-2", "train")["metrics"]["test_error"]]
    assert errors[:2] == fresh
    assert "and each of their seeds, hold" in project.stage("check", "digits")
    others = {net: {**numbers, "digest": "of old"} for net, numbers in kept["nets"].items()}
    (project.folder / "frozen" / "digits.json").write_text(json.dumps({**kept, "nets": others}))
    project.stage("freeze", "digits", "gated-2", "--reason", "one of them")
    again = json.loads((project.folder / "frozen" / "digits.json").read_text())["nets"]
    assert again == {**others, "gated-2": kept["nets"]["gated-2"]}, "the others stay as they were"
    assert "did you mean 'gated-2'" in project.stage("why", "gated-3", code=1)


def test_a_stale_list_of_nets_stops_with_what_to_do_and_is_renewed(project):
    """DVC has read its list when `specify` finds that params.yaml has another net."""
    project.run("git", "init", "--quiet")
    project.run("dvc", "init", "--quiet")
    project.run("dvc", "repro", "specify")
    listed = (project.folder / "specs" / "stages.yaml").read_text()
    add = {"more-2": {"body": "mlp-2", "T": "scalar"}}
    project.edit_params(lambda settings: settings["nets"]["digits"].update(add))
    (project.folder / "specs" / "stages.yaml").write_text(listed)
    output = project.run("dvc", "repro", "report@digits", code=255)
    assert "skipgate: specs/stages.yaml listed other nets" in output
    assert "run the same command again" in output
    assert "train@more-2" in project.repro("report@digits")
