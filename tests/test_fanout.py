"""Many nets at once: the same files as one at a time, whatever dies on the way."""

import os
import signal
import time

import psutil
import pytest

from tests.project import NETS, Project


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path, epochs=12)
    made.run("git", "init", "--quiet")
    made.run("dvc", "init", "--quiet")
    return made


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What `dvc repro` alone makes of the project."""
    made = Project(tmp_path_factory.mktemp("expected"), epochs=12)
    made.run("git", "init", "--quiet")
    made.run("dvc", "init", "--quiet")
    made.run("dvc", "repro", *(f"train@{net}" for net in NETS))
    return files(made)


def files(project):
    """All models and training results; provenance is not compared."""
    found = [
        *project.folder.glob("models/**/*.pt"),
        *project.folder.glob("results/**/train.json"),
    ]
    return {f.relative_to(project.folder).as_posix(): f.read_bytes() for f in found}


def finish(project):
    """`dvc repro` after a fan-out: it must find every training in the vault."""
    output = project.run("dvc", "repro", *(f"train@{net}" for net in NETS))
    assert "test error" not in output, "nothing is trained again"
    return files(project)


def test_local_processes_make_the_same_files(project, expected):
    assert project.fanout("--dry-run").splitlines()[0] == "digits: 2 of 2 nets to train"
    output = project.fanout("--jobs", "2")
    assert "2 of 2 nets trained: 100%" in output
    assert project.fanout("--dry-run").strip() == "digits: 0 of 2 nets to train", (
        "the vault has them"
    )
    assert finish(project) == expected
    assert project.fanout("--jobs", "2").strip() == "digits: 0 of 2 nets to train", "and so has DVC"


def test_two_fan_outs_and_a_repro_at_once_end_in_the_same_files(project, expected):
    project.run("dvc", "repro", "--quiet", "specify", "fetch@digits")
    started = [
        project.start("python", "-m", "pipeline.fanout", "report@digits", "--jobs", "2")
        for _ in range(2)
    ]
    started.append(project.start("dvc", "repro", "train@gated-2", "train@residual-2"))
    for process in started:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0 or "Traceback" not in output, output
    assert finish(project) == expected


def children(pid):
    return [process.pid for process in psutil.Process(pid).children()]


def wait_for(condition, seconds=300):
    # Ray's workers give way to whatever else the machine does, and take minutes to start beside it.
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def checkpoints(project):
    return list(project.folder.glob(".vault/checkpoints/*.pt"))


def test_a_killed_worker_is_started_again_and_goes_on(project, expected):
    driver = project.start("python", "-m", "pipeline.fanout", "report@digits", "--jobs", "1")
    wait_for(lambda: checkpoints(project))
    (worker,) = children(driver.pid)
    os.kill(worker, signal.SIGKILL)
    output, _ = driver.communicate(timeout=300)
    assert driver.returncode == 0, output
    assert finish(project) == expected


def test_a_killed_driver_loses_nothing(project, expected):
    driver = project.start("python", "-m", "pipeline.fanout", "report@digits", "--jobs", "2")
    wait_for(lambda: checkpoints(project))
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    assert "nets to train" in project.fanout("--jobs", "2")
    assert finish(project) == expected


def test_an_interrupt_ends_the_workers_and_says_how_to_go_on(project, expected):
    driver = project.start("python", "-m", "pipeline.fanout", "report@digits", "--jobs", "2")
    wait_for(lambda: checkpoints(project))
    workers = children(driver.pid)
    driver.send_signal(signal.SIGINT)
    output, _ = driver.communicate(timeout=60)
    assert driver.returncode == 130
    assert "interrupted; the same command goes on" in output
    assert not [pid for pid in workers if psutil.pid_exists(pid)]
    project.fanout("--jobs", "2")
    assert finish(project) == expected


def test_a_checkpoint_cut_in_half_starts_that_net_again(project, expected):
    driver = project.start("python", "-m", "pipeline.fanout", "report@digits", "--jobs", "1")
    wait_for(lambda: checkpoints(project))
    for pid in [*children(driver.pid), driver.pid]:
        os.kill(pid, signal.SIGKILL)
    driver.communicate()
    (file,) = checkpoints(project)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    project.fanout("--jobs", "1")
    assert finish(project) == expected


def test_one_failing_net_does_not_stop_the_other_and_is_named(project):
    def break_one(settings):
        recipe = settings["recipes"]["digits-dense"]
        settings["recipes"]["broken"] = {**recipe, "batch": 63}  # leaves a last batch of one image
        settings["nets"]["digits"]["gated-2"]["recipe"] = "broken"

    project.edit_params(break_one)
    output = project.fanout("--jobs", "2", code=1)
    assert output.splitlines()[-1].startswith(
        "skipgate: gated-2 failed: a batch of 63 leaves a last one"
    )
    assert "1 failed" in output
    assert len([p for p in project.folder.glob(".vault/*-*") if p.is_dir()]) == 2, "both seeds"


def test_a_diverging_net_is_a_result_and_not_a_failure(project):
    project.edit_params(
        lambda s: s["recipes"]["digits-dense"].update(optimiser={"kind": "sgd", "rate": 1e30})
    )
    project.fanout("--jobs", "2")
    project.repro("report@digits")
    assert project.result("gated-2", "train")["diverged"] == [0, 0]
    assert "2, 2 diverged" in (project.folder / "reports" / "digits.md").read_text()


def test_a_full_disk_is_said_and_leaves_no_half_entry(project, small_disk):
    project.environment["SKIPGATE_VAULT"] = str(small_disk)
    output = project.fanout("--jobs", "1", code=1)
    assert "gated-2 failed: " in output
    assert (
        "could not be written (No space left on device); free some space and run it again" in output
    )
    assert not [p for p in small_disk.rglob("*") if p.is_file() and p.suffix != ".lock"]
    del project.environment["SKIPGATE_VAULT"]
    project.fanout("--jobs", "1")


def test_a_clock_that_jumps_changes_nothing(project, expected):
    """Wall-clock time is read for nothing that decides; files from the future are as good as others."""
    driver = project.start("python", "-m", "pipeline.fanout", "report@digits", "--jobs", "2")
    wait_for(lambda: checkpoints(project))
    for file in [*project.folder.rglob(".vault/**/*"), *project.folder.rglob("specs/*.json")]:
        if file.is_file():
            os.utime(file, (4_000_000_000, 4_000_000_000))
    output, _ = driver.communicate(timeout=300)
    assert driver.returncode == 0, output
    assert finish(project) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["report@digit"],
            "skipgate: there is no target 'report@digit'; did you mean 'report@digits'?",
        ),
        (["report@digits", "--jobs", "0"], "skipgate: --jobs must be at least 1, found 0"),
        (
            ["report@digits", "--engine", "ray", "--address", "127.0.0.1:1"],
            "skipgate: no Ray cluster answers at 127.0.0.1:1; start one with: ray start --head",
        ),
    ],
)
def test_wrong_words_are_answered_in_one_sentence(project, words, message):
    assert project.stage("fanout", *words, code=1).strip().splitlines()[-1] == message
