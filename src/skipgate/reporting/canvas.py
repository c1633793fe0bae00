"""What all figures share: colours, sizes, scales of an axis, and how they are saved."""

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator
from numpy.lib.stride_tricks import sliding_window_view

from skipgate.files import write_atomically

mpl.use("Agg")  # figures are files; no window is ever opened

Numbers = npt.NDArray[np.float64]

# Okabe and Ito's colours, which stay apart for colour-blind eyes, and two darker ones for what
# they have no room for.
COLOURS = {
    "plain": "#777777",
    "residual": "#0072B2",
    "gated": "#D55E00",
    "highway": "#009E73",
    "epsilon": "#CC79A7",
    "stochastic depth": "#E69F00",
    "scalar-gated layer": "#56B4E9",
    "looks-linear": "#000000",
    "CReLU, looks-linear": "#000000",
    "CReLU": "#882255",
    "CReLU, he-normal": "#882255",
}
"""The colour of a family, the same in all figures of all studies."""
OTHERS = ("#999933", "#332288", "#44AA99", "#AA4499")
INK = "#444444"
WIDTH = 10.0
"""Inches across a page: 1,200 pixels, which a page shows at about 1,000."""
TITLE = 11
SMALL = 8.5
"""Points of a panel's title and of the smallest type."""
WINDOWS = 20
"""A window of epochs fits so many times into a training."""
FEW_TIMES = 5
"""A logarithmic axis is worth its trouble where values differ by more than this factor."""
MANY_TIMES = 100
"""Beyond this factor there is no room for ticks between powers of ten."""


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


def gridded(figure: Figure) -> Figure:
    """The figure with a pale grid in all its panels."""
    for panel in figure.axes:
        panel.grid(alpha=0.3)
    return figure


def summary(rows: npt.ArrayLike) -> list[Numbers]:
    """Mean, smallest and largest of each row ([x][seed]) over the seeds that have a number.

    NaN where none has.
    """
    values = np.ma.masked_invalid(np.array(rows, dtype=float))
    return [
        np.ma.filled(values.mean(1), np.nan),
        np.ma.filled(values.min(1), np.nan),
        np.ma.filled(values.max(1), np.nan),
    ]


def latest(columns: Numbers) -> Numbers:
    """Mean over a window of the latest epochs, for curves [seed][epoch] that are noisy.

    It begins at the first epoch that has a whole window.
    """
    window = max(1, columns.shape[1] // WINDOWS)
    windows: Numbers = sliding_window_view(columns, window, axis=1).mean(2)
    return windows


def band(panel: Axes, x: npt.ArrayLike, rows: npt.ArrayLike, colour: str, style: str = "-") -> None:
    """A line through the mean and a band from the smallest to the largest seed."""
    mean, low, high = summary(rows)
    panel.plot(np.asarray(x), mean, style, color=colour, linewidth=1.5)
    panel.fill_between(np.asarray(x), low, high, color=colour, alpha=0.15, linewidth=0)


def points(panel: Axes, x: npt.ArrayLike, rows: npt.ArrayLike, colour: str) -> None:
    """The mean as a point, with a bar from the smallest to the largest seed."""
    mean, low, high = summary(rows)
    bars = (mean - low, high - mean)
    panel.errorbar(x, mean, bars, fmt="o", color=colour, markersize=4, elinewidth=0.8)


def as_drawn(_: Axes) -> None:
    """The axis that matplotlib chooses."""


def from_zero(panel: Axes) -> None:
    """An axis that begins at 0, for values that are shares of something."""
    panel.set_ylim(bottom=min(0.0, panel.dataLim.y0))


def logarithmic(panel: Axes) -> None:
    """A logarithmic axis, where values differ by enough to need one."""
    low = panel.dataLim.minposy
    high = panel.dataLim.y1
    if np.isfinite(low) and high > FEW_TIMES * low:
        panel.set_yscale("log")
        plain_ticks(panel.yaxis, wide=high > MANY_TIMES * low)


def plain_ticks(axis: Axis, *, wide: bool) -> None:
    """Ticks as plain numbers: powers of ten, and where there is room 2 and 5 times them."""
    axis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5)))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_locator(NullLocator())


def second_half(panel: Axes) -> None:
    """An axis for what is drawn in the right half; where curves begin may lie beyond it."""
    drawn = [np.asarray(line.get_xydata(), dtype=float) for line in panel.lines]
    bands = (path for each in panel.collections for path in each.get_paths())
    drawn += [np.asarray(path.vertices, dtype=float) for path in bands]
    if not drawn:
        return
    x, y = np.concatenate(drawn).T
    y = y[(2 * x >= panel.dataLim.x0 + panel.dataLim.x1) & np.isfinite(y)]
    if len(y) and y.max() > y.min():
        pad = 0.05 * (y.max() - y.min())
        panel.set_ylim(y.min() - pad, y.max() + pad)
