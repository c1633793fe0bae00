"""A task of its own goes through train, probe, report, check and MLflow: three files and settings.

It is a regression with vectors for inputs and a measure of which more is better, so that whatever
takes images, classes, errors or percents for granted fails here.
"""

import json

import numpy as np
import pytest
import yaml

from skipgate.data.fetching import content_hash
from skipgate.tracking import KEY, connect
from tests.project import Project

SETTINGS = '''"""Waves."""

from dataclasses import dataclass
from typing import Literal

from skipgate.settings.measures import Measure
from skipgate.settings.task import TaskSettings


@dataclass(frozen=True)
class Regress(TaskSettings):
    """A number from a vector."""

    kind: Literal["regress"]
    shape: tuple[int, ...]
    test: int
    sha256: str

    @property
    def outputs(self) -> int:
        return 1

    @property
    def measure(self) -> Measure:
        return Measure(
            "correlation",
            "correlation",
            "r",
            lower_is_better=False,
            points="r",
            guessing=0.0,
            failed=0.1,
            bounds=(-1.0, 1.0),
        )
'''
TASK = '''"""Waves."""

import numpy as np
import torch

from skipgate.data.examples import Split
from skipgate.data.images import Images
from skipgate.tasks.task import Tally, Task


class Correlation(Tally):
    """Correlation of outputs and targets."""

    def __init__(self, task, replicas, device):
        super().__init__(task, replicas, device)
        self.seen = []

    def add(self, output, target):
        super().add(output, target)
        self.seen.append(torch.stack([output[..., 0], target]).double())

    def values(self):
        pairs = torch.cat(self.seen, 2).transpose(0, 1)
        return torch.stack([torch.corrcoef(pair)[0, 1] for pair in pairs])


class Regression(Task):
    """Least squares."""

    def load(self, folder, recipe, device):
        parts = [torch.from_numpy(np.load(folder / f"{n}.npy")) for n in ("x", "y", "tx", "ty")]
        return Split(Images(*parts[:2]), Images(*parts[2:]))

    def made_up(self, count, recipe, generator):
        def some():
            x = torch.randn(count, *self.settings.shape, generator=generator, dtype=torch.float64)
            return Images(x, x.sum(1))

        return Split(some(), some())

    def losses(self, output, target):
        return (output[..., 0] - target).square().mean(1)

    def tally(self, replicas, device):
        return Correlation(self, replicas, device)
'''
SOURCE = '''"""Waves."""

import numpy as np


def arrays(name, source, content):
    """Sines of a sum."""
    x = np.random.default_rng(0).normal(size=(120, 4)).astype(np.float32)
    y = np.sin(x.sum(1)).astype(np.float32)
    return {"x": x[:90], "y": y[:90], "tx": x[90:], "ty": y[90:]}
'''
PAPER = {
    "title": "On waves",
    "arxiv": "none",
    "tables": {
        "waves": {
            "title": "Correlations",
            "where": "Table 1",
            "kind": "measured",
            "protocols": ["waves"],
            "statistic": "single",
            "unit": "r",
            "rounding": 0.01,
            "read": "printed",
            "metric": "test_correlation",
            "images": 30,
            "margin": 0.5,
            "margin_reason": "a test",
            "cells": [{"row": "waves", "column": "gated", "value": 0.5, "nets": ["wave-gated"]}],
        }
    },
    "protocols": {
        "waves": {
            "title": "Waves",
            "statements": [{"what": "epochs", "value": 4, "where": "Table 1", "by": "paper"}],
        }
    },
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("waves"), epochs=4)
    package = made.folder / "src" / "skipgate"
    (package / "settings" / "tasks" / "regress.py").write_text(SETTINGS)
    (package / "tasks" / "regress.py").write_text(TASK)
    (package / "data" / "sources" / "waves.py").write_text(SOURCE)
    (made.folder / "papers" / "waves.yaml").write_text(yaml.safe_dump(PAPER))
    scope = {}
    exec(SOURCE, scope)  # noqa: S102
    digest = content_hash(scope["arrays"]("waves", None, None))

    def add(settings):
        content = {"kind": "regress", "shape": [4], "test": 30, "sha256": digest}
        settings["data"]["waves"] = content
        settings["sources"]["waves"] = {"kind": "waves"}
        settings["studies"]["waves"] = {
            "title": "Waves",
            "about": "A second task.",
            "cost": "seconds",
            "rule": "last",
            "defaults": {"data": "waves", "recipe": "digits-dense", "seeds": 3},
        }
        body = {"kind": "mlp", "depth": 10, "width": 8}
        settings["bodies"]["wave-10"] = body
        settings["nets"]["waves"] = {
            "wave-residual": {"body": "wave-10"},
            "wave-gated": {"body": "wave-10", "T": "scalar"},
        }

    made.edit_params(add)
    made.run("git", "init", "--quiet")
    made.run("dvc", "init", "--quiet")
    made.output = made.run("dvc", "repro", "report@waves")
    return made


