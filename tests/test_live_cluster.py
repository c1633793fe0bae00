"""Whoever started a cluster's trainings shows them in MLflow, also where machines share no disk."""

import pytest
from ray.cluster_utils import Cluster

from skipgate.tracking import connect
from tests.project import NETS, Project
from tests.test_live import runs

pytestmark = pytest.mark.xdist_group("ray")  # in one process, after one another


def test_seeds_that_a_cluster_trains_are_seen_while_they_run(tmp_path):
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False}
    )
    try:
        project = Project(tmp_path, epochs=40)
        project.environment = {"SKIPGATE_LIVE_SECONDS": "0"}
        project.run("git", "init", "--quiet")
        project.run("dvc", "init", "--quiet")
        project.fanout("--engine", "ray", "--address", cluster.address)
    finally:
        cluster.shutdown()
    live = runs(connect(project.folder))
    assert len(live) == 2 * len(NETS)
    assert all(run.info.status == "RUNNING" and run.data.metrics for run in live.values())
