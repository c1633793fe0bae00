"""The gate: altered results fail by name, honest reruns do not."""

import copy
import dataclasses
import json
import shutil

import numpy as np
import pytest

from skipgate import params, paths
from skipgate.files import Problem
from skipgate.judging import frozen
from skipgate.judging.frozen import Band
from skipgate.judging.quantities import watched
from skipgate.results import store
from tests.toys import ROOT

LEARNING = (
    "plain-2",
    "plain-10",
    "residual-2",
    "residual-10",
    "residual-50",
    "gated-2",
    "gated-10",
    "gated-50",
    "highway-10",
    "conv-residual",
    "conv-gated",
    "conv-epsilon",
    "conv-stochastic",
)
GATED = ("gated-2", "gated-10", "gated-50", "conv-gated", "conv-epsilon", "conv-stochastic")
RERUNS = 2000


@pytest.fixture
def study(tmp_path, monkeypatch):
    """The committed results of `digits`, to be altered."""
    monkeypatch.chdir(ROOT)
    found = store.load(params.load(), "digits")
    return dataclasses.replace(found, results=copy.deepcopy(found.results))


def says(study, net):
    return [alarm.says for alarm in frozen.compare(study) if alarm.net == net]


def test_committed_results_hold(study):
    assert frozen.compare(study) == []
    assert frozen.bands(study).keys() == {*study.specs, "all nets"}, "every net is frozen"
    assert frozen.other_code(study) == []


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("net", LEARNING)
def test_seeds_that_fail_are_named(study, net, count):
    curves = study.results[net].part("train")["metrics"]["test_error"]
    for seed in range(count):
        curves[seed][-1] = 90.0
    found = says(study, net)
    for seed in range(count):
        assert f"seed {seed} has not learnt (90.00%)" in found


def test_outlying_seeds_and_means_are_named(study):
    curves = study.results["gated-10"].part("train")["metrics"]["test_error"]
    for seed in range(3):
        curves[seed][-1] = 30.0
    found = says(study, "gated-10")
    assert any(line.startswith("test error of seed 2 is 30, outside ") for line in found)
    assert any(line.startswith("mean test error is ") for line in found)


@pytest.mark.parametrize("factor", [0.6, 1.5])
def test_what_moves_all_nets_by_a_little_is_seen_in_all_together(study, factor):
    for net in LEARNING:
        for column in study.results[net].part("train")["metrics"]["test_error"]:
            column[-1] *= factor
    assert any(line.startswith("mean test error is ") for line in says(study, "all nets"))


def test_one_more_seed_of_a_net_is_compared_too(study):
    result = study.results["gated-10"]
    spec = dataclasses.replace(result.spec, seeds=6)
    study.results["gated-10"] = dataclasses.replace(result, spec=spec)
    train = study.results["gated-10"].part("train")
    train["diverged"].append(None)
    for metric in train["metrics"].values():
        metric.append([value + 0.001 for value in metric[0]])
    assert frozen.compare(study) == []
    train["metrics"]["test_error"][5][-1] = 60.0
    assert "seed 5 has not learnt (60.00%)" in says(study, "gated-10")


def test_a_perfect_seed_is_no_lost_one(study):
    for net in LEARNING:
        study.results[net].part("train")["metrics"]["test_error"][0][-1] = 0.0
    found = says(study, "all nets")
    assert found
    assert not any("no number" in line for line in found)


def test_seeds_that_stop_early_or_equal_each_other_are_named(study):
    for metric in study.results["gated-10"].part("train")["metrics"].values():
        metric[2] = metric[2][:3]
        metric[4] = list(metric[1])
    found = says(study, "gated-10")
    assert "seed 2 stopped after 3 of 20 epochs" in found
    assert "seed 4 is the same as seed 1" in found


def test_a_gate_that_differs_in_some_blocks_only_is_seen(study):
    """Their mean is what it was."""
    study.results["residual-10"].part("gates")["C"][1] = [0.0] * 5
    study.results["residual-10"].part("gates")["C"][2] = [2.0] * 5
    quantities = {a.quantity for a in frozen.compare(study) if a.net == "residual-10"}
    assert quantities == {"range C"}


def test_seeds_that_diverge_are_named(study):
    train = study.results["gated-10"].part("train")
    train["diverged"] = [3, 3, 4, 7, None]
    found = says(study, "gated-10")
    assert "seed 3 diverged in epoch 7" in found
    assert "test error has no number in seed 0, 1, 2, 3" in found


def test_a_gate_that_is_always_open_is_seen_in_every_gated_net(study):
    for net in GATED:
        gates = study.results[net].part("gates")
        gates["T"] = [[1.0] * len(block) for block in gates["T"]]
    alarms = frozen.compare(study)
    for net in GATED:
        assert {a.quantity for a in alarms if a.net == net} & {"open T", "moved"}, net
    assert "k of seed 0 has not moved from its start" in says(study, "gated-10")


def test_a_network_that_lost_its_shortcuts_is_seen(study):
    plain = study.results["plain-10"]
    study.results["residual-10"] = dataclasses.replace(
        study.results["residual-10"], parts=copy.deepcopy(plain.parts)
    )
    found = {a.quantity for a in frozen.compare(study) if a.net == "residual-10"}
    assert found >= {"open C", "lesion", "deviation", "train_loss"}


