"""What the papers report is complete, and refused where it does not fit."""

import pytest
import yaml

from skipgate.files import Problem
from skipgate.judging import papers
from skipgate.judging.coverage import kinds
from tests.toys import ROOT

KINDS = {
    "epsilon": {"measured": 12, "exact": 4, "structure": 18, "quoted": 1, "encoded": 3},
    "fleuret": {"exact": 1, "structure": 15},
    "gresnet": {
        "measured": 31,
        "exact": 22,
        "structure": 21,
        "repeated": 10,
        "quoted": 28,
        "encoded": 13,
    },
    "unrolled": {"measured": 12, "structure": 17, "repeated": 5, "quoted": 1, "encoded": 11},
}
"""Cells by kind: a number that drops out, or changes its kind, is noticed."""
STATEMENTS = {
    "epsilon": {"all": 24, "cifar": 25, "svhn": 16, "imagenet": 19},
    "fleuret": {"network": 11, "shattered-gradients": 4, "looks-linear": 10},
    "gresnet": {"mnist": 29, "cifar-v1": 21, "cifar-v2": 20, "cifar-v2-wide": 13, "k-decay": 3},
    "unrolled": {"imagenet": 16, "penn-treebank": 23, "estimation": 6},
}
CLAIMS = {"epsilon": 14, "fleuret": 8, "gresnet": 23, "unrolled": 22}


def test_every_number_is_there_and_of_its_kind(loaded):
    assert {name: kinds({name: paper}) for name, paper in loaded.items()} == KINDS


def test_every_protocol_is_there(loaded):
    found = {
        name: {key: len(protocol.statements) for key, protocol in paper.protocols.items()}
        for name, paper in loaded.items()
    }
    assert found == STATEMENTS


def test_every_claim_is_there(loaded):
    assert {name: len(paper.claims) for name, paper in loaded.items()} == CLAIMS


def test_no_cell_stands_twice(loaded):
    for paper in loaded.values():
        for name, table in paper.tables.items():
            places = [(cell.row, cell.column) for cell in table.cells]
            assert len(places) == len(set(places)), name


def test_no_number_of_runs_is_made_up(loaded):
    """Of all measured numbers, the sources say of one table alone how many runs it is over."""
    stated = {
        (source, name): (table.statistic, table.runs)
        for source, paper in loaded.items()
        for name, table in paper.tables.items()
        if table.kind == "measured" and table.runs_stated
    }
    assert stated == {("unrolled", "imagenet-top5"): ("mean", 3)}


def test_a_statistic_is_what_measured_numbers_have():
    for file in (ROOT / "papers").glob("*.yaml"):
        for name, table in yaml.safe_load(file.read_text())["tables"].items():
            assert ("statistic" in table) == (table["kind"] == "measured"), (file.stem, name)


def test_what_comes_from_code_is_said_to(loaded):
    tables = {(s, n) for s, p in loaded.items() for n, t in p.tables.items() if t.by == "code"}
    assert tables == {("epsilon", "cifar10-110-curves")}
    large = [s for s in loaded["epsilon"].protocols["all"].statements if s.value == 1000000]
    assert [(s.what, s.by) for s in large] == [("L in the code", "code")]


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
            lambda p: p["tables"]["cifar10-v1"].pop("protocols"),
            "cifar10-v1: measured tables, and no others, name their protocols",
        ),
        (
            lambda p: p["tables"]["others-errors"].pop("kind"),
            "others-errors: measured tables, and no others, name their protocols",
        ),
        (
            lambda p: p["tables"]["cifar10-v1"]["cells"][0].pop("nets"),
            "ResNet 5, original: name the nets of a measured number, or what its table needs",
        ),
        (
            lambda p: p["tables"]["cifar10-v1"].update(runs=5),
            "more runs than 1 need runs_stated, and a source that states them",
        ),
        (
            lambda p: p["tables"]["cifar10-v1"].update(protocols=["cifar-v3"]),
            r"there is no protocol 'cifar-v3'; did you mean 'cifar-v",
        ),
        (
            lambda p: p["tables"]["others-errors"].update(needs="a study"),
            "needs and metric belong to measured tables",
        ),
        (
            lambda p: p["tables"]["gates"]["cells"][0].pop("quantity"),
            "ResNet 5, extra: exact numbers, and no others, name a quantity",
        ),
        (
            lambda p: p["tables"]["others-errors"]["cells"][0].update(nets=["gated-2"]),
            "Network in Network, C10.: a table that nets reproduce needs a metric",
        ),
        (
            lambda p: p["tables"]["gates"]["cells"][0].update(setting="bodies.mlp-2"),
            "only structure is followed by a setting",
        ),
        (
            lambda p: p["protocols"]["mnist"]["statements"][0].pop("value"),
            "images in the data set: a statement has a value, unless it is open",
        ),
        (
            lambda p: p["protocols"]["mnist"]["statements"][0].pop("where"),
            "images in the data set: a statement has a place, unless it is open",
        ),
        (
            lambda p: p["protocols"]["mnist"]["statements"][1].update(what="classes"),
            "'classes' is stated twice",
        ),
        (
            lambda p: p["claims"].update({"strict-zero": next(iter(p["claims"].values()))}),
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
