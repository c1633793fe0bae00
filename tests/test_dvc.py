"""What DVC's users expect: metrics and plots that show what moved, experiments, trained networks for others."""

import csv
import json
import re
import shutil

import pytest

from tests.project import NETS, Project, at, copied
from tests.toys import ROOT

AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@b")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small project, run and committed; tests work on copies of it."""
    made = Project(tmp_path_factory.mktemp("finished") / "project")
    made.run("git", "init", "--quiet")
    made.run("git", "config", "user.name", "a")
    made.run("git", "config", "user.email", "a@b")
    made.run("dvc", "init", "--quiet")
    shutil.copytree(ROOT / ".dvc" / "plots", made.folder / ".dvc" / "plots")
    made.run("dvc", "repro", "report@digits")
    made.run("dvc", "repro", "--single-item", "overview")
    commit(made)
    return made


@pytest.fixture
def project(finished, tmp_path):
    return copied(finished, tmp_path / "project")


def commit(project):
    project.run("git", "add", "--all")
    project.run("git", *AUTHOR, "commit", "--quiet", "--message", "all")


def status(project):
    return project.run("git", "status", "--short").strip()


def test_nothing_to_do_starts_no_torch_and_no_mlflow_and_what_is_stale_is_found(project):
    # The first time there is MLflow's database to make.
    project.stage("repro", "digits", "--jobs", "2")
    poison = project.folder.parent / "poison"
    for name in ("torch", "mlflow", "scipy", "pandas"):
        (poison / name).mkdir(parents=True)
        (poison / name / "__init__.py").write_text("raise SystemExit('imported')\n")
    project.environment["PYTHONPATH"] = f"{poison}:{project.folder / 'src'}"
    output = project.stage("repro", "digits", "--jobs", "2")
    assert re.search(r"\| digits +\| 2 of 2", output)
    (project.folder / "mlflow.db").unlink()
    assert "imported" in project.stage("repro", "digits", "--jobs", "2", code=1)
    del project.environment["PYTHONPATH"]
    page = project.folder / "reports" / "digits.md"
    before = page.read_text()
    page.write_text("edited\n")
    output = project.stage("repro", "digits", "--jobs", "2")
    assert page.read_text() == before
    assert "digits: 0 of 2 nets to train" in output
    assert "digits: 6 runs written" in output
    assert "did you mean 'report@digits'" in project.stage("repro", "digit", code=1)


def test_metrics_plots_and_the_table_of_what_moved_follow_a_change(project):
    numbers = json.loads((project.folder / "reports" / "metrics" / "digits.json").read_text())
    seeds = [column[-1] for column in project.result("gated-2", "train")["metrics"]["test_error"]]
    net = numbers["nets"]["gated-2"]
    assert net["test_error"] == pytest.approx(sum(seeds) / len(seeds), rel=1e-5)
    assert net["low"] < net["test_error"] < net["high"]
    assert net["seeds"] == 2
    assert "mean_gate" in net
    assert "mean_gate" not in numbers["nets"]["residual-2"]
    shown = project.run("dvc", "metrics", "show")
    assert "nets.gated-2.test_error" in shown
    assert "failed" not in shown
    table = project.folder / "reports" / "plots" / "digits" / "error.csv"
    rows = list(csv.DictReader(table.read_text().splitlines()))
    ends = {row["net"]: row["test error (%) by epoch"] for row in rows}
    assert float(ends["gated-2"]) == pytest.approx(net["test_error"], rel=1e-5)
    assert project.stage("moved").strip() == "No number and no verdict has moved since HEAD."

    project.edit_params(lambda s: s["nets"]["digits"]["gated-2"].update(seeds=3))
    project.run("dvc", "repro", "report@digits")
    changes = json.loads(project.run("dvc", "metrics", "diff", "--json"))
    (moved,) = changes.values()
    assert moved["nets.gated-2.seeds"] == {"old": 2, "new": 3, "diff": 1}
    told = project.stage("moved", "HEAD")
    assert "### digits" in told
    assert f"| `gated-2` | test_error {net['test_error']:g} (" in told
    assert "`residual-2`" not in told
    page = project.folder / "page"
    project.run("dvc", "plots", "diff", "HEAD", "--out", str(page))
    html = (page / "index.html").read_text()
    assert '"rev": "workspace"' in html
    assert "reports/plots/digits/lesions.csv" in html
    assert "git knows no commit 'nowhere'" in project.stage("moved", "nowhere", code=1)


def test_an_experiment_leaves_the_workspace_alone_and_trains_only_new_seeds(project):
    kept = len(list((project.folder / ".vault").glob("*-[0-9]")))
    words = ("--temp", "--name", "more", "-S", "+nets.digits.gated-2.seeds=3", "report@digits")
    output = project.run("dvc", "exp", "run", *words)
    assert "Running stage 'train@gated-2'" in output
    assert "Running stage 'train@residual-2'" not in output
    assert status(project) == ""
    assert len(list((project.folder / ".vault").glob("*-[0-9]"))) == kept + 1
    assert "more" in project.run("dvc", "exp", "show", "--only-changed", "--csv")
    (moved,) = json.loads(project.run("dvc", "metrics", "diff", "HEAD", "more", "--json")).values()
    assert moved["nets.gated-2.seeds"]["new"] == 3


def test_trained_networks_reach_a_second_person_through_a_remote(project, tmp_path):
    store = tmp_path / "store"
    project.run("dvc", "remote", "add", "--default", "store", str(store))
    project.run("dvc", "push", "train@gated-2", "fetch@digits")
    commit(project)
    project.run("git", "clone", "--quiet", str(project.folder), str(tmp_path / "clone"))
    clone = at(tmp_path / "clone")
    clone.run("dvc", "pull", "train@gated-2", "fetch@digits")
    model = clone.folder / "models" / "digits" / "gated-2.pt"
    assert model.read_bytes() == (project.folder / "models" / "digits" / "gated-2.pt").read_bytes()
    lesion = clone.result_file("gated-2", "lesion")
    before = json.loads(lesion.read_text())
    shutil.rmtree(lesion.parent)
    assert clone.repro("probe@gated-2") == ["probe@gated-2"]
    assert json.loads(lesion.read_text()) == before
    assert not (clone.folder / "models" / "digits" / f"{NETS[0]}.pt").exists()
