"""MLflow shows every net and seed once, whatever happened before."""

import dataclasses
import json
import re
import shutil
import subprocess

import pytest

from skipgate import params, paths
from skipgate.files import rounded
from skipgate.judging.judgement import judge_study
from skipgate.results import store
from skipgate.tracking import KEY, LARGEST, LEVEL, connect, links, sync
from skipgate.tracking.note import home
from tests.toys import ROOT


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A database without runs; making its tables takes seconds."""
    folder = tmp_path_factory.mktemp("empty")
    connect(folder)
    return folder / "mlflow.db"


@pytest.fixture
def study(tmp_path, monkeypatch, empty):
    for name in ("results", "specs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for file in (ROOT / "params.yaml", empty):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    whole = store.load(params.load(), "digits")
    few = {net: whole.results[net] for net in ("gated-2", "gated-10")}
    return dataclasses.replace(whole, results=few)


@pytest.fixture
def write(study, settings, loaded):
    judgement = judge_study(settings, store.load(settings, study.name), loaded)
    return lambda client, study: sync(client, settings, study, judgement)


def runs(client):
    experiment = client.get_experiment_by_name("digits")
    return {
        run.data.tags[KEY]: run
        for run in client.search_runs([experiment.experiment_id], max_results=1000)
    }


def run_of(client, study, net, seed=None):
    key = f"{net}/{study.results[net].spec.digest}"
    return runs(client)[key if seed is None else f"{key}/{seed}"]


def test_sync_writes_each_net_and_seed_once_and_then_nothing(study, write, tmp_path):
    client = connect(tmp_path)
    assert write(client, study) == {"written": 12, "unchanged": 0}
    first = {key: run.to_dictionary() for key, run in runs(client).items()}
    assert write(client, study) == {"written": 0, "unchanged": 12}
    assert {key: run.to_dictionary() for key, run in runs(client).items()} == first

    result = study.results["gated-10"]
    parent = run_of(client, study, "gated-10")
    child = run_of(client, study, "gated-10", 3)
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


def test_a_run_says_what_was_learnt_from_which_commit_and_what_came_of_it(study, write, tmp_path):
    client = connect(tmp_path)
    write(client, study)
    result = study.results["gated-10"]
    parent = run_of(client, study, "gated-10")
    tags = parent.data.tags
    for run in (parent, run_of(client, study, "gated-10", 0)):
        dataset = run.inputs.dataset_inputs[0]
        assert dataset.dataset.name == "digits"
        assert result.spec.settings.data.sha256.startswith(dataset.dataset.digest)
        assert "scikit-learn" in json.loads(dataset.dataset.source)["uri"]
        assert {tag.key: tag.value for tag in dataset.tags} == {"mlflow.data.context": "training"}
        assert run.data.tags["mlflow.source.name"] == "python -m pipeline.train gated-10"
        assert result.runs[0]["commit"].startswith(run.data.tags["mlflow.source.git.commit"])
    assert "reports/digits.md" in tags["mlflow.note.content"]
    assert "gresnet gated-train-loss" in tags["mlflow.note.content"]
    assert tags["verdict"] == "not comparable"
    numbers = result.best("test_error")
    assert parent.data.metrics["best/test_error"] == rounded(sum(numbers) / len(numbers))
    assert parent.data.metrics["mean_gate"] == pytest.approx(1.056, abs=1e-3)
    assert run_of(client, study, "gated-10", 2).data.metrics["best/test_error"] == numbers[2]


def test_links_lead_to_views_whose_columns_and_axes_exist(study, write, tmp_path):
    client = connect(tmp_path)
    assert links(client, "digits", "http://here:1") == {}
    write(client, study)
    found = links(client, "digits", "http://here:1/")
    experiment = client.get_experiment_by_name("digits")
    nets = [run for run in runs(client).values() if run.data.tags[LEVEL] == "net"]
    for name, address in found.items():
        route = f"http://here:1/#/experiments/{experiment.experiment_id}/runs?"
        assert address.startswith(f"{route}workflowType=machine_learning&viewStateShareKey={name}")
        view = json.loads(experiment.tags[f"mlflow.sharedViewState.{name}"])
        shown = [*view.get("selectedColumns", ()), view.get("orderByKey", "")]
        for kind, label in re.findall(r"(metrics|params|tags)\.`(.+?)`", " ".join(shown)):
            assert any(label in getattr(run.data, kind) for run in nets), (name, label)
        for chart in view.get("compareRunCharts", ()):
            sections = [section["uuid"] for section in view["compareRunSections"]]
            assert chart["metricSectionId"] in sections
            for metric in (*chart.get("selectedMetrics", ()), chart.get("metricKey")):
                assert metric is None or all(metric in run.data.metrics for run in nets)
            for axis in chart.get("selectedParams", ()):
                assert len({run.data.params[axis] for run in nets}) > 1
        if "searchFilter" in view:
            condition = view["searchFilter"]
            chosen = client.search_runs([experiment.experiment_id], condition)
            assert len(chosen) == (2 if "net" in condition else 10)
    assert set(found) == {"nets", "ranking", "compare", "seeds"}


def test_nets_come_first_in_their_order_however_the_runs_came_about(study, write, tmp_path):
    client = connect(tmp_path)
    write(client, study)
    client.delete_run(run_of(client, study, "gated-2").info.run_id)
    write(client, study)
    experiment = client.get_experiment_by_name("digits").experiment_id
    ordered = client.search_runs([experiment], order_by=["attributes.start_time DESC"])
    assert [run.info.run_name for run in ordered[:4]] == [
        "gated-2",
        "gated-10",
        "gated-2 seed 0",
        "gated-10 seed 0",
    ]


def test_weights_are_kept_if_they_are_at_hand_and_small(study, write, tmp_path):
    client = connect(tmp_path)
    for net, size in (("gated-2", 10), ("gated-10", LARGEST + 1)):
        file = paths.model_file("digits", net)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes(size))
    write(client, study)
    kept = {
        net: [
            f.path for f in client.list_artifacts(run_of(client, study, net).info.run_id, "weights")
        ]
        for net in study.results
    }
    assert kept == {"gated-2": ["weights/gated-2.pt"], "gated-10": []}


def test_a_parent_that_was_cut_off_before_its_files_is_completed(
    study, write, tmp_path, monkeypatch
):
    client = connect(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr("skipgate.tracking.syncing.draw_net", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write(client, study)
    (cut,) = runs(client).values()
    write(client, study)
    assert len(runs(client)) == 12
    parent = run_of(client, study, "gated-2")
    assert parent.info.run_id == cut.info.run_id
    assert client.list_artifacts(parent.info.run_id, "figures")


def test_an_experiment_deleted_in_the_ui_comes_back(study, write, tmp_path):
    client = connect(tmp_path)
    write(client, study)
    client.delete_experiment(client.get_experiment_by_name("digits").experiment_id)
    write(client, study)
    assert client.get_experiment_by_name("digits").lifecycle_stage == "active"
    assert len(runs(client)) == 12


def test_a_changed_result_replaces_its_runs_and_a_cut_off_one_is_finished(study, write, tmp_path):
    client = connect(tmp_path)
    write(client, study)
    half = run_of(client, study, "gated-2", 0)
    client.set_terminated(half.info.run_id, "RUNNING")
    same = run_of(client, study, "gated-10", 1)
    study.results["gated-10"].parts["train"]["metrics"]["test_error"][0][-1] = 50.0
    assert write(client, study) == {"written": 7, "unchanged": 5}
    assert len(runs(client)) == 12
    changed = run_of(client, study, "gated-10", 0)
    assert changed.data.metrics["test_error"] == 50.0
    assert run_of(client, study, "gated-2", 0).info.run_id == half.info.run_id
    parent = run_of(client, study, "gated-10").info.run_id
    seed = run_of(client, study, "gated-10", 1)
    assert (seed.info.run_id, seed.data.tags["mlflow.parentRunId"]) == (same.info.run_id, parent)


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("git@example.org:lab/skipgate.git", "https://example.org/lab/skipgate"),
        ("https://me:secret@example.org/lab/skipgate.git", "https://example.org/lab/skipgate"),
        ("/srv/skipgate", ""),
    ],
)
def test_the_home_of_the_project_is_told_without_passwords_and_paths(
    remote, address, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "--quiet"], check=True)
    subprocess.run(["git", "remote", "add", "origin", remote], check=True)
    assert home() == address
