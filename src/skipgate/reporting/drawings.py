"""How a net's results are drawn into a panel, figure by figure."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from skipgate.reporting.canvas import (
    INK,
    Numbers,
    as_drawn,
    band,
    from_zero,
    latest,
    logarithmic,
    points,
    second_half,
    summary,
)
from skipgate.results.names import ONE_PATH, family
from skipgate.results.store import Result
from skipgate.settings import Measure

Draw = Callable[[Axes, Result, str], None]
"""Draws one net into a panel, in a colour."""
Scale = Callable[[Axes], None]
"""Sets the vertical axis of a panel once all its nets are drawn."""

TENTHS = 0.1, 0.9
FEW = 4
"""With fewer lengths there is no curve to see."""
PAIR = 2
"""The whole network and the one without its only block."""
BAND = "line: mean over seeds; band: smallest to largest seed"


def _curve(metric: str, *, smooth: bool = False) -> Draw:
    def draw(panel: Axes, result: Result, colour: str) -> None:
        columns = np.array(result.curve(metric), dtype=float)
        rows = (latest(columns) if smooth else columns).T
        epochs = columns.shape[1]
        band(panel, range(epochs - len(rows) + 1, epochs + 1), rows, colour)

    return draw


def _by_block(panel: Axes, rows: list[list[float]], colour: str) -> None:
    """A line over blocks; a single block is a point and no line."""
    if len(rows) == 1:
        points(panel, [1], rows, colour)
    else:
        band(panel, range(1, len(rows) + 1), rows, colour, ".-")


def _gates(panel: Axes, result: Result, colour: str) -> None:
    values = result.part("gates")["T"]
    _by_block(panel, values, colour)
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
    _by_block(panel, part["without"], colour)
    whole = float(summary([part["whole"]])[0][0])
    panel.axhline(whole, color=colour, linewidth=1, linestyle=":")


def _prune(panel: Axes, result: Result, colour: str) -> None:
    part = result.part("prune")
    random = np.array(part["random"], dtype=float)
    removed = np.linspace(0, 100, random.shape[1]).tolist()
    each = np.concatenate(list(random), axis=1)
    low, median, high = np.nanquantile(each, (TENTHS[0], 0.5, TENTHS[1]), axis=1)
    panel.plot(removed, median, color=colour, linewidth=1.5)
    panel.fill_between(removed, low, high, color=colour, alpha=0.15, linewidth=0)
    if part["smallest"] is not None:
        panel.plot(removed, summary(part["smallest"])[0], "--", color=colour, linewidth=1.5)


def _rules(panel: Axes, result: Result, colour: str) -> None:
    part = result.part("prune")
    for rule, style in (("greedy", "-"), ("response", ":")):
        if part[rule] is not None:
            panel.plot(
                np.linspace(0, 100, len(part[rule])),
                summary(part[rule])[0],
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
    band(panel, lengths.tolist(), 100 * gradient / gradient.sum(0), colour)
    panel.plot(lengths, 100 * counts / counts.sum(), ":", color=INK, linewidth=1)


def _estimation(panel: Axes, result: Result, colour: str) -> None:
    part = result.part("estimation")
    size_of = np.array(part["size"], dtype=float)
    places = range(1, len(size_of) + 1)
    # Where a network has failed, the last block's output may not vary at all; there is nothing to
    # divide by.
    size_of = np.where(size_of > 0, size_of, np.nan)
    deviation, mean = (np.array(part[key], dtype=float) / size_of for key in ("deviation", "mean"))
    band(panel, places, deviation, colour, ".-")
    panel.plot(places, summary(mean)[0], ":", color=colour, linewidth=1.5)


def _response(panel: Axes, result: Result, colour: str) -> None:
    _by_block(panel, result.part("response")["ratio"], colour)


def _shuffle(panel: Axes, result: Result, colour: str) -> None:
    part = result.part("shuffle")
    points(panel, part["tau"], part["errors"], colour)
    for kind, marker in (("full", "x"), ("reversed", "s")):
        if part[kind]["tau"]:
            panel.plot(
                part[kind]["tau"],
                summary(part[kind]["errors"])[0],
                marker,
                color=colour,
                markersize=5,
            )


def _was_trained(result: Result) -> bool:
    return not result.is_given


def _has_gates(result: Result) -> bool:
    """With a single block there is no course over blocks."""
    several = len(result.part("gates")["T"]) > 1
    return several and result.spec.settings.T.gate != "constant"


def _has_shortcuts(result: Result) -> bool:
    """A block without a shortcut has nothing to become when it is taken away."""
    return family(result.spec) not in ONE_PATH


def _can_be_pruned(result: Result) -> bool:
    """With a single block there is no choice of blocks."""
    return _has_shortcuts(result) and len(result.part("prune")["random"][0]) > PAIR


def _has_other_rules(result: Result) -> bool:
    part = result.part("prune")
    return _can_be_pruned(result) and (part["greedy"] or part["response"]) is not None


def _has_responses(result: Result) -> bool:
    return _has_shortcuts(result) and len(result.part("response")["ratio"]) > 1


def _has_estimates(result: Result) -> bool:
    """Without shortcuts nothing carries an estimate, and the numbers dwarf those of estimates."""
    several = len(result.part("estimation")["mean"]) > 1
    return _has_shortcuts(result) and several and result.has_learnt


def _has_paths(result: Result) -> bool:
    return _has_shortcuts(result) and len(result.part("paths")["norm"]) >= FEW


def _can_be_shuffled(result: Result) -> bool:
    return _has_shortcuts(result) and bool(result.part("shuffle")["tau"])


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
    scale: Scale = as_drawn
    of_learnt: bool = False
    """Whether networks that failed to train are named in a panel and not drawn.

    They would set the axis, and the others could not be told apart.
    """

    def shows(self, result: Result) -> bool:
        """Whether there is something of this net to draw."""
        return result.has(*self.needs) and self.applies(result)

    def names(self, result: Result) -> bool:
        """Whether this net is only named."""
        return self.of_learnt and result.has("train") and not result.has_learnt


def drawings(measure: Measure) -> dict[str, Drawing]:
    """All figures of a study whose networks are judged by this measure, by name."""
    return {
        **_of_training(measure),
        **_of_blocks(measure),
        **_of_pruning(measure),
        **_of_estimates(),
        **_of_responses(),
        **_of_shuffles_and_paths(measure),
    }


def _of_training(measure: Measure) -> dict[str, Drawing]:
    label = measure.label.capitalize()
    return {
        "training": Drawing(
            _curve("train_loss"),
            "epoch",
            "training loss",
            f"Training loss by epoch ({BAND}).",
            ("train",),
            _was_trained,
            scale=logarithmic,
        ),
        measure.name: Drawing(
            _curve(measure.key, smooth=True),
            "epoch",
            measure.axis,
            f"{label} by epoch, mean over the latest twentieth of all epochs ({BAND}). Each "
            "panel's axis is that of the second half of training; where a curve begins may lie "
            f"beyond it.{_failed(measure)}",
            ("train",),
            _was_trained,
            scale=second_half,
            of_learnt=True,
        ),
    }


def _failed(measure: Measure) -> str:
    """A sentence on networks that are named and not drawn."""
    told = []
    if measure.failed is not None:
        told.append(f"{measure.label} of {measure.failed:g}{measure.unit} or worse")
    if not math.isnan(measure.guessing):
        told.append(f"guessing gives {measure.guessing:g}{measure.unit}")
    if not told:
        return ""
    return f" Networks that failed to train ({'; '.join(told)}) are named and not drawn."


def _of_blocks(measure: Measure) -> dict[str, Drawing]:
    label = measure.label.capitalize()
    return {
        "gates": Drawing(
            _gates,
            "block",
            "mean of T",
            f"Transform gate by block, averaged over test examples and units ({BAND}); of a gated "
            "network it is max(0, k). Dotted, for gates that depend on the sample: a tenth and "
            "nine tenths of all values lie below. Left out are networks whose gates are constant "
            "or that have a single block.",
            ("gates",),
            _has_gates,
            scale=from_zero,
        ),
        "lesion": Drawing(
            _lesion,
            "block removed",
            measure.axis,
            f"{label} after one block has become its shortcut; dotted: the whole network ({BAND}). "
            f"Networks without shortcuts are left out.{_failed(measure)}",
            ("lesion",),
            _has_shortcuts,
            scale=_scale(measure),
            of_learnt=True,
        ),
    }


def _scale(measure: Measure) -> Scale:
    return logarithmic if measure.logarithmic else as_drawn


def _of_pruning(measure: Measure) -> dict[str, Drawing]:
    label = measure.label.capitalize()
    return {
        "prune": Drawing(
            _prune,
            "blocks removed (%)",
            measure.axis,
            f"{label} as blocks become their shortcuts. Solid: at random (median over orders and "
            "seeds, band from a tenth to nine tenths of them); dashed: smallest gate first (mean "
            "over seeds), where gates differ. Left out are networks without shortcuts or of a "
            f"single block.{_failed(measure)}",
            ("prune",),
            _can_be_pruned,
            scale=_scale(measure),
            of_learnt=True,
        ),
        "rules": Drawing(
            _rules,
            "blocks removed (%)",
            measure.axis,
            "The same by two other rules (mean over seeds). Solid: greedily, each time the block "
            "that costs least on training examples; dotted: the block that adds least to its "
            "shortcut first.",
            ("prune",),
            _has_other_rules,
            scale=_scale(measure),
            of_learnt=True,
        ),
    }


def _of_estimates() -> dict[str, Drawing]:
    return {
        "estimation": Drawing(
            _estimation,
            "block",
            "share of output's spread",
            "Estimation error, a block's output less that of the last block of its stage, per unit "
            "over test examples, then averaged over units, as a share of the spread of the last "
            "output. Solid: standard deviation (mean over seeds, band from smallest to largest); "
            "dotted: mean error. Left out are networks without shortcuts, of a single block, or "
            "that have failed to train.",
            ("train", "estimation"),
            _has_estimates,
        ),
    }


def _of_responses() -> dict[str, Drawing]:
    return {
        "response": Drawing(
            _response,
            "block",
            "added over shortcut",
            "How much a block adds: the norm of what it adds to its shortcut, over that of the "
            f"shortcut's output, mean over test examples ({BAND}).",
            ("response",),
            _has_responses,
            scale=logarithmic,
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
            "largest seed). Cross: whole shuffles; square: each stage reversed. Networks without "
            f"shortcuts are left out.{_failed(measure)}",
            ("shuffle",),
            _can_be_shuffled,
            scale=_scale(measure),
            of_learnt=True,
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
            scale=from_zero,
        ),
    }
