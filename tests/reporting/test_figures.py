"""Figures of a study: what each shows, and what it leaves out."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from skipgate import params
from skipgate.reporting import canvas, drawings, figures
from skipgate.results import store
from skipgate.results.names import line, size
from skipgate.settings.measures import error_rate
from tests.toys import ROOT

MEASURE = error_rate(10)
OF_SHORTCUTS = ("lesion", "prune", "rules", "shuffle", "estimation", "paths")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def study(monkeypatch):
    monkeypatch.chdir(ROOT)
    return store.load(params.load(), "digits")


def grouped(study, *nets):
    groups = {}
    for net in nets or study.results:
        spec = study.results[net].spec
        groups.setdefault(size(spec), {})[line(spec)] = study.results[net]
    return groups


def drawn(study, name, *nets):
    return figures.panels(grouped(study, *nets), drawings.drawings(MEASURE)[name])


def titles(figure, loc="left"):
    return [panel.get_title(loc=loc) for panel in figure.axes if panel.get_visible()]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_quantiles_of_a_histogram():
    shares = np.zeros(20)
    shares[[0, 10]] = 0.5
    assert drawings._quantile(shares, 0.25) == pytest.approx(0.025)
    assert drawings._quantile(shares, 0.75) == pytest.approx(0.525)


def test_networks_without_shortcuts_of_one_block_or_that_guess_have_no_estimates_to_draw(study):
    shows = drawings.drawings(MEASURE)["estimation"].shows
    assert [shows(study.results[net]) for net in ("plain-10", "residual-2", "residual-50")] == [
        False,
        False,
        True,
    ]
    for column in study.results["residual-50"].parts["train"]["metrics"]["test_error"]:
        column[-1] = 60.0
    assert not shows(study.results["residual-50"])


def test_a_figure_has_panels_and_lines_for_what_it_shows_alone(study):
    nets = ("plain-2", "residual-2", "plain-10", "residual-10")
    lesion = drawn(study, "lesion", *nets)
    assert (titles(lesion), legend(lesion)) == (["d = 2", "d = 10"], ["residual"])
    estimation = drawn(study, "estimation", *nets)
    assert (titles(estimation), legend(estimation)) == (["d = 10"], ["residual"])


@pytest.mark.parametrize("name", OF_SHORTCUTS)
def test_networks_without_shortcuts_are_in_no_figure_of_shortcuts(study, name):
    shows = drawings.drawings(MEASURE)[name].shows
    shown = {net for net, result in study.results.items() if shows(result)}
    assert "residual-50" in shown
    assert not shown & {"plain-2", "plain-10", "plain-50"}


def test_a_network_that_failed_is_named_and_does_not_set_the_axis(study):
    panel = drawn(study, "error", "plain-50", "residual-50").axes[0]
    assert panel.get_title(loc="right") == "failed: plain"
    assert len(panel.lines) == 1
    alone = drawn(study, "error", "residual-50").axes[0]
    assert panel.get_ylim() == alone.get_ylim()
    assert panel.get_ylim()[1] < 20 < max(study.results["plain-50"].score())
    assert alone.get_title(loc="right") == ""


def test_the_axis_of_errors_is_that_of_the_second_half_of_training(study):
    result = study.results["residual-10"]
    late = np.array(result.curve("test_error"))[:, 9:]
    low, high = drawn(study, "error", "residual-10").axes[0].get_ylim()
    assert low < late.min()
    assert late.max() < high < np.max(result.curve("test_error"))


def test_noise_is_averaged_over_a_twentieth_of_the_epochs(study):
    result = study.results["residual-10"]
    columns = [[epoch / 10 for epoch in range(100)]] * 5
    result.parts["train"]["metrics"]["test_error"] = columns
    (curve,) = drawn(study, "error", "residual-10").axes[0].lines
    assert [*curve.get_xdata()] == [*range(5, 101)]
    assert [*curve.get_ydata()[:2]] == pytest.approx([0.2, 0.3]), "of the latest five epochs"


def test_a_single_block_is_a_point_and_no_line(study):
    panel = drawn(study, "lesion", "gated-2").axes[0]
    connected = [found for found in panel.lines if found.get_linestyle() == "-"]
    assert all(len(found.get_xdata()) == 1 for found in connected)
    for name in ("gates", "prune", "rules"):
        assert not drawings.drawings(MEASURE)[name].shows(study.results["gated-2"])


def test_narrow_values_have_a_linear_axis_and_wide_ones_a_logarithmic_one():
    for top, scale in ((4.0, "linear"), (40.0, "log")):
        panel = plt.subplots()[1]
        panel.plot([1, 2], [1.0, top])
        canvas.logarithmic(panel)
        assert panel.get_yscale() == scale


def test_only_figures_that_show_something_are_drawn_and_listed(study, tmp_path):
    nets = {net: study.results[net] for net in ("plain-2", "plain-10")}
    study.results.clear()
    study.results.update(nets)
    figures.draw_all(study, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"training.png", "error.png"}
    assert figures.captions(study).keys() == {"training.png", "error.png"}


def test_drawing_twice_gives_the_same_bytes(study, tmp_path):
    for name in ("one", "two"):
        canvas.save(drawn(study, "lesion"), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_line_has_the_same_colour_in_every_figure(study):
    plain, residual = study.results["plain-2"], study.results["residual-50"]
    colours = figures._colours(
        {"one": {"strange": plain, "other": residual}, "two": {"plain": plain, "other": residual}}
    )
    assert colours["plain"] == canvas.COLOURS["plain"]
    assert (colours["strange"], colours["other"]) == canvas.OTHERS[:2]


def test_the_picture_of_one_net_has_a_panel_for_each_figure_that_shows_it(study):
    of_all = figures.net_figure(study.results["gated-10"])
    asked_for = {"response"}  # a probe that these nets do not get
    assert len(of_all.axes) == len(drawings.drawings(MEASURE).keys() - asked_for)
    of_plain = figures.net_figure(study.results["plain-10"])
    assert [panel.get_ylabel() for panel in of_plain.axes] == ["training loss", "test error (%)"]
