"""Figures of a study: one panel a network size, one colour a family, the mean over seeds with its range."""

import io
import itertools
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FormatStrFormatter, LogLocator, MaxNLocator, NullLocator

from skipgate.files import write_atomically
from skipgate.results.names import family, size
from skipgate.results.store import Result, Study

mpl.use("Agg")  # figures are files; no window is ever opened

Draw = Callable[[Axes, Result, str], None]
"""Draws one net into a panel, in a colour."""

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
WIDTH, HEIGHT, LEGEND, MOST_COLUMNS = 11.0, 3.1, 0.35, 4
"""Inches of a page, of a row of panels and of the legend under them."""
BAND = "line: mean over seeds; band: smallest to largest seed"


def captions() -> dict[str, str]:
    """What the figures show, by file name."""
    return {f"{name}.png": caption for name, (_, _, caption) in FIGURES.items()}


def draw_all(study: Study, folder: Path) -> None:
    """Write the study's figures as PNG, two at a time: drawing is most of what a report takes."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        for _ in pool.map(_draw_one, FIGURES, itertools.repeat(study), itertools.repeat(folder)):
            pass


def _draw_one(name: str, study: Study, folder: Path) -> None:
    groups: dict[str, dict[str, Result]] = {}
    for result in study.results.values():  # of nets that differ in neither size nor family the first; the others are ablations
        groups.setdefault(size(result.spec), {}).setdefault(family(result.spec), result)
    draw, labels, _ = FIGURES[name]
    save(_panels(groups, draw, labels), folder / f"{name}.png")


def draw_net(result: Result, file: Path) -> None:
    """All figures of one net as the panels of one picture."""
    figure, axes = plt.subplots(2, 4, figsize=(14, 6), layout="constrained")
    axes.flat[-1].set_axis_off()
    for panel, (draw, labels, _) in zip(axes.flat, FIGURES.values(), strict=False):
        draw(panel, result, COLOURS["residual"])
        panel.set_ylabel(labels[1])
        _finish(panel, labels[0])
    figure.suptitle(f"{result.spec.net} ({BAND})")
    save(figure, file)


def _finish(panel: Axes, label: str) -> None:
    """Axis, grid, and a word where there was nothing to draw."""
    panel.set_xlabel(label)
    panel.grid(alpha=0.3)
    if not panel.lines:
        panel.text(0.5, 0.5, "no two blocks\nto swap", ha="center", va="center", transform=panel.transAxes)
        panel.set_xticks([])
    elif label in COUNTED:
        panel.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        last = max(float(np.max(line.get_xdata())) for line in panel.lines)
        panel.set_xlim(0.5, last + 0.5)
        if last < 3:  # the locator has no whole numbers for so few
            panel.set_xticks(range(1, round(last) + 1))


def save(figure: Figure, file: Path) -> None:
    """Write a figure as PNG and close it."""
    figure.set_dpi(120)
    buffer = io.BytesIO()
    # Straight to the canvas: savefig would draw twice. Without the version the bytes are the same on every rendering.
    FigureCanvasAgg(figure).print_png(buffer, metadata={"Software": None})  # type: ignore[no-untyped-call]
    plt.close(figure)
    write_atomically(file, buffer.getvalue())


def _panels(groups: dict[str, dict[str, Result]], draw: Draw, labels: tuple[str, str]) -> Figure:
    """One panel a size, with one legend for all."""
    columns = min(len(groups), MOST_COLUMNS)
    rows = -(-len(groups) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(WIDTH, HEIGHT * rows + LEGEND), squeeze=False, sharey=True)
    # Margins by hand, in inches: matplotlib's own layout takes longer than all the drawing.
    tall = HEIGHT * rows + LEGEND
    figure.subplots_adjust(0.75 / WIDTH, (LEGEND + 0.55) / tall, 1 - 0.1 / WIDTH, 1 - 0.35 / tall, wspace=0.1, hspace=0.45)
    shown: dict[str, str] = {}
    for panel, (title, results) in zip(axes.flat, groups.items(), strict=False):
        for label, result in results.items():
            shown.setdefault(label, COLOURS.get(label) or OTHERS[len(shown.keys() - COLOURS.keys()) % len(OTHERS)])
            draw(panel, result, shown[label])
        panel.set_title(title)
        _finish(panel, labels[0])
    for panel in axes.flat[len(groups) :]:
        panel.set_axis_off()
    for row in axes:
        row[0].set_ylabel(labels[1])
    handles = [Line2D([], [], color=colour, label=label) for label, colour in shown.items()]
    figure.legend(handles=handles, loc="lower center", ncols=len(handles), frameon=False)
    return figure


def _summary(rows: npt.ArrayLike) -> list[npt.NDArray[np.float64]]:
    """Mean, smallest and largest of each row ([x][seed]) over the seeds that have a number; NaN where none has."""
    values = np.ma.masked_invalid(np.array(rows, dtype=float))
    return [np.ma.filled(values.mean(1), np.nan), np.ma.filled(values.min(1), np.nan), np.ma.filled(values.max(1), np.nan)]


def _band(panel: Axes, x: Sequence[float], rows: npt.ArrayLike, colour: str, style: str = "-") -> None:
    """A line through the mean and a band from the smallest to the largest seed."""
    mean, low, high = _summary(rows)
    panel.plot(x, mean, style, color=colour, linewidth=1.5)
    panel.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def _curve(metric: str) -> Draw:
    def draw(panel: Axes, result: Result, colour: str) -> None:
        columns = np.array(result.curve(metric), dtype=float).T
        _band(panel, range(1, len(columns) + 1), columns, colour)
        if np.any(columns > 0):  # where every seed has diverged there is nothing to scale
            panel.set_yscale("log")
            panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            panel.yaxis.set_major_formatter(FormatStrFormatter("%g"))
            panel.yaxis.set_minor_locator(NullLocator())

    return draw


def _gates(panel: Axes, result: Result, colour: str) -> None:
    values = result.parts["gates"]["T"]
    _band(panel, range(1, len(values) + 1), values, colour, ".-")


def _lesion(panel: Axes, result: Result, colour: str) -> None:
    part = result.parts["lesion"]
    _band(panel, range(1, len(part["without"]) + 1), part["without"], colour, ".-")
    panel.axhline(float(_summary([part["whole"]])[0][0]), color=colour, linewidth=0.8, linestyle=":")


def _prune(panel: Axes, result: Result, colour: str) -> None:
    part = result.parts["prune"]
    random = np.array(part["random"], dtype=float)
    removed = np.linspace(0, 100, random.shape[1]).tolist()
    _band(panel, removed, np.concatenate(list(random), axis=1), colour)
    if part["smallest"] is not None:
        panel.plot(removed, _summary(part["smallest"])[0], "--", color=colour, linewidth=1.5)


def _estimation(panel: Axes, result: Result, colour: str) -> None:
    part = result.parts["estimation"]
    size_of = np.array(part["size"], dtype=float)
    places = range(1, len(size_of) + 1)
    # Where a network has failed, the last block's output may not vary at all; there is nothing to divide by.
    size_of = np.where(size_of > 0, size_of, np.nan)
    deviation, mean = (np.array(part[key], dtype=float) / size_of for key in ("deviation", "mean"))
    _band(panel, places, deviation, colour, ".-")
    panel.plot(places, _summary(mean)[0], ":", color=colour, linewidth=1.5)


def _shuffle(panel: Axes, result: Result, colour: str) -> None:
    part = result.parts["shuffle"]
    if part["tau"]:
        mean, low, high = _summary(part["errors"])
        panel.errorbar(part["tau"], mean, (mean - low, high - mean), fmt="o", color=colour, markersize=4, elinewidth=0.8)


FIGURES: dict[str, tuple[Draw, tuple[str, str], str]] = {
    "training": (_curve("train_loss"), ("epoch", "training loss"), f"Training loss by epoch ({BAND})."),
    "error": (_curve("test_error"), ("epoch", "test error (%)"), f"Test error by epoch ({BAND})."),
    "gates": (_gates, ("block", "mean of T"), f"Transform gate by block, averaged over test images and units ({BAND})."),
    "lesion": (
        _lesion,
        ("block removed", "test error (%)"),
        f"Test error after one block has become its shortcut; dotted: the whole network ({BAND}).",
    ),
    "prune": (
        _prune,
        ("blocks removed (%)", "test error (%)"),
        "Test error as blocks become their shortcuts. Solid: random orders (mean and range over orders and seeds); "
        "dashed: smallest gate first (mean over seeds), where gates differ.",
    ),
    "estimation": (
        _estimation,
        ("block", "share of the last output's spread"),
        "Estimation error, a block's output less that of the last block of its stage, per unit over test images, then "
        "averaged over units, as a share of the spread of the last output. Solid: standard deviation (mean over seeds, band "
        "from smallest to largest); dotted: mean error.",
    ),
    "shuffle": (
        _shuffle,
        ("Kendall's tau", "test error (%)"),
        "Test error after random swaps of blocks within a stage, against the order that is left: 1 is the trained order, "
        "-1 its reverse (point: mean over seeds; bar: smallest to largest seed).",
    ),
}
