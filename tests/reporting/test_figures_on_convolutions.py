"""The papers' figures of convolutional networks, from made-up results."""

import dataclasses

import numpy as np
import pytest
from matplotlib import pyplot as plt

from skipgate import params
from skipgate.judging import papers
from skipgate.judging.judgement import judge_study
from skipgate.reporting import paper_figures
from skipgate.reporting.paper_figures.gresnet_cifar import Curves, Gates
from skipgate.reporting.paper_figures.lecture import Depths, Starts
from skipgate.reporting.paper_figures.losses import UnrolledLosses
from skipgate.reporting.paper_figures.unrolled import Estimates
from tests.made_up import EPOCHS, LEARNT, SEEDS, gates, last, made_up
from tests.toys import ROOT

STUDIES = {
    "cifar10-short": [
        *("gresnet-6", "gresnet-7", "unrolled-3", "unrolled-5"),
        *("epsilon-1", "epsilon-5", "epsilon-9", "epsilon-10"),
    ],
    "cifar": ["gresnet-6", "gresnet-7", "unrolled-3", "fleuret-6"],
    "imagenet": ["unrolled-3", "unrolled-5", "fleuret-4"],
}


@pytest.fixture(autouse=True)
def rooted(monkeypatch):
    monkeypatch.chdir(ROOT)
    yield
    plt.close("all")


def judged(study):
    settings = params.load()
    return study, judge_study(settings, study, papers.load(settings))


def without(study, *nets):
    """The study before these nets were run."""
    results = {net: result for net, result in study.results.items() if net not in nets}
    return dataclasses.replace(study, results=results, missing=dict.fromkeys(nets, "not run yet"))


@pytest.mark.parametrize("name", STUDIES)
def test_each_study_draws_the_figures_that_it_has_nets_for(name):
    study, judgement = judged(made_up(name))
    found = paper_figures.found(study, judgement)
    assert [each.name for each in found] == STUDIES[name]
    for each in found:
        each.figure().canvas.draw()
        assert "Differs: " in each.caption()
        assert "multilayer" not in each.caption()
    assert paper_figures.found(*judged(without(study, *study.specs))) == []


def test_gresnet_6_has_training_and_test_errors_of_all_three_columns():
    study = made_up("cifar10-short")
    last(study, "short-gated-3-k-decay-50", "train_error", [1.0, 2.0, 3.0])
    found = Curves.find(*judged(study))
    panels = found.figure().axes
    titles = [f"resnet, n = {n}: short-gated-{n}" for n in (1, 2, 3)]
    assert [panel.get_title() for panel in panels] == titles
    assert [len(panel.lines) for panel in panels] == [4, 4, 6]
    dashed = [line for line in panels[2].lines if line.get_linestyle() == "--"]
    assert [line.get_ydata()[-1] for line in dashed] == pytest.approx([LEARNT, LEARNT, 2.0])
    assert [*dashed[0].get_xdata()] == [*range(1, EPOCHS + 1)]
    assert "Not comparable: 8 to 32 layers" in found.caption()
    assert "Not comparable" not in Curves.find(*judged(made_up("cifar"))).caption()


def test_gresnet_6_is_not_drawn_without_training_errors():
    study = made_up("cifar10-short")
    for result in study.results.values():
        del result.parts["train"]["metrics"]["train_error"]
    assert Curves.find(*judged(study)) is None


def test_gresnet_7_has_k_by_block_and_marks_the_blocks_that_widen():
    study = made_up("cifar10-short")
    rows = np.arange(27.0).reshape(9, SEEDS) - 5
    gates(study, "short-gated-3", rows)
    (panel,) = Gates.find(*judged(study)).figure().axes
    lines = {line.get_label(): line for line in panel.lines}
    assert [*lines["gated"].get_ydata()] == pytest.approx(rows.mean(1)), "k may be negative"
    assert [*lines["gated, k decay"].get_ydata()] == [1.0] * 9
    assert [patch.get_x() + 0.5 for patch in panel.patches] == [4, 7]
    assert Gates.find(*judged(without(study, "short-gated-3-k-decay-50"))) is None


def test_unrolled_5_has_a_column_with_and_one_without_normalisation():
    study = made_up("imagenet")
    drawn = UnrolledLosses.find(*judged(study)).figure()
    assert [panel.get_title() for panel in drawn.axes[:2]] == ["with BN", "without BN"]
    names = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert names == ["residual", "highway", "Highway-Full"]
    fewer = UnrolledLosses.find(*judged(without(study, "imagenet-highway-50-no-norm")))
    assert [*fewer.nets] == ["with BN"]
    short = UnrolledLosses.find(*judged(made_up("cifar10-short")))
    assert [*short.nets] == ["resnet, n = 3"]
    assert "the highway network has more parameters" in short.caption()
    ticks = short.figure().axes[1].get_xticks()
    assert all(tick == round(tick) for tick in ticks), "there is no epoch between two"


def test_unrolled_3_is_of_the_papers_own_network_where_the_study_has_it():
    found = Estimates.find(*judged(made_up("imagenet")))
    assert [net.spec.net for net in found.nets] == ["imagenet-residual-50"]
    assert "a network trained here, on 5,000 images" in found.caption()


def test_the_lectures_curves_are_of_18_and_34_layers_with_thin_training_errors():
    study = made_up("imagenet")
    last(study, "imagenet-plain-34", "train_error", [30.0] * SEEDS)
    found = Depths.find(*judged(study))
    plain, _ = found.figure().axes
    labels = [text.get_text() for text in plain.get_legend().get_texts()]
    assert labels == ["18 layers", "34 layers"]
    thin = [line for line in plain.lines if line.get_linewidth() < 1]
    assert [line.get_ydata()[-1] for line in thin] == [LEARNT, 30.0]
    assert "Thin: training error" in found.caption()
    assert Depths.find(*judged(without(study, "imagenet-plain-34"))) is None


def test_the_lectures_accuracies_by_depth_are_of_convolutions():
    study = made_up("cifar")
    last(study, "cifar-looks-linear-102-ordinary", "test_error", [90.0] * SEEDS)
    found = Starts.find(*judged(study))
    (panel,) = found.figure().axes
    lines = {line.get_label(): line for line in panel.lines}
    ordinary = lines["CReLU, he-normal"]
    assert [*ordinary.get_xdata()] == [6, 18, 48, 102]
    assert ordinary.get_ydata()[-1] == pytest.approx(10)
    assert "of this project's choice" in found.caption()


def test_diverged_seeds_are_no_obstacle():
    study = made_up("cifar10-short")
    for net in ("short-gated-3", "short-highway-3"):
        part = study.results[net].parts["train"]
        part["diverged"] = [1] * SEEDS
        part["metrics"] = {key: [[None]] * SEEDS for key in part["metrics"]}
        gates(study, net, np.full((9, SEEDS), np.nan))
    for found in paper_figures.found(*judged(study)):
        found.figure().canvas.draw()
