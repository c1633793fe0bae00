"""The page of the theory study."""

import json
import re
import shutil
from pathlib import Path

import pytest

from skipgate import paths
from skipgate.files import Problem
from skipgate.results.theory import PARTS, theory_page
from skipgate.results.theory.findings import FINDINGS
from tests.toys import ROOT


@pytest.fixture
def project(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "results" / "theory", tmp_path / "results" / "theory")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(part, change):
    file = paths.theory_file(part)
    value = json.loads(file.read_text())
    change(value)
    file.write_text(json.dumps(value))


def contradictions(page):
    return re.findall(r"^- ", page.split("## Where this contradicts the papers")[1].split("\n## ")[0], re.MULTILINE)


def test_every_link_leads_to_a_file_and_every_part_is_linked(project):
    page = theory_page()
    targets = set(re.findall(r"\]\(([^)]+)\)", page))
    assert all((Path("reports") / target).is_file() for target in targets)
    assert {f"../results/theory/{part}.json" for part in PARTS} < targets
    assert {target for target in targets if target.endswith(".png")} == {
        f"figures/theory/{name}.png" for name in ("distances", "loss", "paths")
    }


def test_every_table_has_as_many_cells_as_its_head(project):
    rows = [line for line in theory_page().splitlines() if line.startswith("|")]
    tables = "\n".join(rows).replace("\n|:", "\n\x00|:")
    assert tables.count("\x00") == len(PARTS)
    width = None
    for i, row in enumerate(rows):
        if i + 1 < len(rows) and rows[i + 1].startswith("|:"):
            width = row.count("|")
        assert row.count("|") == width


def test_the_committed_page_is_the_rendered_one(project):
    assert theory_page() == (ROOT / "reports" / "theory.md").read_text()


def test_a_finding_that_the_results_do_not_bear_out_is_not_told(project):
    assert len(contradictions(theory_page())) == len(FINDINGS)
    edit("epsilon", lambda value: value.update({"at epsilon": 1.0}))
    edit("counts", lambda value: value.update({"blocks-a-stage-100": 16}))
    page = theory_page()
    assert len(contradictions(page)) == len(FINDINGS) - 2
    assert "exactly ε" not in page


def test_a_missing_result_is_named_with_its_remedy(project):
    paths.theory_file("mixes").unlink()
    with pytest.raises(Problem, match=r"mixes\.json is not there; run: dvc repro theory"):
        theory_page()
