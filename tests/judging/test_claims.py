"""Claims are decided by paired seeds, at the promised rates, and not before all their nets are there."""

import numpy as np
import pytest

from skipgate import params
from skipgate.judging import claims, papers
from skipgate.judging.claims import computed, discards, language
from skipgate.judging.evidence import Outcome, Part, above, decide, paired
from skipgate.results import store
from tests.toys import ROOT

DEPTHS = (2, 10, 50)
MARGINS = {
    "holds": [1.0, 1.1, 0.9, 1.05, 1.02],
    "fails": [-1.0, -1.1, -0.9, -1.05, -1.02],
    "undecided": [1.0, -1.0, 0.9, -1.1, 0.05],
}
"""What seeds say where a sentence is right, wrong, or neither."""


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


@pytest.mark.parametrize(("count", "effects"), [(3, (2.0,)), (5, (0.5, 1.5)), (5, (0.0,))])
def test_power_is_how_often_a_known_truth_is_found(count, effects):
    """Of parts whose seeds spread by 1, as those here are made to."""
    shape = np.linspace(-1, 1, count)
    margins = shape / shape.std(ddof=1)
    stated = tuple(Part("p", tuple(margins), stated=effect) for effect in effects)
    generator, rounds = np.random.default_rng(7), 4000
    found = [
        decide([Part("p", tuple(generator.normal(e, 1, count))) for e in effects], []).answer
        for _ in range(rounds)
    ]
    power = Outcome("holds", stated).power
    assert found.count("holds") / rounds == pytest.approx(power, abs=0.025)


def test_the_smallest_visible_effect_is_seen_four_times_out_of_five():
    part = Part("p", (0.3, -0.2, 0.9, 0.1, 0.4))
    assert part.power(part.visible) == pytest.approx(0.8, abs=1e-6)
    assert part.power(100.0) == 1
    assert Part("p", (1.0,)).power(1.0) == 0, "one seed decides nothing"
    assert Part("p", (1.0, 1.0)).power(0.1) == 1, "without spread all is seen"


def test_what_rounding_leaves_of_a_margin_of_0_is_not_shown():
    part = Part("p", (3 / 15 - 0.2, 4 / 15 - 0.2, 2 / 15 - 0.2))
    assert part.mean != 0
    assert str(part).startswith("p: +0 ± 0.11")


def test_power_is_told_only_where_the_source_states_every_part():
    stated, silent = Part("p", (1.0, 2.0, 3.0), stated=2.0), Part("q", (1.0, 2.0, 3.0))
    assert Outcome("holds", (stated, silent)).power is None
    assert Outcome("holds", (stated,)).power == stated.power(2.0)


def scores(study, net, values):
    study.results[net].parts["train"]["metrics"]["test_error"] = [[value] for value in values]


def each(rows, values):
    """The same values in every row."""
    return [list(values) for _ in rows]


def _gaps(worse, better, by_doubling=False):
    """Errors of one family above another's by the margins, or by so much for each doubling."""

    def make(study, m):
        for d in DEPTHS:
            times = np.log2(d) if by_doubling else 1
            scores(study, f"{better}-{d}", [10.0] * 5)
            scores(study, f"{worse}-{d}", [10 + times * x for x in m])

    return make


def _gain(study, m):
    for d in DEPTHS:
        scores(study, f"residual-{d}", [10.0] * 5)
        scores(study, f"gated-{d}", [10 - np.log2(d) * x / 10 for x in m])


def _train_loss(study, m):
    """Only the second half of the epochs tells."""
    for d in DEPTHS:
        for net, losses in ((f"gated-{d}", [5.0] * 5), (f"residual-{d}", 5 + np.log2(d) * m)):
            early = -30.0 * d if net.startswith("residual") else 0.0
            study.results[net].parts["train"]["metrics"]["train_loss"] = [
                [early] * 10 + [float(loss)] * 10 for loss in losses
            ]


def _k_falls(study, m):
    for times, d in enumerate(DEPTHS):
        part = study.results[f"gated-{d}"].parts["gates"]
        part["T"] = each(part["T"], 10 - times * m)


def _k_middle(study, m):
    part = study.results["gated-50"].parts["gates"]
    rows = range(len(part["T"]))
    part["T"] = [[5.0] * 5 if 8 <= row < len(rows) - 8 else list(5 + m) for row in rows]


