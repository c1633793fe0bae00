"""Whatever is changed by hand is named by a sentence."""

import json
import re
import shutil
from pathlib import Path

import pytest

from skipgate import behaviour, lockfile, params
from skipgate.files import Problem
from skipgate.reporting.integrity import findings, stale_specs
from tests.toys import ROOT


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("results", "specs", "papers", "frozen", "reports"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("params.yaml", "dvc.lock", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("docs", "src", "tests"):  # which pages lead to
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)


def replace(file, pattern, new):
    text = Path(file).read_text()
    assert re.search(pattern, text)
    Path(file).write_text(re.sub(pattern, new, text, count=1))


@pytest.mark.parametrize(
    "cut",
    [
        "stages:\n  a:\n    outs:\n    - pa",
        "stages:\n  a:\n    outs:\n    - hash: md5",
        "stages:\n  a",
        "",
        "schema: '2.0'",
    ],
)
def test_a_lock_that_is_being_written_is_named(tmp_path, monkeypatch, cut):
    monkeypatch.chdir(tmp_path)
    Path("dvc.lock").write_text(cut)
    with pytest.raises(Problem, match="cut off or damaged; let a running dvc come to its end"):
        lockfile.written()


def test_what_is_committed_holds_together(project):
    assert list(findings(params.load())) == []


def test_an_edited_result_is_named(project):
    file = Path("results/digits/gated-10/train.json")
    value = json.loads(file.read_text())
    value["metrics"]["test_error"][0][-1] += 1
    file.write_text(json.dumps(value))
    found = list(findings(params.load()))
    assert found[0].startswith(
        f"{file} is not what the stage train@gated-10 wrote; restore it with: git checkout -- {file}"
    )
    assert any(
        "records for cells: gresnet mnist-test-error, d = 10, gated, gated-10: ours" in line
        for line in found
    )


def test_an_edited_digit_of_a_report_is_named(project):
    replace("reports/digits.md", r"\[3\.(\d\d) ±", r"[9.\1 ±")
    (line,) = findings(params.load())
    assert re.match(
        r"reports/digits\.md, line \d+: says '.*9\..*' where the results render to '.*3\..*'; run: make report",
        line,
    )


def test_an_edited_number_of_the_readme_is_named(project):
    replace("README.md", r"Of \d+ tests", "Of 1000 tests")
    (line,) = findings(params.load())
    assert re.match(
        r"README\.md, line \d+: says '.*Of 1000 tests.*' where .*; run: dvc repro -f -s overview",
        line,
    )


def test_an_edited_reported_number_is_named(project):
    replace(
        "papers/gresnet.yaml",
        r"row: d = 10, column: gated, value: 1\.60",
        "row: d = 10, column: gated, value: 1.61",
    )
    found = list(findings(params.load()))
    assert any(
        "d = 10, gated, gated-10: reported 1.6, but from the results and papers follows 1.61"
        in line
        for line in found
    )


def test_a_deleted_result_is_a_number_that_leads_nowhere(project):
    Path("results/digits/gated-10/probes/shuffle.json").unlink()
    assert any(
        "leads to ../results/digits/gated-10/probes/shuffle.json, which is not there" in line
        for line in findings(params.load())
    )


def test_results_without_a_page_are_named(project):
    for file in ("reports/mnist.md", "reports/verdicts/mnist.json"):
        Path(file).unlink()
    assert "mnist has results and no page; run: make report STUDY=mnist" in findings(params.load())


def test_a_changed_default_is_named_with_the_nets_it_touches(project, monkeypatch):
    settings = params.load()
    assert list(stale_specs({"gated-10": behaviour.specify(settings, "gated-10")})) == []
    monkeypatch.setattr("skipgate.nets.gates.scalar.Scalar.__init__.__defaults__", (0.9,))
    fresh = {net: behaviour.specify(settings, net) for net in ("gated-10", "residual-10")}
    found = list(stale_specs(fresh))
    assert (
        found[0]
        == "specs/gated-10.json: by the code settings.T.start is 0.9 where the spec says 1.0; if that is meant, run: dvc repro probe@gated-10"
    )
    assert not any("residual" in line for line in found)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda text: text + "one line more\n",
            r"line \d+: says '\.\.\.one line more\.\.\.' where",
        ),
        (lambda text: text[:-1], r"line \d+: the line does not end as it should"),
        (lambda text: text[: text.rindex("\n", 0, -1) + 1], r"says '\.\.\.\.\.\.' where"),
        (lambda text: "", r"line 1: says '\.\.\.\.\.\.' where"),
    ],
    ids=["a line more", "no newline at the end", "a line less", "empty"],
)
def test_a_page_that_differs_at_its_end_is_named(project, change, said):
    page = Path("reports/digits.md")
    page.write_text(change(page.read_text()))
    (line,) = findings(params.load())
    assert re.search(rf"reports/digits\.md, {said}|reports/digits\.md, line \d+: {said}", line)
    assert line.endswith("run: make report STUDY=digits")
