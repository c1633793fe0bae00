"""gresnet's Figure 5, and its two tables of MNIST as a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from skipgate.judging.judgement import JudgedTable, Judgement
from skipgate.judging.verdicts import Verdict
from skipgate.reporting.canvas import COLOURS, INK, TITLE, WIDTH, gridded, summary
from skipgate.reporting.paper_figures.figure import PaperFigure, by_depth, instead, table_of
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Measure, Mlp

ERRORS = "mnist-test-error"
GATES = "mnist-mean-k"
KEPT = 0.9
"""v2's abstract: more than this share of the performance is left with half of the layers."""
TENTHS = 0.1, 0.9
HEIGHT = 3.9
FAMILIES = ("plain", "residual", "gated")
APART = 1.06
"""Families of one depth stand so far apart, as a factor on the axis."""


@dataclass(frozen=True)
class Removal(PaperFigure):
    """Figure 5: k by block, and accuracy by the number of removed layers, at the largest depth."""

    name = "gresnet-5"

    residual: Result
    gated: Result
    depth: int
    reported: float | None
    """The paper's mean k at this depth, where the two can be compared."""
    deviation: str

    @classmethod
    def find(cls, study: StudyResults, judgement: Judgement) -> Self | None:
        if study.measure.name != "error":
            return None
        residual, gated = (
            by_depth(study, kind, "gates", "prune", "train") for kind in ("residual", "gated")
        )
        depth = max((depth for depth in residual if depth in gated), default=0)
        if not depth or len(gated[depth].part("gates")["T"]) == 1:
            return None
        table = table_of(judgement, GATES)
        deviation = instead(judgement)
        cells = {v.net: v.cell.value for v in table.verdicts} if table and not deviation else {}
        reported = cells.get(gated[depth].spec.net)
        return cls(residual[depth], gated[depth], depth, reported, deviation)

    def figure(self) -> Figure:
        figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, HEIGHT), layout="constrained")
        self._gates(left)
        self._accuracy(right)
        figure.legend(loc="outside lower center", ncols=4, frameon=False)
        return gridded(figure)

    def caption(self) -> str:
        drawn = (
            " Of the paper's are drawn in the mean k (Table 3, v2 Table 2) and the abstract's more "
            f"than {100 * KEPT:g}% of the performance with half of the layers."
            if self.reported
            else ""
        )
        return (
            f"gresnet, Figure 5 (v2; v1 has the right half), at d = {self.depth}. Left: k by "
            "residual block, thin lines for each seed; recorded is max(0, k), so that a negative k "
            "shows as 0. Right: test accuracy by the number of removed layers, whole blocks of two "
            "(line: median over random orders and seeds, band from a tenth to nine tenths of them; "
            f"dashed: smallest k first, mean over seeds).{drawn} The paper's curves cannot be read "
            f"off. Differs: several seeds and orders instead of one network.{self.deviation}"
        )

    def _gates(self, panel: Axes) -> None:
        values = np.array(self.gated.part("gates")["T"], dtype=float)
        blocks = range(1, len(values) + 1)
        colour = COLOURS["gated"]
        panel.plot(blocks, values, color=colour, linewidth=0.6, alpha=0.5)
        panel.plot(blocks, summary(values)[0], ".-", color=colour, label="k, mean over seeds")
        if self.reported:
            means = {"ours": (float(np.nanmean(values)), colour), "paper's": (self.reported, INK)}
            for whose, (mean, shade) in means.items():
                label = f"mean over blocks, {whose}"
                panel.axhline(mean, color=shade, linestyle="--", linewidth=1.2, label=label)
        panel.set(xlabel="residual block", ylabel="k", ylim=(0, None))
        panel.set_title(f"k by block, d = {self.depth}", fontsize=TITLE)

    def _accuracy(self, panel: Axes) -> None:
        for kind, net in (("residual", self.residual), ("gated", self.gated)):
            part = net.part("prune")
            each = 100 - np.concatenate(list(np.array(part["random"], dtype=float)), axis=1)
            layers = _layers(net) * np.arange(len(each))
            low, median, high = np.nanquantile(each, (TENTHS[0], 0.5, TENTHS[1]), axis=1)
            panel.plot(layers, median, color=COLOURS[kind], label=f"{kind}, random")
            panel.fill_between(layers, low, high, color=COLOURS[kind], alpha=0.15, linewidth=0)
            if kind == "gated" and part["smallest"] is not None:
                greedy = 100 - summary(part["smallest"])[0]
                panel.plot(layers, greedy, "--", color=COLOURS[kind], label="gated, smallest k")
        if self.reported:
            least = KEPT * (100 - np.nanmean(np.array(self.gated.score(), dtype=float)))
            label = f"paper's: above {100 * KEPT:g}% of it"
            panel.plot(self.depth / 2, least, "^", color=INK, markersize=8, label=label)
        panel.set(xlabel="removed layers", ylabel="test accuracy (%)")
        panel.set_title(f"Layers removed, d = {self.depth}", fontsize=TITLE)


def _layers(net: Result) -> int:
    """Layers of a block."""
    body = net.spec.settings.body
    return body.layers if isinstance(body, Mlp) else 1


