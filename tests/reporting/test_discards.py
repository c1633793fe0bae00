"""Figures, tables and words on discarded blocks, from made-up results of a sweep at two depths."""

import copy
import dataclasses
import os
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from skipgate import params
from skipgate.judging import papers
from skipgate.judging.claims.discards import TESTS
from skipgate.judging.evidence import Outcome
from skipgate.judging.judgement import judge_study
from skipgate.reporting import answers, discard_tables, pages, paper_figures
from skipgate.reporting.paper_figures.epsilon import GONE, KEPT
from skipgate.results import store
from tests.made_up import LEARNT, add, discards, identity, named, sweep
from tests.reporting.test_width import WIDEST, rendered
from tests.toys import ROOT


@pytest.fixture(autouse=True)
def rooted(monkeypatch):
    monkeypatch.chdir(ROOT)
    yield
    plt.close("all")


@pytest.fixture
def study():
    made = sweep()
    for net in made.specs:
        if net.startswith("e"):
            discards(made, net, [0.0 if net.endswith("-1") else 1.0] * 3)
    return made


@pytest.fixture(scope="module")
def digits():
    """A real study, and its judgement: these figures take nothing from it."""
    settings = params.load(ROOT / "params.yaml")
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        study = store.load(settings, "digits")
        return study, judge_study(settings, study, papers.load(settings))
    finally:
        os.chdir(here)


@pytest.fixture
def found(digits):
    """The figures of this paper that a study draws, by number."""

    def by_number(study):
        figures = paper_figures.found(study, digits[1])
        ours = [figure for figure in figures if figure.name.startswith("epsilon-")]
        return {int(figure.name.removeprefix("epsilon-")): figure for figure in ours}

    return by_number


def test_each_figure_is_drawn_where_its_nets_are_and_says_what_differs(study, found):
    figures = found(study)
    assert [*figures] == [1, 5, 6, 7, 8, 9, 10]
    for number, each in figures.items():
        each.figure().canvas.draw()
        assert "Differs: " in each.caption()
        assert "38 layers on digits" in each.caption() or number == 5


def test_figures_are_absent_and_not_empty_where_nothing_fits(study, found):
    for net in [net for net in study.specs if net.startswith(("e-6", "e-4-1", "e-4-3"))]:
        del study.specs[net], study.results[net]
    assert [*found(study)] == [1, 5, 9, 10], "one depth, one epsilon"
    del study.results["e-4-2"].parts["train"]["blocks"]
    discards(study, "e-4-2", [0.0] * 3)
    assert [*found(study)] == [10], "no record of blocks, and none discarded"
    del study.results["e-4-2"].parts["identity"], study.results["e-4-2"].parts["gates"]
    assert not found(study)


def test_figure_1_has_a_line_for_each_layer_in_red_where_it_goes(study, found):
    part = study.results["e-6-2"].parts["identity"]
    part["strict"][3][1] = 0
    drawn = found(study)[1].figure()
    shades = [
        [to_hex(colour) for colour in panel.collections[0].get_colors()] for panel in drawn.axes
    ]
    assert [len(each) for each in shades] == [38] * 3
    kept, gone = KEPT.lower(), GONE.lower()
    assert shades[0] == [kept, *[gone] * 36, kept]
    assert [i for i, shade in enumerate(shades[1]) if shade == kept] == [0, 7, 8, 37]
    assert "38 to 19 layers, 2.0 times fewer" in drawn.axes[0].get_title(loc="right")


def test_figure_3_has_residual_networks_of_four_depths(study, found):
    assert 3 not in found(study)
    body = dataclasses.replace(study.specs["b-2"].settings.body, blocks=8)
    add(study, named(study.specs["b-2"], "b-8", body=body))
    (panel,) = found(study)[3].figure().axes
    assert [*panel.lines[-1].get_xdata()] == [14, 26, 38, 50]
    assert "supervision" not in found(study)[3].caption()


def test_figure_5_shows_the_block_that_was_shut_first_for_good(study, found):
    record = study.results["e-6-2"].parts["train"]["blocks"][1]
    record["shut"][4] = [0]
    record["shut"][5] = [0, 1]
    record["percentiles"]["93"][4] = [0.4, 0.3, 0.2, 0.1]
    chosen = found(study)[5]
    assert (chosen.net.spec.net, chosen.seed, chosen.block) == ("e-6-2", 1, 4)
    (panel,) = chosen.figure().axes
    lines = {line.get_label(): line for line in panel.lines}
    assert [*lines["93rd percentile"].get_ydata()] == [0.4, 0.3, 0.2, 0.1]
    assert [*lines["93rd percentile"].get_xdata()] == [1, 2, 3, 4]
    assert lines["shut from here on"].get_xdata()[0] == 1
    assert {"maximum", "median", "7th percentile", "minimum"} <= lines.keys()


def test_figure_6_sets_three_kinds_of_networks_beside_each_other(study, found):
    above, below = found(study)[6].figure().axes
    named_lines = [line for line in above.lines if not line.get_label().startswith("_")]
    labels = [line.get_label() for line in named_lines]
    assert labels == ["ResNet", "ResNet, side supervision", "ε-ResNet"]
    assert all([*line.get_xdata()] == [26, 38] for line in named_lines)
    assert [*below.lines[-1].get_ydata()] == [100, 100]


