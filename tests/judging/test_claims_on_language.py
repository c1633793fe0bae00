"""Claims on six kinds of layers in language models, on made-up perplexities."""

import math

import pytest

from skipgate.judging import claims
from tests.made_up import SEEDS, made_up

PAPER = {
    "plain": 92.60,
    "residual": 91.32,
    "t-only": 82.94,
    "c-only": 79.15,
    "coupled": 79.13,
    "full": 79.09,
}
CLAIMS = ("gating-needed-lm", "residual-close-to-plain-lm", "language-order")


def study(name="ptb", noise=0.002, **levels):
    """Two epochs, of which the first is the best on the validation text; the last is worse."""
    made = made_up(name)
    for net, result in made.results.items():
        variant = net.removeprefix(f"{name}-").removesuffix("-one-layer")
        level = {**PAPER, **levels}.get(variant.removesuffix("-carry-shut"))
        shift = len(net) % 3
        best = [level * math.exp(noise * ((seed + shift) % 3 - 1)) for seed in range(SEEDS)]
        result.parts["train"]["metrics"] = {
            "validation_perplexity": [[1.0, 2.0]] * SEEDS,
            "test_perplexity": [[value, 500.0] for value in best],
        }
    return made


@pytest.mark.parametrize("name", ["ptb", "ptb-short", "words"])
@pytest.mark.parametrize("claim", CLAIMS)
def test_the_papers_own_numbers_hold(judged, claim, name):
    assert judged(claim, study(name)).answer == "holds"


@pytest.mark.parametrize(
    ("claim", "levels"),
    [
        ("gating-needed-lm", {"c-only": 84.0}),
        ("gating-needed-lm", {"residual": 80.0}),
        ("gating-needed-lm", {"coupled": 70.0}),
        ("residual-close-to-plain-lm", {"residual": 80.0}),
        ("language-order", {"plain": 85.0}),
        ("language-order", {"full": 90.0}),
    ],
)
def test_other_numbers_fail(judged, claim, levels):
    assert judged(claim, study(**levels)).answer == "fails"


def test_seeds_that_differ_more_than_variants_decide_nothing_and_the_power_says_so(judged):
    sure, unsure = (judged("language-order", study(noise=noise)) for noise in (0.0005, 0.2))
    assert unsure.answer == "undecided"
    assert sure.power > 0.9
    assert unsure.power < 0.2


def test_gaps_stand_beside_the_papers(judged):
    outcome = judged("language-order", study(full=89.60))
    (whole,) = [part for part in outcome.beside if part.name == "Plain less Full"]
    assert whole.mean == pytest.approx(3.0, abs=0.5)
    assert whole.stated == pytest.approx(13.51)


def test_a_single_plain_layer_is_taken_where_there_is_one(judged):
    assert "ptb-plain-one-layer" in judged("residual-close-to-plain-lm", study()).nets
    assert "words-plain" in judged("residual-close-to-plain-lm", study("words")).nets


def test_no_claim_on_errors_is_asked_of_perplexities_and_none_the_other_way(loaded):
    asked = {claim for claim in claims.TESTS if claims.concerns(claim, study())}
    assert asked == set(CLAIMS)
    assert not any(claims.concerns(claim, made_up("digits")) for claim in CLAIMS)
