"""What a page says first follows from the results, and says the opposite of opposite results."""

import copy
import dataclasses

import numpy as np
import pytest

from skipgate import params
from skipgate.judging import papers
from skipgate.judging.judgement import judge_study
from skipgate.reporting.conclusions import conclusions
from skipgate.results import store
from tests.made_up import last, made_up
from tests.toys import ROOT


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.chdir(ROOT)
    return params.load()


def study_of(settings, name):
    found = store.load(settings, name)
    return dataclasses.replace(found, results=copy.deepcopy(found.results))


def said(settings, study):
    return conclusions(settings, study, judge_study(settings, study, papers.load(settings)))


def sentence(settings, study, begins):
    return next((line for line in said(settings, study) if line.startswith(begins)), "")


@pytest.mark.parametrize("name", ["digits", "mnist"])
def test_every_study_has_five_to_ten_sentences(settings, name):
    lines = said(settings, study_of(settings, name))
    assert 5 <= len(lines) <= 10
    assert not [line for line in lines if "nan" in line or "None" in line]


def test_distances_are_means_over_the_nets_that_learnt(settings):
    study = study_of(settings, "mnist")
    table = papers.load(settings)["gresnet"].tables["mnist-test-error"]
    gaps = [
        np.mean([c[-1] for c in study.results[net].part("train")["metrics"]["test_error"]])
        - cell.value
        for cell in table.cells
        if cell.column == "residual"
        for net in cell.nets
        if net in study.results
    ]
    line = sentence(settings, study, "Test error of fully connected")
    assert f"residual {np.mean(gaps):+.2f} at the last epoch" in line


def test_discarded_blocks_are_counted_beside_a_residual_network_as_deep(settings):
    study = study_of(settings, "cifar10-short")
    net, beside = (study.results[name] for name in ("short-epsilon-5", "short-pool-5"))
    found = net.part("identity")
    found["strict"] = np.ones_like(np.array(found["strict"])).tolist()
    line = sentence(settings, study, "Blocks shut over the whole training set")
    mean = [f"{np.mean(each.score()):.2f}%" for each in (net, beside)]
    assert f"`short-epsilon-5` 15.0 of 15, {mean[0]} (`short-pool-5` {mean[1]})." in line
    assert not sentence(settings, study_of(settings, "mnist"), "Blocks shut")


def test_language_models_are_ranked_beside_a_unigram_model(settings):
    study = study_of(settings, "words")
    metrics = study.results["words-full"].part("train")["metrics"]
    metrics["test_perplexity"] = [[5.0 + seed] * 5 for seed in range(3)]
    line = sentence(
        settings, study, "Test perplexity in the order of means: `words-full` 6.00 ± 2.48, "
    )
    unigram = study.results["words-full"].part("words")["unigram"]
    assert line.endswith(f"; a unigram model has {unigram:.1f}.")


def test_gain_is_named_at_the_depth_where_it_is_visible(settings):
    study = study_of(settings, "digits")
    assert "nothing visible at any depth" in sentence(settings, study, "What gating gains")
    residual, gated = (
        study.results[net].part("train")["metrics"]["test_error"]
        for net in ("residual-10", "gated-10")
    )
    for seed, column in enumerate(gated):
        column[-1] = residual[seed][-1] - 1 - seed / 100
    assert "visible at +1.02 at d = 10" in sentence(settings, study, "What gating gains")


def test_gates_that_are_shut_are_counted_and_placed(settings):
    study = study_of(settings, "digits")
    assert sentence(settings, study, "No gate of `gated-50` is shut")
    gates = study.results["gated-50"].part("gates")["T"]
    for block in (2, 3, 4, 10):
        gates[block] = [0.0] * 5
    gates[20][0] = 0.0
    line = sentence(settings, study, "Of the 25 gates")
    assert "4.2 are shut on average" in line
    assert "in every seed blocks 3 to 5, 11." in line


def test_k_that_rises_is_not_said_to_fall(settings):
    study = study_of(settings, "digits")
    assert "falls with depth" in sentence(settings, study, "Mean max(0, k)")
    gates = study.results["gated-50"].part("gates")
    gates["T"] = [[9.0] * 5 for _ in gates["T"]]
    assert "does not fall steadily" in sentence(settings, study, "Mean max(0, k)")


def test_a_study_says_nothing_of_nets_that_it_waits_for(settings):
    study = study_of(settings, "digits")
    study.missing["gated-10"] = "not run yet"
    del study.results["gated-10"]
    assert not sentence(settings, study, "What gating gains")
    assert sentence(settings, study, "`plain-50` did not learn")


def test_gates_and_decay_of_k_are_told_of_convolutional_networks_too(settings):
    study = made_up("cifar10-short")
    last(study, "short-residual-3", "test_error", [21.0, 22.0, 23.0])
    last(study, "short-gated-3-k-decay-50", "test_error", [19.0, 19.0, 19.0])
    line = sentence(settings, study, "Test error of convolutional networks in points")
    assert "`short-gated-1` 0.00 ± 0.00, `short-gated-2` 0.00 ± 0.00, `short-gated-3` 2.00" in line
    assert line.endswith("what decay of k costs: `short-gated-3-k-decay-50` -1.00 ± 0.00.")
    del study.results["short-gated-1"]
    study.missing["short-gated-1"] = "not run yet"
    assert not sentence(settings, study, "Test error of convolutional networks in points")
