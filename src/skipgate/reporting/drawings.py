"""How a net's results are drawn into a panel, figure by figure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

from skipgate.results.names import ONE_PATH, family
from skipgate.results.store import Result
from skipgate.settings import Measure

Draw = Callable[[Axes, Result, str], None]
"""Draws one net into a panel, in a colour."""
Numbers = npt.NDArray[np.float64]

TENTHS = 0.1, 0.9
FEW = 4
"""With fewer lengths there is no curve to see."""
BAND = "line: mean over seeds; band: smallest to largest seed"


def _summary(rows: npt.ArrayLike) -> list[Numbers]:
    """Mean, smallest and largest of each row ([x][seed]) over the seeds that have a number.

    NaN where none has.
    """
    values = np.ma.masked_invalid(np.array(rows, dtype=float))
    return [
        np.ma.filled(values.mean(1), np.nan),
        np.ma.filled(values.min(1), np.nan),
        np.ma.filled(values.max(1), np.nan),
    ]


def _band(
    panel: Axes, x: Sequence[float], rows: npt.ArrayLike, colour: str, style: str = "-"
) -> None:
    """A line through the mean and a band from the smallest to the largest seed."""
    mean, low, high = _summary(rows)
    panel.plot(x, mean, style, color=colour, linewidth=1.5)
    panel.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def _curve(metric: str, *, logarithmic: bool) -> Draw:
    def draw(panel: Axes, result: Result, colour: str) -> None:
        columns = np.array(result.curve(metric), dtype=float).T
        _band(panel, range(1, len(columns) + 1), columns, colour)
        # Where every seed has diverged there is nothing to scale.
        if logarithmic and np.any(columns > 0):
            panel.set_yscale("log")
            panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            panel.yaxis.set_major_formatter(FormatStrFormatter("%g"))
            panel.yaxis.set_minor_locator(NullLocator())

    return draw


def _gates(panel: Axes, result: Result, colour: str) -> None:
    values = result.part("gates")["T"]
    _band(panel, range(1, len(values) + 1), values, colour, ".-")
    if "T" in result.part("gates")["spread"]:
        shares = np.array(result.part("gates")["spread"]["T"]["bins"], dtype=float)
        shares = np.nanmean(shares, axis=2) if np.isfinite(shares).any() else shares[..., 0]
        for quantile in TENTHS:
            panel.plot(
                range(1, len(values) + 1),
                [_quantile(row, quantile) for row in shares],
                ":",
                color=colour,
                linewidth=1,
            )


def _quantile(shares: Numbers, level: float) -> float:
    """The value below which a share of `level` lies, by shares of equal bins from 0 to 1."""
    edges = np.linspace(0, 1, len(shares) + 1)
    return float(np.interp(level, np.concatenate([[0.0], np.cumsum(shares)]), edges))


def _lesion(panel: Axes, result: Result, colour: str) -> None:
    part = result.part("lesion")
    _band(panel, range(1, len(part["without"]) + 1), part["without"], colour, ".-")
    panel.axhline(
        float(_summary([part["whole"]])[0][0]), color=colour, linewidth=0.8, linestyle=":"
    )


def _prune(panel: Axes, result: Result, colour: str) -> None:
    part = result.part("prune")
    random = np.array(part["random"], dtype=float)
    removed = np.linspace(0, 100, random.shape[1]).tolist()
    each = np.concatenate(list(random), axis=1)
    low, median, high = np.nanquantile(each, (TENTHS[0], 0.5, TENTHS[1]), axis=1)
    panel.plot(removed, median, color=colour, linewidth=1.5)
    panel.fill_between(removed, low, high, color=colour, alpha=0.15, linewidth=0)
    if part["smallest"] is not None:
        panel.plot(removed, _summary(part["smallest"])[0], "--", color=colour, linewidth=1.5)


def _rules(panel: Axes, result: Result, colour: str) -> None:
    part = result.part("prune")
    for rule, style in (("greedy", "-"), ("response", ":")):
        if part[rule] is not None:
            panel.plot(
                np.linspace(0, 100, len(part[rule])),
                _summary(part[rule])[0],
                style,
                color=colour,
                linewidth=1.5,
            )


def _paths(panel: Axes, result: Result, colour: str) -> None:
    norms = np.array(result.part("paths")["norm"], dtype=float)
    lengths = np.linspace(0, 100, len(norms))
    counts = np.array(
        [math.comb(len(norms) - 1, length) for length in range(len(norms))], dtype=float
    )
    open_ = [
        [math.comb(blocks, length) for blocks in result.part("paths")["open"]]
        for length in range(len(norms))
    ]
    gradient = np.array(open_, dtype=float) * norms
    _band(panel, lengths.tolist(), 100 * gradient / gradient.sum(0), colour)
    panel.plot(lengths, 100 * counts / counts.sum(), ":", color="#444444", linewidth=1)


def _estimation(panel: Axes, result: Result, colour: str) -> None:
    part = result.part("estimation")
    size_of = np.array(part["size"], dtype=float)
    places = range(1, len(size_of) + 1)
    # Where a network has failed, the last block's output may not vary at all; there is nothing to
    # divide by.
    size_of = np.where(size_of > 0, size_of, np.nan)
    deviation, mean = (np.array(part[key], dtype=float) / size_of for key in ("deviation", "mean"))
    _band(panel, places, deviation, colour, ".-")
    panel.plot(places, _summary(mean)[0], ":", color=colour, linewidth=1.5)


def _shuffle(panel: Axes, result: Result, colour: str) -> None:
    part = result.part("shuffle")
    mean, low, high = _summary(part["errors"])
    panel.errorbar(
        part["tau"],
        mean,
        (mean - low, high - mean),
        fmt="o",
        color=colour,
        markersize=4,
        elinewidth=0.8,
    )
    for kind, marker in (("full", "x"), ("reversed", "s")):
        if part[kind]["tau"]:
            panel.plot(
                part[kind]["tau"],
                _summary(part[kind]["errors"])[0],
                marker,
                color=colour,
                markersize=5,
            )


def _has_gates(result: Result) -> bool:
    return result.spec.settings.T.gate != "constant"


def _has_estimates(result: Result) -> bool:
    """Without shortcuts nothing carries an estimate, and the numbers dwarf those of estimates."""
    carried = family(result.spec) not in ONE_PATH
    return carried and result.has_learnt and len(result.part("estimation")["mean"]) > 1


def _has_paths(result: Result) -> bool:
    return family(result.spec) not in ONE_PATH and len(result.part("paths")["norm"]) >= FEW


def _can_be_shuffled(result: Result) -> bool:
    return bool(result.part("shuffle")["tau"])


@dataclass(frozen=True)
class Drawing:
    """A figure: how one net is drawn, the axes, what stands under it, and which nets it shows."""

    draw: Draw
    x: str
    y: str
    caption: str
    needs: tuple[str, ...]
    """The parts of a net's results that it takes."""
    applies: Callable[[Result], bool] = lambda _: True

    def shows(self, result: Result) -> bool:
        """Whether there is something of this net to draw."""
        return result.has(*self.needs) and self.applies(result)