def test_the_progress_bar_tells_the_measure(project):
    assert "correlation " in project.output
    assert " r]" in project.output
    assert "test error" not in project.output


def test_the_page_has_its_name_and_unit(project):
    page = (project.folder / "reports" / "waves.md").read_text()
    assert "Correlation in r at the last epoch and at the best on the test set" in page
    assert "Correlation in r, mean over seeds" in page
    assert "figures/waves/correlation.png" in page
    assert (project.folder / "reports" / "figures" / "waves" / "correlation.png").exists()
    ours = page.lower().replace("## the papers' figures", "## nets").split("## nets")
    for word in ("test error", "error (%)", "image"):
        assert word not in ours[0] + ours[-1], word


def test_more_is_better(project):
    """The best epoch is the one with the largest value, the worst lesion the smallest."""
    page = (project.folder / "reports" / "waves.md").read_text()
    columns = project.result("wave-gated", "train")["metrics"]["test_correlation"]
    best = np.mean([max(column) for column in columns])
    (row,) = [
        line
        for line in page.split("## Nets")[1].split("## ")[0].splitlines()
        if line.startswith("| `wave-gated`")
    ]
    assert f"[{best:.2f}" in row or ", ".join(f"{max(c):.2f}" for c in columns) in row
    lesion = project.result("wave-gated", "lesion")
    worst = min(np.mean(values) for values in lesion["without"])
    (row,) = [
        line
        for line in page.split("## Lesions and shuffles")[1].split("## ")[0].splitlines()
        if line.startswith("| `wave-gated`")
    ]
    assert f"[{worst:.2f}]" in row


def test_it_is_judged_beside_its_paper_and_by_no_claim_on_errors(project):
    verdicts = json.loads((project.folder / "reports" / "verdicts" / "waves.json").read_text())
    cell = verdicts["cells"]["waves waves, waves, gated, wave-gated"]
    assert cell["word"] in ("agrees", "inconclusive", "differs")
    assert cell["reported"] == 0.5
    assert verdicts["claims"] == {}


def test_it_is_frozen_and_checked_in_its_own_unit(project):
    (project.folder / "CHANGELOG.md").write_text("# Changelog\n\n### Results\n\n- old\n")
    (project.folder / "frozen").mkdir(exist_ok=True)
    project.stage("freeze", "waves", "--reason", "a new task")
    assert "`waves` frozen anew (a new task)" in (project.folder / "CHANGELOG.md").read_text()
    frozen = json.loads((project.folder / "frozen" / "waves.json").read_text())
    assert frozen["metric"] == "test_correlation"
    checked = project.stage("check", "waves")
    assert "correlation (r)" in checked
    assert "and each of their seeds, hold" in checked


def test_mlflow_has_it_with_its_direction(project, monkeypatch):
    project.stage("sync")
    monkeypatch.chdir(project.folder)
    client = connect(project.folder)
    experiment = client.get_experiment_by_name("waves")
    runs = client.search_runs([experiment.experiment_id])
    parent = next(run for run in runs if run.data.tags[KEY].count("/") == 1)
    assert parent.data.tags["measure"] == "test_correlation"
    assert parent.data.tags["measure.unit"] == "r"
    assert parent.data.tags["measure.direction"] == "higher is better"
    assert "test_correlation" in parent.data.metrics
    assert len(runs) == 2 * (1 + 3)
