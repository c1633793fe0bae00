"""Figures of a study: one panel per network size, one colour per family.

They show the mean over seeds with its range.
"""

import io
import itertools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from skipgate.files import write_atomically
from skipgate.reporting.drawings import BAND, Drawing, drawings
from skipgate.results.names import line, size
from skipgate.results.store import Result, StudyResults

mpl.use("Agg")  # figures are files; no window is ever opened

COLOURS = {
    "plain": "#777777",
    "residual": "#1f77b4",
    "gated": "#d62728",
    "highway": "#2ca02c",
    "epsilon": "#9467bd",
    "stochastic depth": "#ff7f0e",
}
OTHERS = ("#17becf", "#bcbd22", "#e377c2", "#8c564b")
COUNTED = ("epoch", "block", "block removed")
WIDTH = 11.0
HEIGHT = 3.1
LEGEND = 0.35
"""Inches of a page, of a row of panels and of the legend under them."""
MOST_COLUMNS = 4


def captions(study: StudyResults) -> dict[str, str]:
    """What the figures show, by file name."""
    return {f"{name}.png": d.caption for name, d in drawings(study.measure).items()}


def draw_all(study: StudyResults, folder: Path) -> None:
    """Write the study's figures as PNG, two at a time: drawing is most of what a report takes."""
    if not study.results:
        return
    names = drawings(study.measure)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        for _ in pool.map(_draw_one, names, repeat(study), repeat(folder)):
            pass


def _draw_one(name: str, study: StudyResults, folder: Path) -> None:
    groups: dict[str, dict[str, Result]] = {}
    for result in study.results.values():
        # Of nets that differ in neither size nor line the first; the others are ablations.
        groups.setdefault(size(result.spec), {}).setdefault(line(result.spec), result)
    save(_panels(groups, drawings(study.measure)[name]), folder / f"{name}.png")


def draw_net(result: Result, file: Path) -> None:
    """All figures of one net as the panels of one picture."""
    figure, axes = plt.subplots(3, 3, figsize=(12, 9), layout="constrained")
    figures = drawings(result.measure).values()
    for panel, drawing in zip(axes.flat, figures, strict=True):
        if drawing.shows(result):
            drawing.draw(panel, result, COLOURS["residual"])
        panel.set_ylabel(drawing.y)
        _finish(panel, drawing.x)
    figure.suptitle(f"{result.spec.net} ({BAND})")
    save(figure, file)


def _finish(panel: Axes, label: str) -> None:
    """Axis, grid, and a word where there was nothing to draw."""
    panel.set_xlabel(label)
    panel.grid(alpha=0.3)
    if not panel.lines:
        panel.text(
            0.5, 0.5, "nothing\nto show", ha="center", va="center", transform=panel.transAxes
        )
        panel.set_xticks([])
    elif label in COUNTED:
        panel.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        last = max(float(np.max(drawn.get_xdata())) for drawn in panel.lines)
        panel.set_xlim(0.5, last + 0.5)
        if last < 3:  # the locator has no whole numbers for so few
            panel.set_xticks(range(1, round(last) + 1))


def save(figure: Figure, file: Path) -> None:
    """Write a figure as PNG and close it."""
    figure.set_dpi(120)
    buffer = io.BytesIO()
    # Straight to the canvas: savefig would draw twice. Without the version the bytes are the same
    # on every rendering.
    canvas: Any = FigureCanvasAgg(figure)
    canvas.print_png(buffer, metadata={"Software": None})
    plt.close(figure)
    write_atomically(file, buffer.getvalue())


def _colours(groups: dict[str, dict[str, Result]]) -> dict[str, str]:
    """A colour for each line of a study, the same in all its figures."""
    lines = dict.fromkeys(itertools.chain.from_iterable(groups.values()))
    others = itertools.cycle(OTHERS)
    return {label: COLOURS.get(label) or next(others) for label in lines}


def _panels(groups: dict[str, dict[str, Result]], drawing: Drawing) -> Figure:
    """One panel per size, with one legend for all.

    Sizes and lines of which there is nothing to show are left out.
    """
    colours = _colours(groups)
    shown = {
        title: {label: net for label, net in nets.items() if drawing.shows(net)}
        for title, nets in groups.items()
    }
    shown = {title: nets for title, nets in shown.items() if nets} or {"": {}}
    figure, axes = _grid(len(shown))
    for panel, (title, nets) in zip(axes.flat, shown.items(), strict=False):
        for label, net in nets.items():
            drawing.draw(panel, net, colours[label])
        panel.set_title(title)
        _finish(panel, drawing.x)
    for panel in axes.flat[len(shown) :]:
        panel.set_axis_off()
    for row in axes:
        row[0].set_ylabel(drawing.y)
    used = set(itertools.chain.from_iterable(shown.values()))
    handles = [
        Line2D([], [], color=colour, label=label)
        for label, colour in colours.items()
        if label in used
    ]
    figure.legend(handles=handles, loc="lower center", ncols=max(len(handles), 1), frameon=False)
    return figure


def _grid(count: int) -> tuple[Figure, Any]:
    """A figure with room for `count` panels, and its panels as [row][column]."""
    rows = -(-count // MOST_COLUMNS)
    columns = -(-count // rows)
    tall = HEIGHT * rows + LEGEND
    figure, axes = plt.subplots(rows, columns, figsize=(WIDTH, tall), squeeze=False, sharey=True)
    # Margins by hand, in inches: matplotlib's own layout takes longer than all the drawing.
    figure.subplots_adjust(
        0.75 / WIDTH,
        (LEGEND + 0.55) / tall,
        1 - 0.2 / WIDTH,
        1 - 0.35 / tall,
        wspace=0.1,
        hspace=0.45,
    )
    return figure, axes