def drawings(measure: Measure) -> dict[str, Drawing]:
    """All figures of a study whose networks are judged by this measure, by name."""
    return {
        **_of_training(measure),
        **_of_blocks(measure),
        **_of_pruning(measure),
        **_of_estimates(measure),
        **_of_shuffles_and_paths(measure),
    }


def _of_training(measure: Measure) -> dict[str, Drawing]:
    label = measure.label.capitalize()
    return {
        "training": Drawing(
            _curve("train_loss", logarithmic=True),
            "epoch",
            "training loss",
            f"Training loss by epoch ({BAND}).",
            ("train",),
        ),
        measure.name: Drawing(
            _curve(measure.key, logarithmic=measure.logarithmic),
            "epoch",
            measure.axis,
            f"{label} by epoch ({BAND}).",
            ("train",),
        ),
    }


def _of_blocks(measure: Measure) -> dict[str, Drawing]:
    label = measure.label.capitalize()
    return {
        "gates": Drawing(
            _gates,
            "block",
            "mean of T",
            f"Transform gate by block, averaged over test examples and units ({BAND}); of a gated "
            "network it is max(0, k). Dotted, for gates that depend on the sample: a tenth and "
            "nine tenths of all values lie below. Networks whose gates are constant are left out.",
            ("gates",),
            _has_gates,
        ),
        "lesion": Drawing(
            _lesion,
            "block removed",
            measure.axis,
            f"{label} after one block has become its shortcut; dotted: the whole network ({BAND}).",
            ("lesion",),
        ),
    }


def _of_pruning(measure: Measure) -> dict[str, Drawing]:
    label = measure.label.capitalize()
    return {
        "prune": Drawing(
            _prune,
            "blocks removed (%)",
            measure.axis,
            f"{label} as blocks become their shortcuts. Solid: at random (median over orders and "
            "seeds, band from a tenth to nine tenths of them); dashed: smallest gate first (mean "
            "over seeds), where gates differ.",
            ("prune",),
        ),
        "rules": Drawing(
            _rules,
            "blocks removed (%)",
            measure.axis,
            "The same by two other rules (mean over seeds). Solid: greedily, each time the block "
            "that costs least on training examples; dotted: the block that adds least to its "
            "shortcut first.",
            ("prune",),
        ),
    }


def _of_estimates(measure: Measure) -> dict[str, Drawing]:
    told = []
    if measure.failed is not None:
        told.append(f"{measure.label} of {measure.failed:g}{measure.unit} or worse")
    if not math.isnan(measure.guessing):
        told.append(f"guessing gives {measure.guessing:g}{measure.unit}")
    failed = f" ({'; '.join(told)})" if told else ""
    return {
        "estimation": Drawing(
            _estimation,
            "block",
            "share of the last output's spread",
            "Estimation error, a block's output less that of the last block of its stage, per unit "
            "over test examples, then averaged over units, as a share of the spread of the last "
            "output. Solid: standard deviation (mean over seeds, band from smallest to largest); "
            "dotted: mean error. Left out are networks without shortcuts, of a single block, or "
            f"that have failed to train{failed}.",
            ("train", "estimation"),
            _has_estimates,
        ),
    }


def _of_shuffles_and_paths(measure: Measure) -> dict[str, Drawing]:
    label = measure.label.capitalize()
    return {
        "shuffle": Drawing(
            _shuffle,
            "Kendall's tau",
            measure.axis,
            f"{label} after random swaps of blocks within a stage, against the order that is left: "
            "1 is the trained order, -1 its reverse (point: mean over seeds; bar: smallest to "
            "largest seed). Cross: whole shuffles; square: each stage reversed.",
            ("shuffle",),
            _can_be_shuffled,
        ),
        "paths": Drawing(
            _paths,
            "length of path (% of blocks)",
            "share of all (%)",
            "What paths of each length bring to the gradient at the first block: their number "
            f"times the mean norm along one ({BAND}). Dotted: their number alone, if all blocks "
            "are open, by number of blocks. Plain networks have one path and are left out, as are "
            "networks of fewer than three blocks.",
            ("paths",),
            _has_paths,
        ),
    }