def _pruned(study, net, values):
    part = study.results[net].parts["prune"]
    part["random"] = [each(order, values) for order in part["random"]]


def _half(study, m):
    study.results["gated-50"].parts["lesion"]["whole"] = [0.0] * 5
    _pruned(study, "gated-50", 10 - m)


def _breaks(study, m):
    study.results["residual-50"].parts["lesion"]["whole"] = [10.0] * 5
    _pruned(study, "residual-50", 11 + m)
    _pruned(study, "gated-50", [11.0] * 5)


def _greedy(study, m):
    _pruned(study, "gated-50", [20.0] * 5)
    part = study.results["gated-50"].parts["prune"]
    part["smallest"] = each(part["smallest"], 20 - m)


def _seconds(study, m):
    for net, x in zip(("gated-10", "gated-50", "conv-gated"), m, strict=False):
        study.results[net].parts["speed"]["seconds"] = [1.0, *[1 - x / 10] * 3]


def _lesions(cost, whole):
    """What the removal of a block costs, by its place and whether it begins a stage."""

    def make(study, m):
        for result in study.having("lesion").values():
            part = result.parts["lesion"]
            begins = [i == 0 or s != part["stage"][i - 1] for i, s in enumerate(part["stage"])]
            part["whole"] = [whole] * 5
            part["without"] = [[whole + cost(first, x) for x in m] for first in begins]

    return make


def _shuffles(errors):
    def make(study, m):
        for result in study.having("shuffle").values():
            part = result.parts["shuffle"]
            part["errors"] = [[errors(tau, x) for x in m] for tau in part["tau"]]

    return make


def _paths(study, m):
    """Lost blocks cost the plain network more, and half of them little more than a quarter."""
    for net, cost in (("plain-10", m), ("residual-10", 0 * m)):
        lesion = study.results[net].parts["lesion"]
        lesion["whole"] = [5.0] * 5
        lesion["without"] = each(lesion["without"], 5 + cost)
    part = study.results["residual-50"].parts["prune"]
    steps = len(part["random"][0])
    rows = [list(20 + (1 - m) * (step > 0.3 * steps)) for step in range(steps)]
    part["random"] = [rows for _ in part["random"]]


def _gate_values(study, m):
    spread = study.results["highway-10"].parts["gates"]["spread"]["T"]
    spread["low"] = each(spread["low"], 0.5 + m / 10)
    spread["quiet"] = each(spread["quiet"], 0.5 - m / 10)


def _estimates(**rows):
    """Rows of the probe by a block's place, the last of a stage being as the probe has it."""

    def make(study, m):
        for result in study.having("estimation").values():
            part = result.parts["estimation"]
            part["size"] = each(part["size"], [1.0] * 5)
            for key, value in rows.items():
                part[key] = [[float(value(i, x)) for x in m] for i in range(len(part[key]))]

    return make


def _deep(net, sign):
    return lambda study, m: scores(study, net, 50 + sign * m)


MADE = {
    "gated-beats-residual-mnist": _gaps("residual", "gated"),
    "gain-grows-with-depth": _gain,
    "classical-worse": _gaps("plain", "residual"),
    "classical-fails-deep": _deep("plain-50", 1),
    "residual-converges-deep": _deep("residual-50", -1),
    "shortcuts-matter-with-depth": _gaps("plain", "residual", by_doubling=True),
    "k-falls-with-depth": _k_falls,
    "k-low-in-the-middle": _k_middle,
    "half-removed-90": _half,
    "residual-breaks-early": _breaks,
    "greedy-beats-random": _greedy,
    "faster-when-pruned": _seconds,
    "gated-train-loss": _train_loss,
    "lesion-mild": _lesions(lambda first, x: 1 - x, whole=49.0),
    "lesion-early": _lesions(lambda first, x: x if first else 0.0, whole=2.0),
    "lesion-kills-plain": _lesions(lambda first, x: x, whole=80.0),
    "shuffle-smooth": _shuffles(lambda tau, x: -tau * x),
    "shuffle-many-mild": _shuffles(lambda tau, x: 0.0 if tau == 1 else 0.5 if x > 0 else 5.0),
    "paths-removed": _paths,
    "gates-sparse-by-sample": _gate_values,
    "estimation-error-zero-mean": _estimates(mean=lambda i, x: 0.1 - x / 20),
    "residual-zero-mean": _estimates(
        mean=lambda i, x: i * (0.1 - x / 20), deviation=lambda i, x: 1
    ),
    "estimation-std-falls": _estimates(deviation=lambda i, x: 100 - i * x),
}
"""Results of which every margin of a claim is a positive multiple of the wanted ones."""
ELSEWHERE = {
    "shallow-paths-gradient",
    "looks-linear-by-depth",
    *discards.TESTS,
    *language.TESTS,
    "gated-beats-original-cifar",
    "k-decay-hurts",
    "k-decay-enforces-identity",
    "k-low-at-widening",
    "k-peaks-in-the-last-block",
    "pre-activation-improves",
    "weight-sharing-costs-little",
    "expressive-gates-needed",
    "highway-close-to-resnet",
    "resnet-fits-better",
    "without-norm-overfits",
    "highway-fits-better-without-norm",
}
"""Claims with tests of their own below, or in `test_claims_on_convolutions.py`, `..._discards.py` and `..._language.py`."""


