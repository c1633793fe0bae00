"""Claims on epsilon networks, from made-up results of a sweep of epsilon at two depths."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from skipgate.judging import claims
from skipgate.judging.claims.collapse import against_decay, left_by_decay
from skipgate.judging.claims.discards import TESTS, deciding, sweeps, twin
from skipgate.settings import Adaptive, ConstantRate, Decay, Imagenet, Mlp, Sgd
from tests.judging.test_claims_on_convolutions import MARGINS
from tests.made_up import EPOCHS, LEARNT, add, discards, last, named, sweep
from tests.toys import ROOT

NETS = [f"e-{n}-{epsilon}" for n in (4, 6) for epsilon in (1, 2, 3)]
CHOSEN = ["e-4-2", "e-6-2"]
"""Those that decide, once the smallest epsilon discards next to nothing."""


@pytest.fixture(autouse=True)
def rooted(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture
def study():
    made = sweep()
    for net in NETS:
        discards(made, net, [0.1 if net.endswith("-1") else 0.5] * 3)
    return made


def _identity(key, values):
    def make(study, m):
        for net in CHOSEN:
            study.results[net].parts["identity"][key] = values(m)

    return make


def _no_worse(study, m):
    for net in CHOSEN:
        last(study, net, "test_error", LEARNT + 0.5 - m / 10)


def _by_epsilon(study, m):
    for net in NETS:
        discards(study, net, 0.5 + int(net[-1]) * m / 10)


def _by_stage(study, m):
    for net in CHOSEN:
        part = study.results[net].parts["identity"]
        part["strict"] = [list(0.5 + stage * m / 10) for stage in part["stage"]]


def _spreads(study, m):
    """Weights fall from block to block by so much."""
    for net in CHOSEN:
        for record, x in zip(study.results[net].parts["train"]["blocks"], m, strict=True):
            rows = record["percentiles"]["93"]
            record["percentiles"]["93"] = [[10 - x * i / 10] * EPOCHS for i in range(len(rows))]


def _counts(study, m):
    for net in CHOSEN:
        counts = [[3.0, 3 + x, 3 + 2 * x, 3 + 2 * x] for x in m]
        study.results[net].parts["train"]["metrics"]["discarded"] = counts


def _fallen(study, m):
    """The logarithm falls by a tenth more than by decay alone, less a twentieth of the margin."""
    for net in CHOSEN:
        result = study.results[net]
        optimiser = result.spec.settings.recipe.optimiser
        epoch = math.ceil(1198 / 64) * math.log(left_by_decay(optimiser, 0.1, 0.0005))
        for record, x in zip(result.parts["train"]["blocks"], m, strict=True):
            curve = [math.exp(epoch * (1.1 - x / 20) * e) for e in range(EPOCHS)]
            for p, sign in (("0", -1), ("100", 1)):
                rows = record["percentiles"][p]
                record["percentiles"][p] = [[sign * value for value in curve] for _ in rows]


def _sides(study, m):
    for n in (2, 4, 6):
        last(study, f"r-{n}", "test_error", LEARNT - m)


MADE = {
    "lossless-removal": _identity("changed", lambda m: list(0.5 - m / 10)),
    "same-accuracy-fewer-layers": _no_worse,
    "larger-epsilon-more-discarded": _by_epsilon,
    "discards-late-layers": _by_stage,
    "weights-fall-towards-output": _spreads,
    "discard-saturates": _counts,
    "weight-collapse": _fallen,
    "memory-falls": _identity("memory", lambda m: [[1.0] * 3, list(0.8 - m / 10)]),
    "side-supervision-helps-resnet": _sides,
}
"""Results of which every margin follows the wanted ones."""
CLAIMS = {*MADE, "marginal-loss-imagenet", "depth-not-monotone"}


@pytest.mark.parametrize("claim", MADE)
@pytest.mark.parametrize("answer", MARGINS)
def test_made_up_results_get_the_answer_that_they_were_made_for(study, judged, claim, answer):
    MADE[claim](study, MARGINS[answer])
    outcome = judged(claim, study)
    by_construction = (claim, answer) == ("weight-collapse", "holds")
    assert outcome.answer == ("by construction" if by_construction else answer)


def test_every_test_is_tried():
    assert TESTS.keys() == CLAIMS | {"stochastic-depth"}


@pytest.mark.parametrize("claim", MADE)
def test_a_claim_waits_for_its_nets(study, judged, claim):
    study.results.clear()
    assert str(judged(claim, study)).startswith("waits for `")
    assert claims.concerns(claim, study)
    assert not claims.concerns("marginal-loss-imagenet", study), "no net is of that kind"


@pytest.mark.parametrize("claim", sorted(CLAIMS))
def test_no_claim_is_asked_of_a_study_without_the_nets(study, claim):
    for net in [net for net in study.specs if not net.startswith("b")]:
        del study.specs[net], study.results[net]
    assert not claims.concerns(claim, study)


def test_sweeps_differ_by_epsilon_alone_and_begin_with_the_smallest(study):
    other = named(study.specs["e-4-1"], "other", recipe=study.specs["r-4"].settings.recipe)
    body = dataclasses.replace(other.settings.body, init="gaussian")
    add(study, named(other, "other", body=body))
    found = [[spec.net for spec in group] for group in sweeps(study)]
    assert found == [NETS[:3], NETS[3:], ["other"]]


def test_the_smallest_epsilon_that_discards_many_blocks_decides_and_else_the_largest(study):
    assert [result.spec.net for result in deciding(study)] == CHOSEN
    for net in NETS[:3]:
        discards(study, net, [0.1] * 3)
    discards(study, "e-6-1", [0.9, 0.0, 0.0])
    assert [result.spec.net for result in deciding(study)] == ["e-4-3", "e-6-1"]


def test_gates_by_sample_and_variations_stand_beside(study, judged):
    spec = study.specs["e-4-2"]
    T = dataclasses.replace(
        spec.settings.T, settings={**spec.settings.T.settings, "over": "sample"}
    )
    add(study, named(spec, "by-sample", T=T))
    body = dataclasses.replace(spec.settings.body, init="gaussian")
    add(study, named(spec, "gaussian", body=body))
    study.changes["gaussian"] = None
    assert [result.spec.net for result in deciding(study)] == CHOSEN
    names = " ".join(part.name for part in judged("lossless-removal", study).beside)
    assert "by-sample:" in names
    assert "gaussian:" in names
    for net in NETS:
        del study.specs[net]
    assert [result.spec.net for result in deciding(study)] == ["by-sample"]


def test_networks_that_have_not_learnt_decide_nothing_but_their_own_error(study, judged):
    for net in CHOSEN:
        metrics = study.results[net].part("train")["metrics"]
        metrics["test_error"] = [[60.0 for _ in seed] for seed in metrics["test_error"]]
    assert not claims.concerns("discard-saturates", study)
    found = judged("same-accuracy-fewer-layers", study)
    assert found.answer == "fails"
    assert set(CHOSEN) <= set(found.nets)


def test_nets_that_are_not_asked_what_they_discard_are_not_waited_for(study, judged):
    del study.results["e-4-2"].parts["identity"]
    assert str(judged("lossless-removal", study)) == "waits for `e-4-2`"
    study.unasked["identity"].add("e-4-2")
    assert "e-4-2" not in {spec.net for group in sweeps(study) for spec in group}
    assert judged("lossless-removal", study).answer != "not run"


def test_seeds_that_discard_nothing_say_nothing_of_removal(study, judged):
    discards(study, "e-4-2", [0.9, 0.0, 0.9])
    study.results["e-4-2"].parts["identity"]["changed"] = [0, 50, 0]
    part = judged("lossless-removal", study).parts[0]
    assert part.margins == (0.5, 0.5)


@pytest.mark.parametrize("net", CHOSEN)
def test_few_discarded_blocks_contradict_it_however_good_the_error(study, judged, net):
    for other in NETS:
        discards(study, other, [0.1, 0.12, 0.11])
    _no_worse(study, MARGINS["holds"])
    assert judged("same-accuracy-fewer-layers", study).answer == "fails"


def test_a_twin_has_the_same_recipe_or_one_of_other_rates(study, judged):
    assert twin(study, study.specs["e-4-2"]).net == "r-4"
    recipe = study.specs["e-4-2"].settings.recipe
    adaptive = dataclasses.replace(
        recipe,
        epochs=1000,
        schedule=Adaptive("adaptive", (82, 123), (41, 61), 0.1),
        decay=dataclasses.replace(recipe.decay, fall=0.2, every=480000),
    )
    study.specs["e-4-2"] = named(study.specs["e-4-2"], "e-4-2", recipe=adaptive)
    assert twin(study, study.specs["e-4-2"]).net == "r-4"
    study.results["e-4-2"] = dataclasses.replace(study.results["e-4-2"], spec=study.specs["e-4-2"])
    names = [part.name for part in judged("same-accuracy-fewer-layers", study).parts]
    assert any("e-4-2" in name and "at other rates" in name for name in names)
    other = dataclasses.replace(adaptive, decay=Decay(0.1))
    assert twin(study, named(study.specs["e-4-2"], "x", recipe=other)) is None


def test_a_twin_without_side_supervision_is_taken_where_there_is_no_other(study, judged):
    for net in ("r-2", "r-4", "r-6"):
        del study.specs[net], study.results[net]
    assert twin(study, study.specs["e-4-2"]).net == "b-4"
    parts = judged("same-accuracy-fewer-layers", study).parts
    assert parts[0].name == "e-4-2:<br>no worse than b-4<br>by 0.5, no side loss"


def test_of_twins_at_other_rates_the_one_of_as_many_epochs_is_taken(study):
    recipe = study.specs["r-4"].settings.recipe
    for net, epochs in (("short", 5), ("long", 1000)):
        own = dataclasses.replace(recipe, epochs=epochs)
        add(study, named(study.specs["r-4"], net, recipe=own))
    del study.specs["r-4"]
    adaptive = dataclasses.replace(
        recipe, epochs=1000, schedule=Adaptive("adaptive", (82, 123), (41, 61), 0.1)
    )
    assert twin(study, named(study.specs["e-4-2"], "x", recipe=adaptive)).net == "long"


def test_the_compressed_depth_from_scratch_is_shown_and_decides_nothing(study, judged):
    """Of 26 layers 13 are left, and 14 has the residual network that is nearest."""
    _no_worse(study, MARGINS["holds"])
    study.results["e-4-2"].parts["identity"]["errors"][1] = list(LEARNT + MARGINS["holds"])
    outcome = judged("same-accuracy-fewer-layers", study)
    assert outcome.answer == "holds"
    own = {part.name: part for part in outcome.beside if "our own question" in part.name}
    assert list(own) == [
        "e-4-2, 13 layers left:<br>below r-2, 14 from scratch; our own question",
        "e-6-2, 19 layers left:<br>below r-2, 14 from scratch; our own question",
    ]
    assert next(iter(own.values())).mean == pytest.approx(-1)
    del study.results["r-2"]
    outcome = judged("same-accuracy-fewer-layers", study)
    assert outcome.answer == "holds"
    assert sum("our own question" in part.name for part in outcome.beside) == 1


def test_a_share_that_rises_to_the_end_does_not_level_off(study, judged):
    for net in CHOSEN:
        counts = [[0.0, 0.0, 0.0, 6 + x] for x in MARGINS["holds"]]
        study.results[net].parts["train"]["metrics"]["discarded"] = counts
    outcome = judged("discard-saturates", study)
    assert outcome.answer == "fails"
    assert outcome.parts[0].mean > 0


def test_without_side_supervision_stages_are_compared_and_the_row_says_so(judged):
    bare = sweep()
    for net in NETS:
        spec = bare.specs[net]
        body = dataclasses.replace(spec.settings.body, side=0.0)
        add(bare, named(spec, net, body=body))
        discards(bare, net, [0.1 if net.endswith("-1") else 0.5] * 3)
    _by_stage(bare, MARGINS["holds"])
    outcome = judged("discards-late-layers", bare)
    assert outcome.answer == "holds"
    assert all("no side supervision" in part.name for part in outcome.parts)


def test_multilayer_networks_are_halved_and_have_shallower_ones_too(judged):
    """20 layers in ten blocks, beside the stem and the head."""
    study = sweep()
    like = study.specs["e-4-2"]
    one = study.specs["r-4"].settings.T
    for net in list(study.specs):
        del study.specs[net], study.results[net]
    add(study, named(like, "dense", body=Mlp("mlp", depth=20, width=6)))
    for depth in (4, 10, 20):
        body = Mlp("mlp", depth=depth, width=6)
        add(study, named(like, f"residual-{depth}", body=body, T=one))
    for answer, m in MARGINS.items():
        part = study.results["dense"].parts["identity"]
        part["strict"] = [list(0.5 + (block > 4) * m / 10) for block in range(10)]
        assert judged("discards-late-layers", study).answer == answer
    (own,) = (
        part.name
        for part in judged("same-accuracy-fewer-layers", study).beside
        if "our own" in part.name
    )
    assert own == "dense, 11 layers left:<br>below residual-10, 12 from scratch; our own question"


def test_older_results_without_a_record_of_blocks_say_nothing(study, judged):
    for net in NETS:
        del study.results[net].parts["train"]["blocks"]
    for claim in ("weight-collapse", "discard-saturates", "weights-fall-towards-output"):
        assert judged(claim, study).answer == "not run"


def test_large_networks_may_lose_a_point(study, judged):
    large = Imagenet("imagenet", (2, 2), width=8, bottleneck=True)
    for net in ("e-4-2", "r-4"):
        add(study, named(study.specs[net], f"large-{net}", body=large))
    for answer, margins in MARGINS.items():
        last(study, "large-e-4-2", "test_error", LEARNT + 1 - margins / 10)
        outcome = judged("marginal-loss-imagenet", study)
        assert outcome.answer == answer
        assert set(outcome.nets) == {"large-e-4-2", "large-r-4"}
    assert "large-e-4-2" not in judged("same-accuracy-fewer-layers", study).nets


def test_254_layers_are_set_against_200_and_the_ends_against_each_other(study, judged):
    body = study.specs["b-2"].settings.body
    for n in (17, 33, 42, 49):
        own = dataclasses.replace(body, blocks=n)
        add(study, named(study.specs["b-2"], f"deep-{n}", body=own))
    for answer, m in MARGINS.items():
        last(study, "deep-17", "test_error", LEARNT + m)
        last(study, "deep-42", "test_error", LEARNT + m)
        outcome = judged("depth-not-monotone", study)
        assert outcome.answer == answer
    assert outcome.parts[0].stated == pytest.approx(5.96 - 5.66)
    assert outcome.nets == ("deep-17", "deep-33", "deep-42", "deep-49")


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize(("rate", "momentum"), [(0.1, 0.9), (0.01, 0.5), (0.1, 0.0)])
def test_decay_alone_leaves_what_pytorch_leaves(rate, momentum, nesterov):
    if nesterov and not momentum:
        pytest.skip("Nesterov needs momentum")
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    optimiser = torch.optim.SGD(
        [weight], lr=rate, momentum=momentum, nesterov=nesterov, weight_decay=0.005
    )
    sizes = []
    for _ in range(300):
        weight.grad = torch.zeros_like(weight)
        optimiser.step()
        sizes.append(float(weight.detach().abs().max()))
    left = left_by_decay(Sgd("sgd", rate, momentum, nesterov), rate, 0.005)
    assert sizes[-1] / sizes[-2] == pytest.approx(left, rel=1e-9)


def test_the_fall_is_that_of_blocks_which_stay_shut_to_the_end(study):
    _fallen(study, np.full(3, 2.0))
    result = study.results["e-4-2"]
    record = result.parts["train"]["blocks"][0]
    record["shut"] = [[0], [1], [2], [3], [], [0, 2], [0, 1, 2], *[[] for _ in range(5)]]
    assert against_decay(result, 0) == pytest.approx([1.0, 1.0])
    assert len(against_decay(result, 1)) == 12
    record["percentiles"]["0"][0] = [1.0, 1.0, 1.0, 0.5]
    record["percentiles"]["100"][0] = [1.0, 1.0, 1.0, 0.5]
    assert against_decay(result, 0)[0] > 2
    constant = dataclasses.replace(
        result.spec.settings.recipe, decay=Decay(0.0), schedule=ConstantRate("constant")
    )
    bare = dataclasses.replace(result, spec=named(result.spec, "x", recipe=constant))
    assert against_decay(bare, 0) == []
