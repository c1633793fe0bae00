"""Claims on convolutional networks, which are decided once somebody has run the studies that they take."""

import numpy as np
import pytest

from skipgate import params
from skipgate.judging import claims
from skipgate.judging.judgement import judge_study
from skipgate.reporting import answers
from skipgate.results import store
from tests import made_up
from tests.made_up import LEARNT, gates, last
from tests.toys import ROOT

MARGINS = {
    "holds": np.array([1.0, 1.1, 0.9]),
    "fails": np.array([-1.0, -1.1, -0.9]),
    "undecided": np.array([1.0, -1.0, 0.1]),
}
"""What three seeds say where a sentence is right, wrong, or neither."""
LARGE = ("residual", "highway", "highway-full")


@pytest.fixture(autouse=True)
def rooted(monkeypatch):
    monkeypatch.chdir(ROOT)


def _errors(net):
    return lambda study, m: last(study, net, "test_error", LEARNT + m)


def _decay_closes(study, m):
    gates(study, "short-gated-3-k-decay-50", np.tile(5 - m, (9, 1)))
    gates(study, "short-gated-3", np.full((9, 3), 5.0))


def _k_at(places):
    def make(study, m):
        rows = np.full((9, 3), 5.0)
        rows[places] = 5 + m
        gates(study, "short-gated-3", rows)

    return make


def _shared(study, m):
    """A tenth of the way from 20% to guessing is 7 points, less the margin."""
    last(study, "short-residual-3-shared", "test_error", LEARNT + 7 - m)


def _pointwise(study, m):
    last(study, "short-highway-3-pointwise", "test_error", LEARNT + m)
    last(study, "short-highway-3-pointwise", "train_loss", LEARNT + m)


def _close(study, m):
    """Highway-Full at the residual network's error, Highway a little above it or far below."""
    gap = np.where(m > 0, 0.5 + m / 10, -1 + m)
    last(study, "imagenet-highway-50", "test_top5_error", LEARNT + gap)


def _fits(study, m):
    last(study, "imagenet-highway-50", "train_loss", LEARNT + m)


def _overfits(study, m):
    for kind in LARGE[:2]:
        last(study, f"imagenet-{kind}-50-no-norm", "train_error", LEARNT - m)
        last(study, f"imagenet-{kind}-50-no-norm", "test_top5_error", LEARNT + m)


def _fits_without(study, m):
    last(study, "imagenet-highway-50-no-norm", "train_loss", LEARNT - m)
    last(study, "imagenet-highway-50-no-norm", "train_error", LEARNT - m)


def _looks_linear(study, m):
    for depth in (6, 18, 48, 102):
        last(study, f"cifar-looks-linear-{depth}-ordinary", "test_error", LEARNT + m)


def _originals(study, m):
    for net in ("cifar-resnet5-v1", "cifar-v1-wide"):
        last(study, net, "test_error", LEARNT + m)


MADE = {
    ("gated-beats-original-cifar", "cifar10-short"): _errors("short-residual-3"),
    ("gated-beats-original-cifar", "cifar"): _originals,
    ("k-decay-hurts", "cifar10-short"): _errors("short-gated-3-k-decay-50"),
    ("k-decay-enforces-identity", "cifar10-short"): _decay_closes,
    ("k-low-at-widening", "cifar10-short"): lambda study, m: _k_at([3, 6])(study, -m),
    ("k-peaks-in-the-last-block", "cifar10-short"): _k_at([8]),
    ("weight-sharing-costs-little", "cifar10-short"): _shared,
    ("expressive-gates-needed", "cifar10-short"): _pointwise,
    ("pre-activation-improves", "cifar"): _errors("cifar-resnet110-post"),
    ("looks-linear-by-depth", "cifar"): _looks_linear,
    ("highway-close-to-resnet", "imagenet"): _close,
    ("resnet-fits-better", "imagenet"): _fits,
    ("without-norm-overfits", "imagenet"): _overfits,
    ("highway-fits-better-without-norm", "imagenet"): _fits_without,
}
"""By claim and study, results of which every margin follows the wanted ones."""
CLAIMS = {claim for claim, _ in MADE}


