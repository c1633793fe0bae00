"""A claim's block has its words, its place, its test, the margins, the power and the answer."""

import dataclasses
import re

import pytest

from skipgate import params
from skipgate.judging import papers
from skipgate.judging.evidence import Outcome, Part
from skipgate.judging.judgement import JudgedClaim, judge_study
from skipgate.reporting import answers
from skipgate.results import store
from tests.reporting.test_width import WIDEST, rendered
from tests.toys import ROOT

CLAIM = papers.Claim(
    says="Gates help.",
    quote="Gates do help.",
    where="Table 2",
    of="MNIST",
    deviation="smaller networks",
)
PART = Part("d = 2", (0.5, 0.7, 0.6), "points", stated=0.2)
OUTCOME = Outcome("holds", (PART,), nets=("gated-2",), test="One error below the other.")


@pytest.fixture(scope="module")
def loaded():
    return papers.load(params.load(ROOT / "params.yaml"), ROOT / "papers")


def block(outcome=OUTCOME, study="digits", **claim):
    told = dataclasses.replace(CLAIM, **claim)
    return answers.block(JudgedClaim("gresnet", "gates-help", told, outcome), study)


@pytest.mark.parametrize(
    "text",
    [
        "### gates-help: holds",
        "> Gates do help.",
        "gresnet, Table 2.",
        "**Stated of MNIST; judged here on `digits`.**",
        "**Test:** One error below the other.",
        "smaller networks",
        f"source's own margins are true: {100 * PART.power(0.2):.0f}%",
        "+0.6 ± 0.17 points",
        "+0.2",
        "Nets: `gated-2`.",
    ],
)
def test_a_block_has_all_that_a_reader_asks(text):
    assert text in block()


def test_data_are_named_only_where_they_differ():
    assert "Stated of" not in block(study="mnist")
    assert "Stated of" not in block(of="")


def test_where_the_source_states_no_number_the_block_says_what_could_be_seen():
    silent = dataclasses.replace(PART, stated=None)
    text = block(dataclasses.replace(OUTCOME, parts=(silent,)))
    assert "The source states no number" in text
    assert f"a mean margin of {PART.visible:.2g} points would have been seen" in text
    assert "by the source" not in text


def test_what_is_so_by_construction_says_why():
    outcome = dataclasses.replace(OUTCOME, answer="by construction")
    text = block(outcome, by_construction="it is built that way")
    assert "by construction (it is built that way)" in text
    assert "Power" not in text


def test_margins_that_decide_nothing_are_told_apart():
    beside = dataclasses.replace(PART, name="pooled")
    text = answers.margins(dataclasses.replace(OUTCOME, beside=(beside,)))
    assert re.search(r"^\| d = 2 ", text, re.MULTILINE)
    assert re.search(r"^\| \*pooled\* ", text, re.MULTILINE)


@pytest.mark.parametrize("study", ["digits", "mnist"])
def test_every_claim_of_a_study_has_a_block_whose_tables_fit_a_screen(monkeypatch, loaded, study):
    monkeypatch.chdir(ROOT)
    settings = params.load()
    judgement = judge_study(settings, store.load(settings, study), loaded)
    text = answers.section(judgement)
    assert text.count("\n> ") == text.count("\n**Test:** ") == len(judgement.claims)
    rows = [line for line in text.splitlines() if line.startswith("|") and ":--" not in line]
    assert [row for row in rows if sum(width + 3 for width in rendered(row)) > WIDEST] == []


def test_gates_at_zero_are_counted_beside_the_mean_k(monkeypatch, loaded):
    monkeypatch.chdir(ROOT)
    settings = params.load()
    study = store.load(settings, "mnist")
    tables = {t.name: t for t in judge_study(settings, study, loaded).tables}
    told = answers.about_gates(tables["mnist-mean-k"], study)
    closed = sum(v == 0 for row in study.results["mnist-gated-100"].part("gates")["T"] for v in row)
    assert f"{closed} of 250 in `mnist-gated-100`" in told
    assert answers.about_gates(tables["mnist-test-error"], study) == ""


def test_the_list_of_claims_says_what_became_of_each(loaded):
    record = {"claims": {"gresnet classical-worse": {"answer": "undecided"}}}
    text = answers.listing("gresnet", loaded["gresnet"], {"mnist": record})
    assert "**classical-worse**" in text
    assert "*mnist: undecided.*" in text
    assert "*Waits for CIFAR studies on a GPU, and the literature of the time.*" in text
    assert text.count("\n- ") == len(loaded["gresnet"].claims) - 1
