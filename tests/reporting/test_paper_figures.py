"""The papers' figures, from the committed results."""

import copy
import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt

from skipgate import params
from skipgate.judging import papers
from skipgate.judging.judgement import judge_study
from skipgate.reporting import paper_figures
from skipgate.reporting.paper_figures.epsilon import Discarded
from skipgate.reporting.paper_figures.figure import nearest_depth
from skipgate.reporting.paper_figures.gresnet import KEPT, Removal, Tables
from skipgate.reporting.paper_figures.lecture import Depths, Starts
from skipgate.reporting.paper_figures.losses import GresnetLosses, UnrolledLosses
from skipgate.reporting.paper_figures.unrolled import Estimates
from skipgate.reporting.theory import figures as theory_figures
from skipgate.reporting.theory import load
from skipgate.results import store
from tests.toys import ROOT


@pytest.fixture(autouse=True)
def rooted(monkeypatch):
    monkeypatch.chdir(ROOT)
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def judged():
    """Both studies with their judgements: (study, judgement) by name."""
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        settings = params.load()
        known = papers.load(settings)
        studies = {name: store.load(settings, name) for name in ("mnist", "digits")}
        return {name: (s, judge_study(settings, s, known)) for name, s in studies.items()}
    finally:
        os.chdir(here)


def figure(kind, judged, study="mnist"):
    return kind.find(*judged[study]).figure()


def test_each_study_draws_the_figures_that_it_has_nets_for(judged):
    names = {
        study: [found.name for found in paper_figures.found(*both)]
        for study, both in judged.items()
    }
    shared = ["gresnet-tables", "gresnet-4", "gresnet-5", "unrolled-3"]
    assert names["mnist"] == [*shared, "unrolled-5", "fleuret-4", "fleuret-6"]
    of_epsilon = [f"epsilon-{number}" for number in (1, 5, 6, 7, 8, 9, 10)]
    assert names["digits"] == [*shared, *of_epsilon, "fleuret-4"]


def test_figures_are_written_under_the_names_of_their_captions(judged, tmp_path):
    study, judgement = judged["digits"]
    captions = paper_figures.captions(study, judgement)
    for folder in ("one", "two"):
        paper_figures.draw_all(study, judgement, tmp_path / folder)
    written = {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()}
    assert written.keys() == captions.keys()
    assert "paper-gresnet-5.png" in written
    assert all((tmp_path / "two" / name).read_bytes() == found for name, found in written.items())
    assert "Not comparable: 8x8 digits" in captions["paper-gresnet-4.png"]
    comparable = paper_figures.captions(*judged["mnist"])
    assert all("Not comparable" not in caption for caption in comparable.values())


def test_gresnet_4_has_a_panel_for_each_depth_with_all_three_families(judged):
    drawn = figure(GresnetLosses, judged)
    above, below = drawn.axes[:5], drawn.axes[5:]
    assert [panel.get_title() for panel in above] == [f"d = {d}" for d in (2, 10, 20, 50, 100)]
    assert [len(panel.lines) for panel in above] == [3] * 5
    assert {panel.get_yscale() for panel in above} == {"log"}
    assert (above[0].get_ylabel(), below[0].get_xlabel()) == ("training loss", "epoch")
    residual, gated = (
        np.array(judged["mnist"][0].results[f"mnist-{kind}-100"].curve("train_loss"), dtype=float)
        for kind in ("residual", "gated")
    )
    last = residual[:, -5:].mean(1) / gated[:, -5:].mean(1)
    assert below[-1].lines[0].get_ydata()[-1] == pytest.approx(last.mean())


def test_unrolled_5_sets_highway_beside_residual(judged):
    drawn = figure(UnrolledLosses, judged)
    assert [panel.get_title() for panel in drawn.axes[:2]] == ["d = 10", "d = 50"]
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["residual", "highway"]


def test_gresnet_5_has_k_by_block_and_accuracy_by_removed_layers(judged):
    left, right = figure(Removal, judged).axes
    assert (left.get_xlabel(), left.get_ylabel()) == ("residual block", "k")
    assert (right.get_xlabel(), right.get_ylabel()) == ("removed layers", "test accuracy (%)")
    lines = {line.get_label(): line for line in (*left.lines, *right.lines)}
    assert len(lines["k, mean over seeds"].get_xdata()) == 50
    assert lines["mean over blocks, paper's"].get_ydata()[0] == 0.67
    for label in ("residual, random", "gated, random", "gated, smallest k"):
        assert [*lines[label].get_xdata()] == [*range(0, 101, 2)]
    whole = 100 - np.mean(judged["mnist"][0].results["mnist-gated-100"].score())
    assert lines["gated, smallest k"].get_ydata()[0] == pytest.approx(whole)
    stated = lines["paper's: above 90% of it"]
    assert (*stated.get_xdata(), *stated.get_ydata()) == pytest.approx((50, KEPT * whole))