@pytest.mark.parametrize(("claim", "study"), MADE)
@pytest.mark.parametrize("answer", MARGINS)
def test_made_up_results_get_the_answer_that_they_were_made_for(judged, claim, study, answer):
    found = made_up.made_up(study)
    MADE[claim, study](found, MARGINS[answer])
    if (claim, answer) == ("highway-close-to-resnet", "undecided"):
        last(found, "imagenet-highway-50", "test_top5_error", LEARNT + MARGINS[answer])
    assert judged(claim, found).answer == answer


@pytest.mark.parametrize(("claim", "name"), MADE)
def test_a_claim_that_can_be_tested_waits_for_nets_and_for_nothing_else(judged, claim, name):
    study = store.load(params.load(), name)
    study.results.clear()
    outcome = judged(claim, study)
    assert outcome.answer == "not run"
    assert str(outcome).startswith("waits for `")
    assert claims.concerns(claim, study)


@pytest.mark.parametrize("claim", sorted(CLAIMS - {"looks-linear-by-depth"}))
def test_no_claim_on_these_networks_is_asked_of_multilayer_ones(claim):
    assert not claims.concerns(claim, store.load(params.load(), "mnist").main)


def test_the_papers_own_gaps_give_the_power_where_a_net_stands_beside_them(judged):
    study = made_up.made_up("cifar10-short")
    last(study, "short-residual-3", "test_error", LEARNT + MARGINS["holds"])
    outcome = judged("gated-beats-original-cifar", study)
    (part,) = outcome.parts
    assert part.stated == pytest.approx(7.16 - 6.67)
    assert outcome.power == pytest.approx(part.power(7.16 - 6.67))
    relative = next(p for p in outcome.beside if p.name == f"{part.name}, in % of the error")
    assert relative.stated == pytest.approx(100 * (7.16 - 6.67) / 7.16)
    (harm,) = judged("k-decay-hurts", study).parts
    assert harm.stated == pytest.approx(7.04 - 6.67)


def test_the_papers_own_top_5_errors_are_set_beside_ours(judged):
    outcome = judged("highway-close-to-resnet", made_up.made_up("imagenet"))
    assert [part.stated for part in outcome.parts] == pytest.approx([0.64, 0.88, 0.36, 0.24])
    harm = [p.stated for p in judged("without-norm-overfits", made_up.made_up("imagenet")).parts]
    assert [value for value in harm if value is not None] == pytest.approx([2.23, 2.5])


def test_smaller_pairs_are_shown_and_decide_nothing(judged):
    study = made_up.made_up("cifar10-short")
    last(study, "short-residual-3", "test_error", LEARNT + MARGINS["holds"])
    for n in (1, 2):
        last(study, f"short-residual-{n}", "test_error", LEARNT + MARGINS["fails"])
    outcome = judged("gated-beats-original-cifar", study)
    assert (outcome.answer, set(outcome.nets)) == ("holds", {"short-residual-3", "short-gated-3"})
    beside = [part for part in outcome.beside if "another net" in part.name]
    assert [part.name for part in beside] == [
        f"short-gated-{n} below short-residual-{n}; another net" for n in (1, 2)
    ]
    assert all(part.mean == pytest.approx(-1) for part in beside)


def test_nothing_waits_for_nets_that_decide_nothing(judged):
    study = made_up.made_up("cifar10-short")
    for net in ("short-residual-1", "short-stochastic-3"):
        del study.results[net]
    last(study, "short-residual-3", "test_error", LEARNT + MARGINS["holds"])
    outcome = judged("gated-beats-original-cifar", study)
    assert outcome.answer == "holds"
    assert any(part.name.startswith("short-gated-2") for part in outcome.beside)
    assert not any(part.name.startswith("short-gated-1") for part in outcome.beside)
    del study.results["short-gated-3"]
    assert str(judged("gated-beats-original-cifar", study)) == "waits for `short-gated-3`"