@dataclass(frozen=True)
class Tables(PaperFigure):
    """Tables 2 and 3 (v2: 1 and 2): test error and mean k by depth, the paper's beside ours."""

    name = "gresnet-tables"

    study: StudyResults
    errors: JudgedTable
    gates: JudgedTable
    deviation: str

    @classmethod
    def find(cls, study: StudyResults, judgement: Judgement) -> Self | None:
        errors, gates = (table_of(judgement, name) for name in (ERRORS, GATES))
        if errors is None or gates is None:
            return None
        if not any(v.ours for v in (*errors.verdicts, *gates.verdicts)):
            return None
        return cls(study, errors, gates, instead(judgement))

    def figure(self) -> Figure:
        figure = plt.figure(figsize=(WIDTH, HEIGHT + 0.5))
        grid = figure.add_gridspec(2, 2, height_ratios=(1, 3))
        grid.update(left=0.07, right=0.985, bottom=0.21, top=0.93, wspace=0.18, hspace=0.06)
        failed = figure.add_subplot(grid[0, 0])
        learnt = figure.add_subplot(grid[1, 0], sharex=failed)
        gates = figure.add_subplot(grid[:, 1])
        self._errors(failed, learnt)
        _line(gates, self._series(self.gates.verdicts, "gated"), COLOURS["gated"], 1.0)
        gates.set(ylabel="mean k", ylim=(0, None))
        gates.set_title("Mean k (Table 3, v2 Table 2)", fontsize=TITLE)
        for panel in (learnt, gates):
            self._depths(panel)
        figure.legend(handles=_legend(), loc="lower center", ncols=6, frameon=False)
        return gridded(figure)

    def caption(self) -> str:
        return (
            "gresnet, Tables 2 and 3 (v2: 1 and 2) as a figure: test error and mean k by depth. "
            "Filled: ours at the last epoch with its 95% interval over seeds; dotted: ours at the "
            "best epoch on the test set; hollow: the paper's, as printed. Networks that failed to "
            f"train stand above on an axis of their own.{self.deviation}"
        )

    def _errors(self, failed: Axes, learnt: Axes) -> None:
        """Networks that failed above, the others below; lines join those that learnt."""
        measure = self.study.measure
        shown = []
        for kind, side in zip(FAMILIES, (1 / APART, 1.0, APART), strict=True):
            series = self._series(self.errors.verdicts, kind)
            good = {depth: v for depth, v in series.items() if _has_learnt(v, measure)}
            bad = {depth: v for depth, v in series.items() if depth not in good}
            _line(learnt, good, COLOURS[kind], side)
            _points(failed, bad, COLOURS[kind], side)
            best = self._series(self.errors.at_best, kind)
            means = [_mean(best[depth]) for depth in good]
            learnt.plot([depth * side for depth in good], means, ":", color=COLOURS[kind])
            shown += [*bad]
        learnt.set_ylabel(measure.axis)
        failed.set_ylim(measure.failed, measure.bounds[1])
        failed.tick_params(axis="x", labelbottom=False)
        failed.yaxis.set_major_locator(MaxNLocator(3, prune="lower"))
        learnt.yaxis.set_major_locator(MaxNLocator(7, prune="upper"))
        failed.set_title("Test error (Table 2, v2 Table 1)", fontsize=TITLE)
        if not shown:
            failed.text(0.5, 0.5, "none failed", ha="center", transform=failed.transAxes)

    def _series(self, verdicts: Sequence[Verdict], kind: str) -> dict[int, Verdict]:
        """A family's verdicts by depth."""
        found: dict[int, Verdict] = {}
        for verdict in verdicts:
            spec = self.study.specs[verdict.net]
            body = spec.settings.body
            if isinstance(body, Mlp) and family(spec) == kind:
                found[body.depth] = verdict
        return dict(sorted(found.items()))

    def _depths(self, panel: Axes) -> None:
        depths = sorted({d for kind in FAMILIES for d in self._series(self.errors.verdicts, kind)})
        panel.set_xscale("log")
        panel.set_xticks(depths, [str(depth) for depth in depths])
        panel.minorticks_off()
        panel.set_xlabel("d (layers)")


def _has_learnt(verdict: Verdict, measure: Measure) -> bool:
    """Whether neither our network nor the paper's failed to train."""
    ours = verdict.ours is None or measure.has_learnt(verdict.ours.mean)
    return ours and measure.has_learnt(verdict.cell.value)


def _mean(verdict: Verdict) -> float:
    return verdict.ours.mean if verdict.ours else np.nan


def _line(panel: Axes, series: dict[int, Verdict], colour: str, side: float) -> None:
    """A family's numbers by depth with lines, ours and the paper's."""
    x = [depth * side for depth in series]
    panel.plot(x, [_mean(v) for v in series.values()], color=colour, linewidth=1.2)
    reported = [v.cell.value for v in series.values()]
    panel.plot(x, reported, color=colour, linewidth=1.2, linestyle="--", alpha=0.6)
    _points(panel, series, colour, side)


def _points(panel: Axes, series: dict[int, Verdict], colour: str, side: float) -> None:
    """Ours with its interval, and the paper's."""
    x = [depth * side for depth in series]
    halves = [v.ours.half if v.ours and v.ours.count > 1 else np.nan for v in series.values()]
    means = [_mean(v) for v in series.values()]
    panel.errorbar(x, means, halves, fmt="o", color=colour, markersize=5, elinewidth=1.2)
    reported = [v.cell.value for v in series.values()]
    panel.plot(x, reported, "D", color=colour, markerfacecolor="white", markersize=6)


def _legend() -> list[Line2D]:
    kinds = [Line2D([], [], color=COLOURS[kind], label=kind) for kind in FAMILIES]
    paper = Line2D([], [], color=INK, marker="D", linestyle="--", label="paper's")
    paper.set_markerfacecolor("white")
    return [
        *kinds,
        Line2D([], [], color=INK, marker="o", label="ours, last epoch"),
        Line2D([], [], color=INK, linestyle=":", label="ours, best epoch"),
        paper,
    ]