@pytest.mark.parametrize("claim", MADE)
@pytest.mark.parametrize("answer", MARGINS)
def test_made_up_results_get_the_answer_that_they_were_made_for(study, judged, claim, answer):
    MADE[claim](study, np.array(MARGINS[answer]))
    assert judged(claim, study).answer == answer


def test_every_test_is_tried_and_belongs_to_a_claim_of_a_paper(loaded):
    told = {name for paper in loaded.values() for name in paper.claims}
    assert claims.TESTS.keys() | computed.TESTS.keys() <= told
    assert claims.TESTS.keys() == MADE.keys() | ELSEWHERE


def test_every_claim_has_its_words_its_place_and_a_test_or_what_it_takes(loaded):
    tests = {**claims.TESTS, **computed.TESTS}
    for paper in loaded.values():
        for name, claim in paper.claims.items():
            assert len(claim.quote.split()) > 5, name
            assert claim.where, name
            assert len(claim.says) <= 70, f"{name}: too long for a table"
            assert claim.needs or tests[name].sentence.endswith("."), name


@pytest.mark.parametrize(("gain", "answer"), [(5.0, "holds"), (12.0, "fails")])
def test_greedy_is_slightly_better_and_not_much(study, judged, gain, answer):
    """From an error of 10 to guessing there are 80 points, of which a tenth is slight."""
    study.results["gated-50"].parts["lesion"]["whole"] = [10.0] * 5
    _greedy(study, gain + np.array([0.0, 0.1, -0.1, 0.05, 0.02]))
    assert judged("greedy-beats-random", study).answer == answer


def test_one_block_is_enough_to_contradict_any(study, judged):
    """The median block is of no matter."""
    _lesions(lambda first, x: 0.0, whole=2.0)(study, MARGINS["holds"])
    assert judged("lesion-mild", study).answer == "holds"
    for result in study.having("lesion").values():
        result.parts["lesion"]["without"][-1] = [30.0, 31.0, 29.0, 30.5, 30.2]
    assert judged("lesion-mild", study).answer == "fails"


def test_networks_that_can_only_add_do_not_decide_on_their_bias(study, judged):
    outcome = judged("estimation-error-zero-mean", study)
    assert {"conv-residual", "conv-gated", "pre-residual-40"} == set(outcome.nets)
    stages = [p.name for p in outcome.beside if ": output less A" in p.name]
    beside = {p.name.split(",")[0] for p in outcome.beside if p.name not in stages}
    assert beside == {"residual-50", "gated-50", "highway-10"}
    assert {name.split(",")[0] for name in stages} == {"conv-residual", "conv-gated"}


def test_the_stage_that_the_paper_excepts_and_the_last_block_do_not_count(study, judged):
    _estimates(mean=lambda i, x: 0.0)(study, MARGINS["holds"])
    part = study.results["conv-residual"].parts["estimation"]
    last = [i for i, stage in enumerate(part["stage"]) if stage == max(part["stage"])]
    for i in last:
        part["mean"][i] = [5.0] * 5
    assert judged("estimation-error-zero-mean", study).answer == "holds"


def test_a_network_of_which_a_seed_has_failed_is_no_trained_one(study, judged):
    assert "residual-50" in judged("lesion-mild", study).nets
    scores(study, "residual-50", [3.0, 3.0, 3.0, 3.0, 80.0])
    outcome = judged("lesion-mild", study)
    assert "residual-50" not in outcome.nets
    assert "residual-10" in outcome.nets
    assert {part.name.split(",")[0] for part in outcome.beside} == {"residual-50"}