def test_the_first_block_widens_only_where_the_network_is_wider_than_its_stem(judged):
    """Blocks 1, 5 and 9 of the Wide ResNet (4,10), as the paper counts them."""
    study = made_up.made_up("cifar")
    rows = np.full((12, 3), 5.0)
    rows[[0, 4, 8]] = 5 - MARGINS["holds"]
    gates(study, "cifar-wide-gated", rows)
    assert judged("k-low-at-widening", study).answer == "holds"
    rows[0] = 5 + MARGINS["holds"]
    gates(study, "cifar-wide-gated", rows)
    assert judged("k-low-at-widening", study).answer == "fails"


def test_one_block_as_low_as_those_that_widen_is_enough_to_contradict_lowest(judged):
    study = made_up.made_up("cifar10-short")
    _k_at([3, 6])(study, MARGINS["fails"])
    assert judged("k-low-at-widening", study).answer == "holds"
    _k_at([3, 6, 7])(study, MARGINS["fails"] - np.array([0.0, 0.1, 0.2]))
    rows = np.array(study.results["short-gated-3"].parts["gates"]["k"])
    rows[7] -= MARGINS["holds"]
    gates(study, "short-gated-3", rows)
    assert judged("k-low-at-widening", study).answer == "fails"


def test_a_negative_k_counts_as_what_it_is_for_the_order_of_blocks(judged):
    """What is let through is 0 in all of them."""
    study = made_up.made_up("cifar10-short")
    rows = np.full((9, 3), -5.0)
    rows[8] = -5 + MARGINS["holds"]
    gates(study, "short-gated-3", rows)
    assert judged("k-peaks-in-the-last-block", study).answer == "holds"


@pytest.mark.parametrize("name", ["cifar10-short", "cifar", "imagenet"])
def test_every_claim_says_what_differs_of_convolutional_networks_and_of_no_others(
    name, settings, loaded
):
    """Unless it is so by construction."""
    study = made_up.made_up(name)
    for judged_claim in judge_study(settings, study, loaded).claims:
        claim = judged_claim.claim
        told = claim.deviation_in.get(name, claim.deviation)
        where = f"{name}: {judged_claim.name}"
        assert judged_claim.outcome.answer != "not run", where
        assert not claim.needs, where
        instead = told.replace("instead of a multilayer", "").replace("instead of multilayer", "")
        assert "multilayer" not in instead, where
        assert told or claim.by_construction, where


@pytest.mark.parametrize(
    ("name", "claims_judged"),
    [
        (
            "cifar10-short",
            {
                "lesion-mild",
                "lesion-early",
                "lesion-kills-plain",
                "shuffle-smooth",
                "shuffle-many-mild",
                "estimation-error-zero-mean",
                "residual-zero-mean",
                "estimation-std-falls",
                "gates-sparse-by-sample",
                "stochastic-depth",
            },
        ),
        ("cifar", {"paths-removed", "shallow-paths-gradient", "lesion-kills-plain"}),
    ],
)
def test_claims_of_other_studies_are_judged_here_too(name, claims_judged, settings, loaded):
    found = {c.name: c.outcome for c in judge_study(settings, made_up.made_up(name), loaded).claims}
    assert claims_judged <= found.keys()
    if name == "cifar10-short":
        assert found["lesion-kills-plain"].nets == ("short-plain-3",)
        assert set(found["shuffle-smooth"].nets) == {"short-residual-3", "short-gated-3"}


def test_data_are_told_by_the_nets_and_not_by_the_name_of_the_study(settings, loaded):
    section = answers.section(judge_study(settings, made_up.made_up("cifar10-short"), loaded))
    assert "Stated of CIFAR-10;" not in section
    assert "**Stated of MNIST; judged here on `cifar10-short`.**" in section
    assert "**Stated of ImageNet; judged here on `cifar10-short`.**" in section
