"""What unstated choices do to gates and errors, beside what a paper reports."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from skipgate.judging.choices import Choices, Effect, Reported, Row
from skipgate.judging.statistics import estimate
from skipgate.reporting.canvas import (
    COLOURS,
    INK,
    OTHERS,
    SMALL,
    TITLE,
    WIDTH,
    gridded,
    save,
    summary,
)
from skipgate.results.names import size
from skipgate.results.store import Result
from skipgate.settings import MEAN_GATE

FILE = "choices.png"
BLOCKS_FILE = "choices-blocks.png"
CAPTION = (
    "Above: mean k by depth, as the paper reports it, by the default, and by each choice that was "
    "tried there. Below: each choice at the depth at which most were tried: mean k at the last "
    "epoch, and test error at the last epoch (filled) and at the best on the test set (hollow). "
    "Mean over seeds with a bar from the smallest to the largest; vertical lines are what the "
    "paper reports (dark) and the default (dashed)."
)
BLOCKS_CAPTION = (
    "k by block at {size}, the deepest network of which a choice was changed: mean over seeds, "
    "with a thin line for each seed of the default. The dark line is the mean over blocks that the "
    "paper reports; its own curve cannot be read off, and is said to be lower in the middle than "
    "at either end."
)
ABOVE = 3.4
ROW = 0.21
"""Inches of the upper panel, and of each choice in the lower ones."""
FAINT = "#BBBBBB"
DEFAULT = "default"


def captions(choices: Choices) -> dict[str, str]:
    """What the figure shows, by file name; nothing where no net with gates was varied."""
    if not any(effect.row.has_gates for effect in choices.effects):
        return {}
    return {FILE: CAPTION, BLOCKS_FILE: BLOCKS_CAPTION.format(size=size(_base(choices).spec))}


def draw_all(choices: Choices | None, folder: Path) -> None:
    """Write the figure as PNG, where there is something to draw."""
    if choices and captions(choices):
        save(_figure(choices), folder / FILE)
        save(_by_block(choices), folder / BLOCKS_FILE)


def _figure(choices: Choices) -> Figure:
    effects = _of(choices, _screened(choices))
    below = (len(effects) + 3) * ROW
    figure = plt.figure(figsize=(WIDTH, ABOVE + below), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(ABOVE, below))
    _by_size(figure.add_subplot(grid[0, :]), choices)
    gates = figure.add_subplot(grid[1, 0])
    _fill(gates, figure.add_subplot(grid[1, 1], sharey=gates), effects)
    return gridded(figure)


def _screened(choices: Choices) -> str:
    """The net with gates that most choices were tried on."""
    nets = [effect.row.net for effect in choices.effects if effect.row.has_gates]
    return max(dict.fromkeys(nets), key=nets.count)


def _of(choices: Choices, net: str) -> list[Effect]:
    """What was tried on a net, by its mean gate."""
    found = [effect for effect in choices.effects if effect.row.net == net]
    return sorted(found, key=lambda effect: _mean(effect.result))


def _by_size(panel: Axes, choices: Choices) -> None:
    """Mean k: reported, ours, and by each choice."""
    places = {row.net: place for place, (row, _) in enumerate(choices.gated)}
    lines: dict[tuple[str, ...], dict[int, Result]] = {}
    for effect in choices.effects:
        if effect.row.has_gates:
            lines.setdefault(effect.choices, {})[places[effect.row.net]] = effect.result
    for names, results in lines.items():
        x = sorted(results)
        (line,) = panel.plot(x, [_mean(results[place]) for place in x], "o-", markersize=4)
        line.set(**({"label": " + ".join(names)} if len(x) > 1 else {"color": FAINT}))
    panel.plot([], [], "o", color=FAINT, markersize=4, label="choices tried at one depth")
    ours = [_mean(result) for _, result in choices.gated]
    panel.plot(range(len(ours)), ours, "s-", color=COLOURS["gated"], label="ours, default")
    reported = [_number(row, MEAN_GATE.name).value for row, _ in choices.gated]
    panel.plot(range(len(ours)), reported, "D-", color=INK, label="reported")
    panel.set_xticks(range(len(ours)), [size(result.spec) for _, result in choices.gated])
    panel.set(ylabel="mean k")
    panel.legend(frameon=False)


def _base(choices: Choices) -> Result:
    return choices.deepest[()]


def _by_block(choices: Choices) -> Figure:
    """Draw k by block, by the default and by each choice."""
    figure, panel = plt.subplots(figsize=(WIDTH, ABOVE), layout="constrained")
    for names, result in choices.deepest.items():
        values = np.array(result.part("gates")["T"], dtype=float)
        blocks = range(1, len(values) + 1)
        if names:
            panel.plot(blocks, summary(values)[0], ".-", label=" + ".join(names))
        else:
            panel.plot(blocks, values, color=COLOURS["gated"], linewidth=0.5, alpha=0.4)
            panel.plot(blocks, summary(values)[0], "s-", color=COLOURS["gated"], label=DEFAULT)
    reported = next(row for row, result in choices.gated if result.spec == _base(choices).spec)
    panel.axhline(_number(reported, MEAN_GATE.name).value, color=INK, label="reported mean")
    panel.set(xlabel="residual block", ylabel="k")
    panel.legend(frameon=False)
    return gridded(figure)


def _fill(gates: Axes, errors: Axes, effects: Sequence[Effect]) -> None:
    """The choices of one net: its gates to the left, its errors to the right."""
    base = effects[0].base
    row = effects[0].row
    names = [DEFAULT, *(" + ".join(effect.choices) for effect in effects)]
    results = [base, *(effect.result for effect in effects)]
    key = base.measure.key
    _strip(gates, results, lambda r: r.metric(MEAN_GATE.name), _number(row, MEAN_GATE.name))
    _strip(errors, results, lambda r: r.metric(key), _number(row, key))
    _strip(errors, results, lambda r: r.metric(key, "best"), None)
    gates.set_yticks(range(len(names)), names, fontsize=SMALL)
    errors.tick_params(labelleft=False)
    gates.set_title(f"mean k, {row.title}", fontsize=TITLE)
    errors.set_title(f"{base.measure.axis}, {row.title}", fontsize=TITLE)


def _number(row: Row, metric: str) -> Reported:
    return next(number for number in row.numbers if number.metric == metric)


def _strip(
    panel: Axes,
    results: Sequence[Result],
    read: Callable[[Result], list[float | None]],
    reported: Reported | None,
) -> None:
    """A row for each net, the default in its family's colour."""
    mean, low, high = summary(np.array([read(result) for result in results], dtype=float))
    for place in range(len(results)):
        colour = COLOURS["gated"] if not place else OTHERS[1]
        panel.errorbar(
            mean[place],
            place,
            xerr=[[mean[place] - low[place]], [high[place] - mean[place]]],
            fmt="o",
            color=colour,
            markersize=4,
            elinewidth=0.8,
            markerfacecolor=colour if reported else "white",
        )
    if reported:
        panel.axvline(reported.value, color=INK, linewidth=1.4)
        panel.axvline(float(mean[0]), color=COLOURS["gated"], linewidth=1, linestyle="--")


def _mean(result: Result) -> float:
    """The mean gate over seeds."""
    found = estimate(result.metric(MEAN_GATE.name))
    return found.mean if found else float("nan")