@pytest.mark.parametrize(("gap", "answer"), [(1.0, "holds"), (-1.0, "fails"), (0.0, "undecided")])
def test_a_looks_linear_start_is_set_beside_the_ordinary_one(monkeypatch, judged, gap, answer):
    monkeypatch.chdir(ROOT)
    study = store.load(params.load(), "mnist")
    spread = np.array([0.2, -0.2, 0.1, -0.1, 0.0])
    for depth in (10, 50, 100):
        scores(study, f"mnist-looks-linear-{depth}", [5.0] * 5)
        scores(study, f"mnist-crelu-{depth}", list(5 + gap + spread))
    assert judged("looks-linear-by-depth", study).answer == answer


def test_what_could_not_be_otherwise_is_no_finding(study, judged):
    """If it is otherwise all the same, it fails."""
    assert judged("stochastic-depth", study).answer == "by construction"
    study.results["conv-stochastic"].parts["gates"]["T"][3] = [-0.2, -0.1, -0.2, -0.3, -0.2]
    assert judged("stochastic-depth", study).answer == "fails"


@pytest.mark.parametrize(("factor", "answer"), [(0.1, "holds"), (10.0, "fails")])
def test_short_paths_or_long_ones_carry_the_gradient(study, judged, factor, answer):
    """With a factor a for each block passed, lengths follow a binomial law with the share a / (1 + a)."""
    spread = (0.0, 0.1, -0.1, 0.05, 0.02)
    for result in study.having("paths").values():
        rows = range(len(result.parts["paths"]["norm"]))
        result.parts["paths"]["open"] = [len(rows) - 1] * len(spread)
        result.parts["paths"]["norm"] = [
            [(factor + factor * s / 100) ** length for s in spread] for length in rows
        ]
    outcome = judged("shallow-paths-gradient", study)
    assert outcome.answer == answer
    deep = next(part for part in outcome.parts if part.name.startswith("residual-50"))
    assert deep.mean == pytest.approx(8 - 25 * factor / (1 + factor), rel=0.01)


def test_the_paper_s_own_gaps_are_set_beside_ours(study, judged):
    outcome = judged("gated-beats-residual-mnist", study)
    assert [part.stated for part in outcome.parts] == pytest.approx([0.03, 0.04, 0.14])
    (pooled,) = outcome.beside
    assert pooled.stated == pytest.approx((0.03 + 0.04 + 0.04 + 0.14 + 0.24) / 5)
    gaps = np.array([part.margins for part in outcome.parts])
    assert pooled.margins == pytest.approx(gaps.mean(0))
    slope = judged("gain-grows-with-depth", study).parts[0].stated
    gains = [100 * gap / e for gap, e in ((0.03, 2.2), (0.04, 1.64), (0.04, 1.61))]
    gains += [100 * 0.14 / 1.62, 100 * 0.24 / 1.5]
    assert slope == pytest.approx(np.polyfit(np.log2([2, 10, 20, 50, 100]), gains, 1)[0])
    steps = judged("k-falls-with-depth", study).parts
    assert [part.stated for part in steps] == pytest.approx([5.58 - 2.54, 2.54 - 1.04])


def test_a_claim_waits_for_all_its_nets(study, judged):
    del study.results["gated-50"]
    outcome = judged("k-falls-with-depth", study)
    assert (outcome.answer, str(outcome)) == ("not run", "waits for `gated-50`")
    assert claims.concerns("k-falls-with-depth", study)


def test_a_claim_that_no_net_decides_says_what_it_takes(study):
    claim = papers.Claim("", "", "", needs="a language model")
    paper = papers.Paper("", "", claims={"gating-needed-lm": claim})
    outcome = claims.judge(paper, "gating-needed-lm", study)
    assert (outcome.answer, str(outcome)) == ("not run", "a language model")
    assert not claims.concerns("gating-needed-lm", study)


def test_a_net_that_is_not_to_be_probed_so_is_not_waited_for(study, judged):
    """The deepest trained network left is one whose gates and estimates alone are asked."""
    scores(study, "residual-50", [3.0, 3.0, 3.0, 3.0, 80.0])
    outcome = judged("lesion-mild", study)
    assert "pre-residual-40" not in outcome.nets
    assert "pre-residual-40" in judged("residual-zero-mean", study).nets
