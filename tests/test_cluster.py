"""The same files from a Ray cluster of two nodes on this machine, also when workers, nodes and drivers generator."""

import os
import signal
import time
from types import SimpleNamespace

import psutil
import pytest
from ray.cluster_utils import Cluster

from skipgate.fanout import cluster as engine
from skipgate.specs import Spec, resolve
from skipgate.training import checkpoints as checkpoint
from tests.project import NETS, Project
from tests.test_fanout import checkpoints, files, finish, wait_for

pytestmark = pytest.mark.xdist_group("ray")  # in one process, after one another


@pytest.fixture
def cluster():
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.second = made.add_node(num_cpus=1)
    made.wait_for_nodes()
    yield made
    made.shutdown()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return files(studied(Project(tmp_path_factory.mktemp("expected"), epochs=40)))


def studied(project):
    project.run("git", "init", "--quiet")
    project.run("dvc", "init", "--quiet")
    project.run("dvc", "repro", *(f"train@{net}" for net in NETS))
    return project


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path, epochs=40)
    made.run("git", "init", "--quiet")
    made.run("dvc", "init", "--quiet")
    return made


def workers():
    """Processes that run a training task now."""
    return [
        p
        for p in psutil.process_iter(["cmdline"])
        if any("ray::work" in word for word in p.info["cmdline"] or ())
    ]


def test_two_nodes_make_the_same_files_and_leave_dvc_nothing_to_train(cluster, project, expected):
    output = project.fanout("--engine", "ray", "--address", cluster.address)
    assert "2 of 2 nets trained: 100%" in output
    assert finish(project) == expected


def test_a_killed_worker_a_lost_node_and_a_killed_driver_cost_time_only(cluster, project, expected):
    def start():
        return project.start(
            "python",
            "-m",
            "pipeline.fanout",
            "report@digits",
            "--engine",
            "ray",
            "--address",
            cluster.address,
        )

    driver = start()
    wait_for(lambda: checkpoints(project))
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    wait_for(lambda: not workers())
    driver = start()
    wait_for(workers)
    os.kill(workers()[0].pid, signal.SIGKILL)
    time.sleep(2)
    cluster.remove_node(cluster.second, allow_graceful=False)
    output, _ = driver.communicate(timeout=300)
    assert driver.returncode == 0, output
    assert finish(project) == expected


def test_what_processes_left_half_done_a_cluster_finishes(cluster, project, expected):
    driver = project.start("python", "-m", "pipeline.fanout", "report@digits", "--jobs", "2")
    wait_for(
        lambda: checkpoints(project)
    )  # of one net or of both: on a busy machine one may be done before the other begins
    for process in [*psutil.Process(driver.pid).children(), psutil.Process(driver.pid)]:
        process.kill()
    driver.communicate()
    marked = checkpoints(project)  # to see that they are what the cluster goes on from
    assert marked
    for file in marked:
        state = checkpoint.load(file, "it was just written")
        state["history"]["test_error"][0] = [77.0, 77.0]
        file.write_bytes(checkpoint.to_bytes(state))
    project.fanout("--engine", "ray", "--address", cluster.address)
    models = {name: content for name, content in finish(project).items() if name.endswith(".pt")}
    assert models == {name: content for name, content in expected.items() if name.endswith(".pt")}
    firsts = [
        [column[0] for column in project.result(net, "train")["metrics"]["test_error"]]
        for net in NETS
    ]
    assert firsts.count([77.0, 77.0]) == len(marked)


def test_one_more_seed_on_a_cluster_is_what_one_process_makes_of_it(cluster, project, tmp_path):
    alone = studied(Project(tmp_path / "alone", epochs=40))
    for made in (alone, project):
        if made is project:
            made.fanout("--engine", "ray", "--address", cluster.address)
            finish(made)
        made.edit_params(lambda s: s["studies"]["digits"]["defaults"].update(seeds=3))
    alone.run("dvc", "repro", *(f"train@{net}" for net in NETS))
    output = project.fanout("--engine", "ray", "--address", cluster.address)
    assert "2 of 2 nets trained: 100%" in output
    assert finish(project) == files(alone)
    assert [run["seeds"] for run in project.result("gated-2", "run")["runs"]] == [[0, 1], [2]]


def test_where_the_vault_cannot_be_seen_the_files_travel_back(tmp_path, monkeypatch):
    from skipgate import params
    from skipgate.fanout.plan import Task
    from tests.toys import ROOT

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    known = params.load(ROOT / "params.yaml")
    settings = resolve(known, "gated-2")
    spec = Spec("gated-2", "digits", "digits", settings, 1, "a-digest", seeds=2)
    task = Task(spec, (0, 1), 1.0, known.sources["digits"])
    told = []
    remote = SimpleNamespace(
        remote=lambda name, now: told.append((name, now[0], len(now[1]["test_error"])))
    )
    news = SimpleNamespace(tell=remote)
    shared = (str(tmp_path / "not-here"), ".shared-x")
    sent = engine.work(task, shared, news)
    assert sorted(sent) == [0, 1]
    assert sorted(sent[0]) == ["model.pt", "run.json", "train.json"]
    assert told[-1] == ("gated-2", [0, 1], settings.recipe.epochs)
    told.clear()
    assert engine.work(task, shared, news) == sent, "that machine's own vault has it now"
    assert told == []
    assert len(list((tmp_path / "elsewhere" / "skipgate" / "data").glob("*/whole"))) == 1
