"""Figures of a study: one panel per network size, one colour per family.

They show the mean over seeds with its range.
"""

import itertools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from skipgate.reporting.canvas import COLOURS, INK, OTHERS, SMALL, TITLE, WIDTH, save
from skipgate.reporting.drawings import BAND, Drawing, drawings
from skipgate.results.names import line, size
from skipgate.results.store import Result, StudyResults

Groups = dict[str, dict[str, Result]]
"""Nets by size and line."""
COUNTED = ("epoch", "block", "block removed")
HEIGHT = 2.7
LEGEND = 0.25
"""Inches of a row of panels, and of a row of the legend under them."""
MOST_LINES = 6
MOST_COLUMNS = 3
ONE_DRAW = "Of each network there is one: no bands."


def captions(study: StudyResults) -> dict[str, str]:
    """What the figures show, by file name."""
    single = f" {ONE_DRAW}" if study.is_given else ""
    return {f"{name}.png": drawing.caption + single for name, drawing in _shown(study).items()}


def draw_all(study: StudyResults, folder: Path) -> None:
    """Write the study's figures as PNG, two at a time: drawing is most of what a report takes."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        for _ in pool.map(_draw_one, _shown(study), repeat(study), repeat(folder)):
            pass


def _shown(study: StudyResults) -> dict[str, Drawing]:
    """The figures that have something to show."""
    return {
        name: drawing
        for name, drawing in drawings(study.measure).items()
        if any(map(drawing.shows, study.main.results.values()))
    }


def _draw_one(name: str, study: StudyResults, folder: Path) -> None:
    groups: Groups = {}
    for result in study.main.results.values():
        # Of nets that differ in neither size nor line the first; the others are ablations.
        groups.setdefault(size(result.spec), {}).setdefault(line(result.spec), result)
    save(panels(groups, drawings(study.measure)[name]), folder / f"{name}.png")


def draw_net(result: Result, file: Path) -> None:
    """All figures of one net as the panels of one picture."""
    save(net_figure(result), file)


def net_figure(result: Result) -> Figure:
    """A panel for each figure that has something of this net to show."""
    shown = [drawing for drawing in drawings(result.measure).values() if drawing.shows(result)]
    rows = max(1, -(-len(shown) // MOST_COLUMNS))
    size_of = (WIDTH * 1.2, HEIGHT * 1.1 * rows + 0.4)
    figure, axes = plt.subplots(
        rows, MOST_COLUMNS, figsize=size_of, layout="constrained", squeeze=False
    )
    for panel, drawing in zip(axes.flat, shown, strict=False):
        drawing.draw(panel, result, COLOURS["residual"])
        drawing.scale(panel)
        panel.set_ylabel(drawing.y)
        _finish(panel, drawing.x)
    for panel in axes.flat[len(shown) :]:
        panel.remove()
    figure.suptitle(f"{result.spec.net} ({BAND})")
    return figure


def _finish(panel: Axes, label: str) -> None:
    """Axis, grid, and a word where there was nothing to draw."""
    panel.set_xlabel(label)
    panel.grid(alpha=0.3)
    if not panel.lines:
        panel.text(
            0.5, 0.5, "nothing\nto show", ha="center", va="center", transform=panel.transAxes
        )
        panel.set_xticks([])
        panel.set_yticks([])
    elif label in COUNTED:
        panel.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        last = max(float(np.max(drawn.get_xdata())) for drawn in panel.lines)
        panel.set_xlim(0.5, last + 0.5)
        if last < 3:  # the locator has no whole numbers for so few
            panel.set_xticks(range(1, round(last) + 1))


def _colours(groups: Groups) -> dict[str, str]:
    """A colour for each line of a study, the same in all its figures."""
    lines = dict.fromkeys(itertools.chain.from_iterable(groups.values()))
    others = itertools.cycle(OTHERS)
    return {label: COLOURS.get(label) or next(others) for label in lines}


def panels(groups: Groups, drawing: Drawing) -> Figure:
    """One panel per size, with one legend for all.

    Sizes and lines of which there is nothing to show are left out.
    """
    shown = {
        title: {label: net for label, net in nets.items() if drawing.shows(net)}
        for title, nets in groups.items()
    }
    shown = {title: nets for title, nets in shown.items() if nets}
    named = [net for nets in shown.values() for net in nets.items() if not drawing.names(net[1])]
    colours = _colours(groups)
    lines = {label: colour for label, colour in colours.items() if label in dict(named)}
    rows = max(1, -(-len(lines) // MOST_LINES))
    figure, axes = _grid(len(shown), rows)
    for panel, (title, nets) in zip(axes.flat, shown.items(), strict=False):
        panel.set_title(title, loc="left", fontsize=TITLE)
        _fill(panel, nets, drawing, colours)
        _finish(panel, drawing.x)
    for panel in axes.flat[len(shown) :]:
        panel.set_axis_off()
    for row in axes:
        row[0].set_ylabel(drawing.y)
    handles = [Line2D([], [], color=colour, label=label) for label, colour in lines.items()]
    columns = -(-len(handles) // rows)
    figure.legend(handles=handles, loc="lower center", ncols=max(1, columns), frameon=False)
    return figure


def _fill(panel: Axes, nets: dict[str, Result], drawing: Drawing, colours: dict[str, str]) -> None:
    """Draw the nets of one size, and name those that failed."""
    failed = [label for label, net in nets.items() if drawing.names(net)]
    for label, net in nets.items():
        if label not in failed:
            drawing.draw(panel, net, colours[label])
    drawing.scale(panel)
    if failed:
        kind = f"{panel.get_title(loc='left').partition(',')[0]}, "
        names = ", ".join(label.removeprefix(kind) for label in failed)
        panel.set_title(f"failed: {names}", loc="right", fontsize=SMALL, color=INK)


def _grid(count: int, rows_of_legend: int) -> tuple[Figure, Any]:
    """A figure with room for `count` panels, and its panels as [row][column]."""
    rows = -(-count // MOST_COLUMNS)
    columns = -(-count // rows)
    legend = 0.1 + LEGEND * rows_of_legend
    tall = HEIGHT * rows + legend
    figure, axes = plt.subplots(rows, columns, figsize=(WIDTH, tall), squeeze=False)
    # Margins by hand, in inches: matplotlib's own layout takes longer than all the drawing.
    figure.subplots_adjust(
        0.75 / WIDTH,
        (legend + 0.5) / tall,
        1 - 0.15 / WIDTH,
        1 - 0.35 / tall,
        wspace=0.22,
        hspace=0.45,
    )
    return figure, axes