def test_a_toy_has_nothing_of_the_papers_drawn_into_figure_5(judged):
    labels = [line.get_label() for p in figure(Removal, judged, "digits").axes for line in p.lines]
    assert "gated, random" in labels
    assert not any("paper" in label for label in labels)


def hollow(panel):
    """The paper's points."""
    return sorted(
        float(y) for line in panel.lines if line.get_marker() == "D" for y in line.get_ydata()
    )


def test_the_tables_show_the_papers_numbers_and_failed_networks_apart(judged):
    failed, learnt, gates = figure(Tables, judged).axes
    cells = papers.load(params.load())["gresnet"].tables
    values = sorted(cell.value for cell in cells["mnist-test-error"].cells)
    assert hollow(learnt) + hollow(failed) == values
    assert hollow(failed) == [60.37, 90.2]
    assert hollow(gates) == sorted(cell.value for cell in cells["mnist-mean-k"].cells)
    assert learnt.get_ylim()[1] < 5, "a few tenths can be seen"
    assert learnt.get_ylim()[0] < 1.26
    assert (learnt.get_xlabel(), learnt.get_ylabel()) == ("d (layers)", "test error (%)")


def test_unrolled_3_has_a_bar_for_each_block_and_names_stages(judged):
    study = judged["digits"][0]
    _, conv = figure(Estimates, judged, "digits").axes
    assert [text.get_text() for text in conv.texts] == ["stage 1", "stage 2", "stage 3"]
    part = study.results["conv-residual"].part("estimation")
    (bars,) = [c for c in conv.collections if hasattr(c, "get_segments")]
    widths = [np.ptp(segment[:, 1]) for segment in bars.get_segments()]
    assert widths == pytest.approx(2 * np.mean(part["deviation"], axis=1))


def test_epsilon_10_counts_blocks_that_are_shut_on_every_example(judged):
    """Of a net that is not asked what it can do without."""
    study, judgement = judged["digits"]
    net = "conv-epsilon"
    alone = dataclasses.replace(
        study, specs={net: study.specs[net]}, results={net: study.results[net]}
    )
    (panel,) = Discarded.find(alone, judgement).figure().axes
    gates = np.array(study.results[net].part("gates")["T"])
    shut = 100 * (gates == 0).reshape(3, 3, -1).mean((1, 2))
    heights = [bar.get_height() for bar in panel.patches]
    assert heights == pytest.approx([*(100 - shut), *shut])


def test_the_lectures_figures_take_the_nearest_depths(judged):
    assert [nearest_depth(layers, (2, 10, 20, 50)) for layers in (1, 18, 24, 34)] == [2, 20, 20, 50]
    plain, residual = figure(Depths, judged).axes
    assert (plain.get_title(), residual.get_title()) == ("plain", "residual")
    assert [text.get_text() for text in plain.get_legend().get_texts()] == ["d = 20", "d = 50"]
    (panel,) = figure(Starts, judged).axes
    lines = {line.get_label(): line for line in panel.lines}
    start = lines["CReLU, looks-linear"]
    assert [*start.get_xdata()] == [10, 50, 100]
    score = judged["mnist"][0].results["mnist-looks-linear-10"].score()
    assert start.get_ydata()[0] == pytest.approx(100 - np.mean(score))


def test_the_lectures_panels_on_gradients_are_five():
    drawn = theory_figures.FIGURES["paper-fleuret-shattered"][0](load())
    assert [panel.get_title() for panel in drawn.axes] == [
        "plain, d = 1",
        "plain, d = 24",
        "residual, d = 50",
        "brown noise",
        "white noise",
    ]
    assert (drawn.axes[0].get_xlabel(), drawn.axes[0].get_ylabel()) == ("input", "gradient")


def test_a_study_without_the_nets_has_no_figure(judged):
    study, judgement = judged["digits"]
    few = copy.copy(study.results)
    missing = dict.fromkeys(study.specs, "not run yet")
    smaller = store.StudyResults(study.name, study.measure, study.specs, few, missing)
    for net in study.results:
        if not net.endswith("-2"):
            del few[net]
    assert [found.name for found in paper_figures.found(smaller, judgement)] == ["gresnet-tables"]
    few.clear()
    nothing = judge_study(params.load(), smaller, papers.load(params.load()))
    assert paper_figures.found(smaller, nothing) == []


def test_diverged_seeds_are_no_obstacle(judged):
    study, judgement = copy.deepcopy(judged["digits"])
    for net in ("residual-10", "gated-50"):
        train = study.results[net].parts["train"]
        train["diverged"] = [1] * 5
        train["metrics"] = {key: [[None]] * 5 for key in train["metrics"]}
    for found in paper_figures.found(study, judgement):
        found.figure().canvas.draw()