def test_what_is_missing_is_named(study):
    del study.results["gated-2"]
    study.missing["gated-2"] = "not run yet"
    del study.results["gated-10"].parts["lesion"]
    study.results["gated-10"].missing["lesion"] = "seed 3 not run yet"
    assert says(study, "gated-2") == ["has no result: not run yet"]
    lacking = "score without a block was not measured: seed 3 not run yet"
    assert says(study, "gated-10") == [lacking]


def test_only_the_nets_that_are_asked_for_are_compared_by_the_same_bands(study):
    del study.results["gated-2"]
    assert frozen.compare(study, ["residual-2"]) == []
    assert frozen.bands(study, ["residual-2"])["residual-2"] == frozen.bands(study)["residual-2"]


def band(values, seeds=5, tests=120, **changes):
    settings = {"resolution": 1e-4, "logarithmic": False, **changes}
    return Band(list(values), seeds=seeds, tests=tests, **settings)


def test_the_smallest_visible_change_is_seen_and_a_smaller_one_is_not():
    values = np.random.default_rng(1).normal(10, 1, 30)
    found = band(values)
    low, high = found.of_mean
    assert found.visible == pytest.approx(high - values.mean())
    # t of 29 degrees of freedom at 0.01 / 4 / 120 is 4.84.
    assert found.visible == pytest.approx(4.84 * values.std(ddof=1) * np.sqrt(1 / 5 + 1 / 30), 0.01)
    assert values.mean() - low == pytest.approx(found.visible)


def test_scores_are_compared_as_logarithms():
    values = np.exp(np.random.default_rng(1).normal(1, 0.3, 30))
    found = band(values, logarithmic=True)
    low, high = found.of_mean
    assert found.centre == pytest.approx(np.exp(np.log(values).mean()))
    assert low * high == pytest.approx(found.centre**2)
    assert found.mean([0.0, found.centre]) > 0, "a perfect score has a logarithm too"


def test_a_quantity_that_never_varied_may_change_by_rounding_alone():
    low, high = band([1.0] * 30).of_seed
    assert 0.999 < low < 1 < high < 1.001
    low, high = band([0.0] * 29 + [1.0], resolution=1.0).of_seed
    assert 1 < high < 2, "what one seed did another may do"


def test_as_many_seeds_may_be_lost_as_were():
    assert not band([1.0, 2.0, 1.5] * 10).allows_lost(1)
    sometimes = band([1.0, 2.0, None] * 10)
    assert sometimes.allows_lost(2)
    assert sometimes.allows_lost(3)
    rarely = band([1.0, 2.0] * 14 + [None, 1.0])
    assert rarely.allows_lost(1)
    assert not rarely.allows_lost(5)


def test_at_most_one_honest_rerun_in_a_hundred_alarms(study):
    """Seeds drawn anew from the law of each frozen quantity, the frozen ones as the fresh ones.

    Quantities are drawn apart from each other, which is the worst case for alarms of any.
    """
    generator = np.random.default_rng(0)
    references = 40
    alarmed = np.zeros((references, RERUNS // references), dtype=bool)
    every = [b for by_name in frozen.bands(study).values() for b in by_name.values()]
    for known in every:
        spread = known.known.std(ddof=1)
        for i in range(references):
            drawn = known._unscaled(generator.normal(known.known.mean(), spread, 30))
            made = dataclasses.replace(known, values=drawn.tolist())
            shape = (alarmed.shape[1], known.seeds)
            fresh = known._unscaled(generator.normal(known.known.mean(), spread, shape))
            low, high = made.of_seed
            alarmed[i] |= ((fresh < low) | (fresh > high)).any(1)
            low, high = made.of_mean
            means = known._unscaled(known._scaled(fresh).mean(1))
            alarmed[i] |= (means < low) | (means > high)
    assert len(every) > 100
    assert alarmed.sum() <= RERUNS * frozen.LEVEL


def test_committed_numbers_that_are_not_the_frozen_ones_are_named(monkeypatch):
    monkeypatch.chdir(ROOT)
    found = store.load(params.load(), "mnist")
    assert list(frozen.moved(found)) == []
    altered = dataclasses.replace(found, results=copy.deepcopy(found.results))
    altered.results["mnist-gated-10"].part("train")["metrics"]["test_error"][0][-1] += 0.01
    assert list(map(str, frozen.moved(altered))) == [
        "mnist-gated-10: test error is not what was frozen"
    ]


def test_numbers_frozen_by_another_measure_are_refused(study, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "frozen", tmp_path / "frozen")
    monkeypatch.chdir(tmp_path)
    file = paths.frozen_file("digits")
    file.write_text(json.dumps({**json.loads(file.read_text()), "metric": "test_perplexity"}))
    with pytest.raises(Problem, match="has test_perplexity, and the study is judged by test_error"):
        frozen.compare(study)


def test_the_changelog_line_has_the_reason_and_old_and_new(study):
    old = {"gated-2": {"test_error": [2.0, 3.0], "closed": [0.0, 0.0]}}
    new = {"gated-2": {"test_error": [3.0, 4.0], "closed": [0.0, 0.0], "lesion": [9.0, 9.0]}}
    assert frozen.describe(study, "a new schedule", old, new) == (
        "- `digits` frozen anew (a new schedule): gated-2 test error 2.5 to 3.5; "
        "new: 1 numbers, on 1 of its nets."
    )


def test_what_is_watched_has_a_number_for_every_seed(study):
    for net, result in study.results.items():
        for name, values in watched(result).items():
            assert len(values) == result.spec.seeds, (net, name)
