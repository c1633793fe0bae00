"""The page of the theory study."""

import json
import re
import shutil
from pathlib import Path

import pytest

from skipgate import params, paths
from skipgate.files import Problem
from skipgate.judging import papers
from skipgate.judging.exact import judge_theory
from skipgate.reporting.theory import PARTS, draw, theory_page
from skipgate.reporting.theory.findings import FINDINGS
from tests.toys import ROOT


@pytest.fixture
def project(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "results" / "theory", tmp_path / "results" / "theory")
    shutil.copytree(ROOT / "papers", tmp_path / "papers")
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def judged():
    return judge_theory(papers.load(params.load()))


def edit(part, change):
    file = paths.theory_file(part)
    value = json.loads(file.read_text())
    change(value)
    file.write_text(json.dumps(value))


def contradictions(page):
    return re.findall(
        r"^- ",
        page.split("## Where this contradicts the papers")[1].split("\n## ")[0],
        re.MULTILINE,
    )


def test_every_link_leads_to_a_file_and_every_part_is_linked(project):
    draw()
    page = theory_page(judged())
    targets = set(re.findall(r"\]\(([^)]+)\)", page))
    assert all((Path("reports") / target).is_file() for target in targets)
    assert {f"../results/theory/{part}.json" for part in PARTS} < targets
    assert {target for target in targets if target.endswith(".png")} == {
        f"figures/theory/{name}.png"
        for name in ("distances", "loss", "paths", "shattered", "paper-fleuret-shattered")
    }


def test_every_table_has_as_many_cells_as_its_head(project):
    rows = [line for line in theory_page(judged()).splitlines() if line.startswith("|")]
    tables = "\n".join(rows).replace("\n|:", "\n\x00|:")
    assert tables.count("\x00") == len(PARTS) + 3, (
        "the verdicts, the answers, the margins of one claim"
    )
    width = None
    for i, row in enumerate(rows):
        if i + 1 < len(rows) and rows[i + 1].startswith("|:"):
            width = row.count("|")
        assert row.count("|") == width


def test_the_committed_page_is_the_rendered_one(project):
    assert theory_page(judged()) == (ROOT / "reports" / "theory.md").read_text()


def test_a_finding_that_the_results_do_not_bear_out_is_not_told(project):
    assert len(contradictions(theory_page(judged()))) == len(FINDINGS)
    edit("epsilon", lambda value: value.update({"at epsilon": 1.0}))
    edit("counts", lambda value: value.update({"blocks-a-stage-100": 16}))
    page = theory_page(judged())
    assert len(contradictions(page)) == len(FINDINGS) - 2
    assert "exactly ε" not in page


def test_a_missing_result_is_named_with_its_remedy(project):
    paths.theory_file("mixes").unlink()
    with pytest.raises(Problem, match=r"mixes\.json is not there; run: dvc repro theory"):
        theory_page(judged())


def test_exact_numbers_agree_when_ours_rounds_to_them(project):
    found = judged().plain()
    assert found["verdicts"]["differs"] == 4, "the intercept of Equation 10, printed four times"
    edit("counts", lambda value: value.update({"fleuret": 117803}))
    edit("counts", lambda value: value.update({"wide-3-4": 4349999}))
    changed = judged().plain()
    moved = {
        place
        for place, cell in changed["cells"].items()
        if cell["word"] != found["cells"][place]["word"]
    }
    assert len(moved) == 1
    assert "fleuret" in moved.pop()


def straighten(slices):
    """As if the cost were a mix of its slices at k = 0 and k = 1."""
    for block in slices["loss"].values():
        block.update({"bend": 0.0, "bend between 0 and 1": 0.0})


def test_computable_claims_follow_the_results(project):
    answers = {name: told["answer"] for name, told in judged().plain()["claims"].items()}
    assert answers.pop("gresnet surface-slices") == "fails", "the cost is not linear in k"
    assert set(answers.values()) == {"holds"}
    edit("slices", straighten)
    assert judged().plain()["claims"]["gresnet surface-slices"]["answer"] == "holds"
    edit("epsilon", lambda value: value.update({"samples that differ": 1}))
    edit("linear", lambda value: value["looks-linear"].update({"sum": [0.1]}))
    edit("slices", lambda value: value["deviations"].update({"layer output is the mix": 0.1}))
    edit("mixes", lambda value: value["cases"]["equal"].update({"grid variance": [0.0]}))
    edit(
        "shattered",
        lambda value: value["networks"].update({"residual": value["networks"]["plain"][::-1]}),
    )
    assert {told["answer"] for told in judged().plain()["claims"].values()} == {"fails"}


def test_a_quantity_that_is_not_there_is_refused(project):
    edit("counts", lambda value: value.pop("fleuret"))
    with pytest.raises(
        Problem, match=r"the quantity 'counts\.fleuret' is not in results/theory/counts\.json"
    ):
        judged()


def test_only_starting_values_of_k_are_listed(project):
    """The table of distances has an exponent beside them, which is no start."""
    page = theory_page(judged())
    assert "for k_init = 2" in page
    assert "k_init = power" not in page
