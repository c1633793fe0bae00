"""MLflow shows every net and seed once, whatever happened before."""

import dataclasses
import shutil

import pytest

from skipgate import params
from skipgate.results import store
from skipgate.tracking import KEY, connect, sync
from tests.toys import ROOT


@pytest.fixture
def study(tmp_path, monkeypatch):
    for name in ("results", "specs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    whole = store.load(params.load(), "digits")
    few = {net: whole.results[net] for net in ("gated-2", "gated-10")}
    return dataclasses.replace(whole, results=few)


def runs(client):
    experiment = client.get_experiment_by_name("digits")
    return {
        run.data.tags[KEY]: run
        for run in client.search_runs([experiment.experiment_id], max_results=1000)
    }


def test_sync_writes_each_net_and_seed_once_and_then_nothing(study, tmp_path):
    client = connect(tmp_path)
    assert sync(client, study) == {"written": 12, "unchanged": 0}
    first = {key: run.to_dictionary() for key, run in runs(client).items()}
    assert sync(client, study) == {"written": 0, "unchanged": 12}
    assert {key: run.to_dictionary() for key, run in runs(client).items()} == first

    result = study.results["gated-10"]
    parent = runs(client)[f"gated-10/{result.spec.digest}"]
    child = runs(client)[f"gated-10/{result.spec.digest}/3"]
    assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert child.data.metrics["test_error"] == result.last("test_error")[3]
    history = client.get_metric_history(child.info.run_id, "train_loss")
    assert [m.value for m in sorted(history, key=lambda m: m.step)] == result.curve("train_loss")[3]
    assert parent.data.params["recipe.optimiser.rate"] == "0.002"
    assert {
        "provenance.commit",
        "provenance.lock",
        "provenance.device",
        "provenance.threads",
    } <= parent.data.tags.keys()
    assert [f.path for f in client.list_artifacts(parent.info.run_id, "figures")] == [
        "figures/net.png"
    ]


def test_a_parent_that_was_cut_off_before_its_files_is_written_again(study, tmp_path, monkeypatch):
    client = connect(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr("skipgate.tracking.draw_net", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            sync(client, study)
    sync(client, study)
    assert len(runs(client)) == 12
    parent = runs(client)[f"gated-2/{study.results['gated-2'].spec.digest}"]
    assert client.list_artifacts(parent.info.run_id, "figures")


def test_an_experiment_deleted_in_the_ui_comes_back(study, tmp_path):
    client = connect(tmp_path)
    sync(client, study)
    client.delete_experiment(client.get_experiment_by_name("digits").experiment_id)
    sync(client, study)
    assert client.get_experiment_by_name("digits").lifecycle_stage == "active"
    assert len(runs(client)) == 12


def test_a_changed_result_replaces_its_runs_and_a_cut_off_one_is_finished(study, tmp_path):
    client = connect(tmp_path)
    sync(client, study)
    half = runs(client)[f"gated-2/{study.results['gated-2'].spec.digest}/0"]
    client.set_terminated(half.info.run_id, "RUNNING")
    study.results["gated-10"].parts["train"]["metrics"]["test_error"][0][-1] = 50.0
    assert sync(client, study) == {"written": 7, "unchanged": 5}
    assert len(runs(client)) == 12
    changed = runs(client)[f"gated-10/{study.results['gated-10'].spec.digest}/0"]
    assert changed.data.metrics["test_error"] == 50.0
