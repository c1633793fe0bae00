"""A training that lasts is seen in MLflow while it runs, and ends as the run that `sync` writes."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from skipgate import specs
from skipgate.tracking import KEY, Curves, connect
from tests.project import NETS, Project, copied

# One server is enough, and so is one training.
pytestmark = pytest.mark.xdist_group("mlflow")
EPOCHS = 150


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(condition, seconds=280):
    """What the condition gives, once it is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.2)
    pytest.fail("waited in vain")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of an MLflow server in a process of its own."""
    folder = tmp_path_factory.mktemp("server")
    address = f"http://127.0.0.1:{free_port()}"
    words = ["server", "--backend-store-uri", f"sqlite:///{folder}/runs.db"]
    places = ["--artifacts-destination", str(folder / "artifacts"), "--workers", "1"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [Path(sys.executable).parent / "mlflow", *words, *places, "--port", address[17:]],
            stdout=log,
            stderr=log,
            start_new_session=True,
            # Eight more processes, for jobs that are not ours.
            env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        )

    def answers():
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(f"{address}/health", timeout=5).status == 200  # noqa: S310

    wait_for(answers)
    yield address
    os.killpg(process.pid, signal.SIGTERM)
    process.wait()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A project with data and specs."""
    made = Project(tmp_path_factory.mktemp("prepared"), epochs=EPOCHS)
    made.run("git", "init", "--quiet")
    made.run("dvc", "init", "--quiet")
    made.run("dvc", "repro", "--quiet", "specify", "fetch@digits")
    return made


@pytest.fixture
def project(prepared, tmp_path):
    made = copied(prepared, tmp_path / "project")
    made.environment = {"SKIPGATE_LIVE_SECONDS": "0"}
    return made


def runs(client):
    found = client.get_experiment_by_name("digits")
    if found is None:
        return {}
    every = client.search_runs([found.experiment_id], max_results=1000)
    keys = [run.data.tags[KEY] for run in every]
    assert len(keys) == len(set(keys)), "no run is there twice"
    return dict(zip(keys, every, strict=True))


def content(client):
    """All that is in MLflow but times and ids: parameters, tags, data sets, points, artifacts."""
    found = {}
    for key, run in runs(client).items():
        tags = {
            k: v for k, v in run.data.tags.items() if k not in ("mlflow.parentRunId", "mlflow.user")
        }
        history = {
            name: sorted(
                (p.step, p.value) for p in client.get_metric_history(run.info.run_id, name)
            )
            for name in run.data.metrics
        }
        inputs = [given.to_dictionary() for given in run.inputs.dataset_inputs]
        tags.pop("skipgate.content")  # of which the parent's id is a part
        found[key] = (run.info.run_name, run.info.status, tags, run.data.params, history, inputs)
    return found


def first_points(client, net):
    """The runs of a net that have a point by now."""
    return [
        run for key, run in runs(client).items() if key.startswith(f"{net}/") and run.data.metrics
    ]


def test_killed_and_resumed_beside_another_each_seed_is_one_run(project, server):
    project.environment["MLFLOW_TRACKING_URI"] = server
    client = MlflowClient(server)
    other = project.start("python", "-m", "pipeline.train", NETS[1])
    victim = project.start("python", "-m", "pipeline.train", NETS[0])
    try:
        seen = wait_for(lambda: first_points(client, NETS[0]))
    finally:
        victim.kill()
        victim.wait()
        other.communicate(timeout=300)
    assert {run.info.status for run in seen} == {"RUNNING"}
    assert other.returncode == 0
    assert "seeds 0 to 1" in project.stage("train", NETS[0])

    live = runs(client)
    assert len(live) == 2 * len(NETS), "the seeds, and no net yet"
    assert project.stage("sync").startswith("digits: 6 runs written, 0 unchanged")
    assert {run.info.run_id for run in live.values()} < {
        r.info.run_id for r in runs(client).values()
    }
    assert project.stage("sync").startswith("digits: 0 runs written, 6 unchanged")

    del project.environment["MLFLOW_TRACKING_URI"]
    project.stage("sync")
    afresh = content(connect(project.folder))
    assert content(client) == afresh
    key = f"{NETS[0]}/{project.spec(NETS[0])['digest']}/1"
    steps = [step for step, _ in afresh[key][4]["test_error"]]
    assert steps == list(range(1, EPOCHS + 1))
    parent = runs(client)[key.rpartition("/")[0]]
    assert "results/train.json" in [
        f.path for f in client.list_artifacts(parent.info.run_id, "results")
    ]


def test_processes_that_make_the_database_together_each_write_their_seeds(project):
    project.fanout("--jobs", "2")
    client = connect(project.folder)
    live = runs(client)
    assert len(live) == 2 * len(NETS)
    assert {run.info.status for run in live.values()} == {"RUNNING"}
    project.run("dvc", "repro", *(f"train@{net}" for net in NETS))
    project.stage("sync")
    done = runs(client)
    assert {run.info.status for run in done.values()} == {"FINISHED"}
    assert {key: done[key].info.run_id for key in live} == {
        key: run.info.run_id for key, run in live.items()
    }


def test_a_server_that_is_not_there_stops_no_training(project):
    address = f"http://127.0.0.1:{free_port()}"
    project.environment["MLFLOW_TRACKING_URI"] = address
    output = project.stage("train", NETS[0])
    nobody = f"no MLflow server answers at {address}; start it"
    assert output.count(f"skipgate: {NETS[0]} trains on without MLflow: {nobody}") == 1, output
    assert "Traceback" not in output
    assert project.result(NETS[0], "train")["seeds"] == [0, 1]
    assert project.stage("sync", code=1).startswith(f"skipgate: {nobody}")


SHOWN = """
import sys
from skipgate import specs
from skipgate.live import Live
with Live(specs.load(sys.argv[1])) as live:
    for epochs in (1, 2):
        live.show([0], {"test_error": [[9.0]] * epochs})
"""
"""A training of two epochs, as far as MLflow is concerned."""


def test_a_server_that_never_answers_keeps_nobody_waiting_for_ever(project):
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        project.environment["MLFLOW_TRACKING_URI"] = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        project.run("python", "-c", SHOWN, NETS[0])


def test_a_short_training_does_not_bring_mlflow(project):
    project.environment = {}
    project.run("python", "-c", f"{SHOWN}sys.exit('mlflow' in sys.modules)", NETS[0])
    assert not (project.folder / "mlflow.db").exists()


def test_a_training_that_was_begun_again_and_came_out_otherwise_has_one_curve(project, monkeypatch):
    monkeypatch.chdir(project.folder)
    client = connect(project.folder)
    for error in (9.0, 8.0):
        Curves(client, specs.load(NETS[0])).add([0], {"test_error": [[error]] * 2})
    (run,) = runs(client).values()
    points = client.get_metric_history(run.info.run_id, "test_error")
    assert [(point.step, point.value) for point in points] == [(1, 8.0), (2, 8.0)]


def test_a_number_of_seconds_that_is_none_is_refused(project):
    project.environment = {"SKIPGATE_LIVE_SECONDS": "soon"}
    refused = project.stage("train", NETS[0], code=1)
    assert "skipgate: SKIPGATE_LIVE_SECONDS is 'soon'; set it to a number of seconds" in refused
