"""What the papers report is complete, and refused where it does not fit."""

import pytest
import yaml

from skipgate.files import Problem
from skipgate.judging import papers
from tests.toys import ROOT

GOLDEN = {
    "epsilon": (14, 70, 8),
    "fleuret": (5, 16, 5),
    "gresnet": (18, 130, 13),
    "unrolled": (8, 47, 8),
}
"""Tables, cells and claims: a number that drops out is noticed."""


def test_every_number_and_claim_is_there(loaded):
    found = {
        name: (len(p.tables), len(list(papers.cells(p))), len(p.claims))
        for name, p in loaded.items()
    }
    assert found == GOLDEN


def test_no_cell_stands_twice(loaded):
    for paper in loaded.values():
        for name, table in paper.tables.items():
            places = [(cell.row, cell.column) for cell in table.cells]
            assert len(places) == len(set(places)), name


def test_what_reproduces_a_cell_fits_its_table(loaded):
    wrong = [
        (name, cell.row)
        for paper in loaded.values()
        for name, cell in papers.cells(paper)
        if bool(cell.nets) != (paper.tables[name].metric in ("test_error", "mean_gate"))
        or bool(cell.quantity) != (paper.tables[name].metric == "exact")
        or (paper.tables[name].context and (cell.nets or cell.quantity))
    ]
    assert wrong == []


def test_printed_digits_fit_the_rounding(loaded):
    """A value with more digits than the table says it has is a slip of the pen."""
    wrong = [
        (name, cell.row, cell.column)
        for paper in loaded.values()
        for name, cell in papers.cells(paper)
        if (unit := paper.tables[name].rounding)
        and paper.tables[name].unit != "as headed"
        and abs(cell.value / unit - round(cell.value / unit)) > 1e-6
    ]
    assert wrong == []


def test_numbers_and_their_deviations(loaded):
    """Ten numbers taken from the papers by hand, over all four."""
    expected = {
        ("gresnet", "mnist-test-error", "d = 100", "gated"): (1.26, 0),
        ("gresnet", "sdi-highway", "c = -4.5", "slope"): (2.25, 0),
        ("gresnet", "cifar100-v2", "Wide ResNet (4,10) + Dropout", "gated"): (18.27, 0),
        ("gresnet", "parameters", "Wide Gated ResNet (3,4)", "parameters"): (4300000, 0),
        ("gresnet", "others-errors", "FractalNet", "C100+"): (23.73, 0),
        ("epsilon", "imagenet-discarded", "the third run", "not named"): (36.23, 0),
        ("epsilon", "blocks", "752", "blocks"): (375, 0),
        ("unrolled", "imagenet-top5", "Highway-Full", "with BN"): (7.29, 0.11),
        ("unrolled", "charlm-ptb", "C-Only", "perplexity"): (79.15, 0),
        ("fleuret", "parameters", "25 blocks, 16 channels, 3x3", "parameters"): (117802, 0),
    }
    found = {
        (paper, table, cell.row, cell.column): (cell.value, cell.deviation)
        for paper, content in loaded.items()
        for table, cell in papers.cells(content)
    }
    assert {place: found[place] for place in expected} == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda p: p["tables"]["mnist-mean-k"]["cells"][0].update(nets=["gated-22"]),
            r"names the net 'gated-22'; did you mean 'gated-2'\?",
        ),
        (
            lambda p: p["tables"]["parameters"]["cells"][0].update(value="4.3e6"),
            r"YAML reads it as text; write it out, as in 4300000",
        ),
        (lambda p: p["tables"]["mnist-mean-k"].update(margin=0), "needs a margin"),
        (
            lambda p: p["tables"]["mnist-mean-k"].update(metric="test_eror"),
            "'gated-2' has no metric 'test_eror'; did you mean 'test_error'",
        ),
        (
            lambda p: p["claims"].update({"strict-zero": {"says": "x", "where": "y"}}),
            "'strict-zero' stands in another paper's file too",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, settings, change, message):
    for file in (ROOT / "papers").glob("*.yaml"):
        (tmp_path / file.name).write_text(file.read_text())
    paper = yaml.safe_load((ROOT / "papers" / "gresnet.yaml").read_text())
    change(paper)
    (tmp_path / "gresnet.yaml").write_text(yaml.safe_dump(paper))
    with pytest.raises(Problem, match=message):
        papers.load(settings, tmp_path)
