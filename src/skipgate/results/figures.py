"""Figures of a study: one panel a network size, one colour a family, the mean over seeds with its range."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FormatStrFormatter, LogFormatter, MaxNLocator

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
BAND = "line: mean over seeds; band: smallest to largest seed"


def captions() -> dict[str, str]:
    """What the figures show, by file name."""
    return {f"{name}.png": caption for name, (_, _, caption) in FIGURES.items()}


def draw_all(study: Study, folder: Path) -> None:
    """Write the study's figures as PNG."""
    groups: dict[str, list[Result]] = {}
    for result in study.results.values():
        groups.setdefault(size(result.spec), []).append(result)
    for name, (draw, rows, _) in FIGURES.items():
        save(_panels(groups, draw, rows), folder / f"{name}.png")


def draw_net(result: Result, file: Path) -> None:
    """All figures of one net as the panels of one picture."""
    figure, axes = plt.subplots(2, 3, figsize=(11, 6), layout="constrained")
    for panel, (draw, labels, _) in zip(axes.flat, FIGURES.values(), strict=True):
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
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130, metadata={"Software": None})  # the same bytes on every rendering
    plt.close(figure)
    write_atomically(file, buffer.getvalue())


def _panels(groups: dict[str, list[Result]], draw: Draw, labels: tuple[str, str]) -> Figure:
    """One panel a size, side by side, with one legend for all."""
    figure, axes = plt.subplots(1, len(groups), figsize=(11, 3.4), squeeze=False, sharey=True, layout="constrained")
    shown: dict[str, str] = {}
    for panel, (title, results) in zip(axes[0], groups.items(), strict=True):
        for result in results:
            label = family(result.spec)
            shown.setdefault(label, COLOURS.get(label) or OTHERS[len(shown.keys() - COLOURS.keys()) % len(OTHERS)])
            draw(panel, result, shown[label])
        panel.set_title(title)
        _finish(panel, labels[0])
    axes[0][0].set_ylabel(labels[1])
    handles = [Line2D([], [], color=colour, label=label) for label, colour in shown.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
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
            panel.yaxis.set_major_formatter(FormatStrFormatter("%g"))
            panel.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.5)))

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
    "shuffle": (
        _shuffle,
        ("Kendall's tau", "test error (%)"),
        "Test error after random swaps of blocks within a stage, against the order that is left: 1 is the trained order, "
        "-1 its reverse (point: mean over seeds; bar: smallest to largest seed).",
    ),
}