def test_figures_7_8_and_9_have_the_probes_and_the_trainings_numbers(study, found):
    discards(study, "e-4-1", [0.1, 0.2, 0.0])
    study.results["e-4-2"].parts["train"]["metrics"]["discarded"] = [[0.0, 3.0, 6.0, 6.0]] * 3
    (panel,) = found(study)[7].figure().axes
    assert [bar.get_height() for bar in panel.patches] == [8, 8, 4, 4]
    ratio, error = found(study)[8].figure().axes
    shares = {line.get_label(): line for line in ratio.lines}
    assert [*shares["26 layers, digits"].get_ydata()] == pytest.approx([10, 100, 100])
    assert [*shares["26 layers, digits"].get_xdata()] == [1, 2, 3]
    assert [*error.lines[-1].get_ydata()] == [LEARNT] * 3
    (epochs,) = found(study)[9].figure().axes
    assert [*epochs.lines[0].get_ydata()] == [0, 25, 50, 50]


def test_figure_10_has_the_groups_of_those_that_decide(study, found):
    panels = found(study)[10].figure().axes
    assert [panel.get_title() for panel in panels] == ["e-4-2", "e-6-2"]


def test_failed_seeds_are_no_obstacle(study, found):
    for net in ("e-4-2", "e-6-2"):
        part = study.results[net].parts["identity"]
        for row in (*part["strict"], *(r for k in ("layers", "errors", "memory") for r in part[k])):
            row[1] = None
    for each in found(study).values():
        each.figure().canvas.draw()
    assert "nan" not in discard_tables.section(study)


def bare(section):
    return re.sub(r"\]\([^)]*\)", "", section).replace("[", "")


def test_the_tables_have_blocks_sizes_and_neighbours(study):
    discards(study, "e-4-2", [0.5, 0.25, 0.0])
    study.results["e-4-2"].parts["train"]["blocks"][0]["collapsed"][:3] = [[2]] * 3
    text = bare(discard_tables.section(study))
    rows = [row.split("|")[2:-1] for row in text.splitlines() if row.startswith("| `e-4-2`")]
    blocks, sizes, neighbours = ([cell.strip() for cell in row] for row in rows)
    assert blocks[0] == "2"
    assert blocks[1].startswith("3.00 ± ")
    assert blocks[1].endswith(" of 12")
    assert blocks[2] == "1.0, 1.0, 1.0"
    assert blocks[3].startswith("1.00 ± ")
    assert blocks[4] == "20.00 ± 0.00<br>20.00 ± 0.00"
    assert [cell.replace("<br>", " ") for cell in sizes] == [
        "26 to 13",
        "2 to 1",
        "9 to 5",
        "20.0 to 10.0",
        "0.0 of 599",
        "0.0 of 599",
    ]
    assert neighbours == ["batch", "1.0", "200", "50.0%", "0.0%"]


def test_each_kind_of_maximum_is_said_in_words_with_what_was_measured(study):
    text = bare(discard_tables.section(study))
    assert "50.0% of images are predicted otherwise alone than in batches of 64" in text
    assert "Maximum over a sample" not in text
    spec = study.specs["e-4-2"]
    T = dataclasses.replace(
        spec.settings.T, settings={**spec.settings.T.settings, "over": "sample"}
    )
    add(study, named(spec, "by-sample", T=T))
    study.results["by-sample"].parts["identity"]["swayed"] = [[0.0] * 3, [0.01] * 3]
    study.results["e-4-3"].parts["identity"]["swayed"][0] = [0.7] * 3
    text = bare(discard_tables.section(study))
    assert "50.0% to 70.0% of images" in text
    assert "so by rounding: 0.0% of images, and 1.0% after compression" in text


def test_the_section_is_on_the_page_of_a_study_that_has_it_and_on_no_other(digits):
    study, judgement = copy.deepcopy(digits)
    parts = study.results["conv-epsilon"].parts
    parts.pop("identity", None)
    without = pages.study_page(params.load(), study, judgement)
    parts["identity"] = identity([0, 0, 0, 1, 1, 1, 2, 2, 2])
    page = pages.study_page(params.load(), study, judgement)
    assert "## Discarded blocks" in page
    assert page.count("| `conv-epsilon`") - without.count("| `conv-epsilon`") == 3


def test_the_tables_fit_a_screen_with_long_names_and_large_networks(study):
    """752 layers have 375 blocks and 11.6 million parameters."""
    name = "imagenet-epsilon-101-epsilon-21"
    add(study, named(study.specs["e-6-2"], name))
    shorter = dataclasses.replace(study.specs["r-6"].settings.recipe, epochs=5)
    add(study, named(study.specs["r-6"], "cifar10-residual-110-side", recipe=shorter))
    del study.specs["r-6"]
    part = study.results[name].parts["identity"]
    part["layers"] = [[752.0] * 3, [235.0] * 3]
    part["parameters"] = [[11_600_000.0] * 3, [3_600_000.0] * 3]
    part["file"] = [[50_000_000.0] * 3, [20_000_000.0] * 3]
    part["errors"] = [[24.8, 26.0, 70.0], [23.8, 24.0, 60.0]]
    part["images"] = 10000
    told = [test.run(study) for test in TESTS.values()]
    outcomes = [
        answers.margins(Outcome("holds", tuple(each.parts), beside=each.beside))
        for each in told
        if each
    ]
    page = "\n\n".join([discard_tables.section(study), *outcomes]) + "\n"
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        head, _, *rows = table.splitlines()
        columns = zip(*map(rendered, (head, *rows)), strict=True)
        assert sum(max(column) + 3 for column in columns) <= WIDEST, head


def test_a_picture_is_of_the_deepest_network(study, found):
    assert found(study)[1].net.spec.net == "e-6-2"
    assert np.isfinite(found(study)[1]._thickness(["x"] * 752))
