"""Claims are decided by paired seeds, at the promised rates, and not before all their nets are there."""

import numpy as np
import pytest

from skipgate import params
from skipgate.judging import claims, papers
from skipgate.judging.evidence import Part, above, decide, paired
from skipgate.results import store
from tests.toys import ROOT


@pytest.fixture
def study(monkeypatch):
    monkeypatch.chdir(ROOT)
    return store.load(params.load(), "digits")


def test_three_answers():
    sure, contrary, open_ = (
        Part("p", tuple(v)) for v in ([1.0, 1.1, 0.9], [-1.0, -1.1, -0.9], [1.0, -1.0, 0.1])
    )
    assert decide([sure], []).answer == "holds"
    assert decide([sure, open_], []).answer == "undecided"
    assert decide([sure, open_, contrary], []).answer == "fails"
    assert decide([Part("p", (1.0,))], []).answer == "undecided", "one seed decides nothing"
    assert decide([Part("p", ())], []).answer == "undecided"


def test_pairs_leave_out_seeds_that_diverged():
    assert paired("p", [1.0, None, 3.0], [0.5, 1.0, None]).margins == (0.5,)
    assert above("p", [None, 3.0], 1.0).margins == (2.0,)


@pytest.mark.parametrize("parts", [1, 4])
def test_a_claim_without_truth_is_rarely_called_right_or_wrong(parts):
    generator, rounds = np.random.default_rng(5), 1500
    answers = [
        decide([Part("p", tuple(generator.normal(size=5))) for _ in range(parts)], []).answer
        for _ in range(rounds)
    ]
    assert answers.count("holds") / rounds < 0.07
    assert answers.count("fails") / rounds < 0.07


def test_every_test_belongs_to_a_claim_of_a_paper(study):
    told = {name for paper in papers.load(params.load()).values() for name in paper.claims}
    assert claims.TESTS.keys() <= told


def test_swapping_gated_and_residual_turns_the_answer_round(study):
    """Residual networks given 2 points more error: the claim holds; given 2 less: it fails."""
    told = papers.Claim("", "")
    for change, answer in ((2.0, "holds"), (-2.0, "fails")):
        for depth in (2, 10, 50):
            gated, residual = study.results[f"gated-{depth}"], study.results[f"residual-{depth}"]
            spread = [0.0, 0.1, -0.1, 0.05, 0.0]
            residual.parts["train"]["metrics"]["test_error"] = [
                [error + change + s]
                for error, s in zip(gated.last("test_error"), spread, strict=True)
            ]
        assert claims.judge("gated-beats-residual-mnist", told, study).answer == answer


SPREAD = (0.0, 0.1, -0.1, 0.05, 0.02)


@pytest.mark.parametrize(
    ("by", "answer"), [("halvings", "holds"), ("removed", "fails"), ("cut", "fails")]
)
def test_paths_or_blocks_or_shortcuts_are_what_errors_follow(study, by, answer):
    for result in study.results.values():
        part = result.parts["paths"]
        counts = (
            part[by]
            if by in part
            else [m + c for m, c in zip(part["removed"], part["cut"], strict=True)]
        )
        part["errors"] = [
            [10 * n + (7 * place + 3 * seed) % 11 / 10 for seed in range(5)]
            for place, n in enumerate(counts)
        ]
    assert claims.judge("paths-removed", papers.Claim("", ""), study).answer == answer


@pytest.mark.parametrize(("factor", "answer"), [(0.1, "holds"), (10.0, "fails")])
def test_short_paths_or_long_ones_carry_the_gradient(study, factor, answer):
    """With a factor a for each block passed, lengths follow a binomial law with the share a / (1 + a)."""
    for result in study.results.values():
        rows = range(len(result.parts["paths"]["norm"]))
        result.parts["paths"]["open"] = [len(rows) - 1] * len(SPREAD)
        result.parts["paths"]["norm"] = [
            [(factor + factor * s / 100) ** length for s in SPREAD] for length in rows
        ]
    outcome = claims.judge("shallow-paths-gradient", papers.Claim("", ""), study)
    assert outcome.answer == answer
    deep = next(part for part in outcome.parts if part.name.startswith("residual-50"))
    assert deep.mean == pytest.approx(8 - 25 * factor / (1 + factor), rel=0.01)


def test_a_claim_waits_for_all_its_nets(study):
    del study.results["gated-50"]
    outcome = claims.judge("k-falls-with-depth", papers.Claim("", ""), study)
    assert (outcome.answer, str(outcome)) == ("not run", "waits for `gated-50`")
    assert claims.concerns("k-falls-with-depth", study)


def test_a_claim_that_no_net_decides_says_what_it_takes(study):
    outcome = claims.judge(
        "gating-needed-lm", papers.Claim("", "", needs="a language model"), study
    )
    assert (outcome.answer, str(outcome)) == ("not run", "a language model")
    assert not claims.concerns("gating-needed-lm", study)


def test_a_seed_that_could_lose_less_is_judged_by_what_it_lost(study):
    """Rows that a seed has not got are null: it is not left out for them."""
    for result in study.results.values():
        part = result.parts["paths"]
        counts = [m + c for m, c in zip(part["removed"], part["cut"], strict=True)]
        part["errors"] = [[10.0 * n + seed for seed in range(5)] for n in counts]
        part["errors"][-1][0] = None
    outcome = claims.judge("paths-removed", papers.Claim("", ""), study)
    assert all(len(part.margins) == 5 for part in outcome.parts)
