"""gresnet's Figures 6 and 7: convolutional networks on CIFAR."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from skipgate.judging.claims.convolutional import (
    decays_k,
    differs_by_gates,
    gates_of,
    widening,
)
from skipgate.judging.claims.nets import twins, varied
from skipgate.judging.judgement import Judgement
from skipgate.reporting.canvas import (
    COLOURS,
    INK,
    OTHERS,
    TITLE,
    WIDTH,
    band,
    gridded,
    summary,
)
from skipgate.reporting.paper_figures.figure import PaperFigure, having, instead
from skipgate.results.names import size
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Measure

HEIGHT = 3.6
COLUMNS = 3
LINES = {
    "original": COLOURS["residual"],
    "gated": COLOURS["gated"],
    "gated, k decay": OTHERS[1],
}
"""The columns of v2's Table 3."""


def _title(result: Result) -> str:
    return f"{size(result.spec)}: {result.spec.net}"


@dataclass(frozen=True)
class Curves(PaperFigure):
    """Figure 6: training and test error by epoch, with and without gates and decay of k."""

    name = "gresnet-6"

    groups: list[dict[str, Result]]
    """A panel each: nets by what they are called in the legend."""
    measure: Measure
    deviation: str

    @classmethod
    def find(cls, study: StudyResults, judgement: Judgement) -> Self | None:
        measure = study.measure
        if measure.name != "error":
            return None
        known = having(study, "train", metric=measure.training_key)
        decayed = {base.spec.net: own for base, own in varied(known, decays_k)}
        groups = []
        for original, gated in twins(known, differs_by_gates):
            group = {"original": original, "gated": gated}
            own = decayed.get(gated.spec.net)
            groups.append({**group, "gated, k decay": own} if own else group)
        return cls(groups, measure, instead(judgement)) if groups else None

    def figure(self) -> Figure:
        columns = min(COLUMNS, len(self.groups))
        rows = -(-len(self.groups) // columns)
        figure, panels = plt.subplots(
            rows,
            columns,
            figsize=(WIDTH, HEIGHT * rows),
            layout="constrained",
            squeeze=False,
        )
        for panel, group in zip(panels.flat, self.groups, strict=False):
            self._panel(panel, group)
        for panel in panels.flat[len(self.groups) :]:
            panel.remove()
        panels[0][0].set_ylabel("error (%)")
        shown = dict.fromkeys(label for group in self.groups for label in group)
        handles = [Line2D([], [], color=LINES[label], label=label) for label in shown]
        handles.append(Line2D([], [], color=INK, linestyle="--", label="training"))
        handles.append(Line2D([], [], color=INK, label="test"))
        figure.legend(
            handles=handles, loc="outside lower center", ncols=len(handles), frameon=False
        )
        return gridded(figure)

    def caption(self) -> str:
        return (
            "gresnet, Figure 6 (v2): training error (dashed) and test error (solid) by epoch, of "
            "residual networks, of gated ones, and of gated ones with weight decay on k (line: "
            "mean over seeds; band: smallest to largest). The training error is that of the "
            "batches of an epoch, each before its step. The text says nothing of the curves but "
            "that they are there, and they cannot be read off: none is drawn in. Differs: several "
            f"seeds instead of one network.{self.deviation}"
        )

    def _panel(self, panel: Axes, group: dict[str, Result]) -> None:
        for label, net in group.items():
            for metric, style in ((self.measure.training_key, "--"), (self.measure.key, "-")):
                rows = np.array(net.curve(metric), dtype=float).T
                band(panel, range(1, len(rows) + 1), rows, LINES[label], style)
        panel.set_title(_title(group["gated"]), fontsize=TITLE)
        panel.set_xlabel("epoch")
        panel.xaxis.set_major_locator(MaxNLocator(6, integer=True))


@dataclass(frozen=True)
class Gates(PaperFigure):
    """Figure 7: k by residual block, with and without decay of k."""

    name = "gresnet-7"

    pairs: list[tuple[Result, Result]]
    """Gated networks, and the same with decay of k."""
    deviation: str

    @classmethod
    def find(cls, study: StudyResults, judgement: Judgement) -> Self | None:
        pairs = varied(having(study, "gates"), decays_k)
        return cls(pairs, instead(judgement)) if pairs else None

    def figure(self) -> Figure:
        figure, panels = plt.subplots(
            1, len(self.pairs), figsize=(WIDTH, HEIGHT), layout="constrained", squeeze=False
        )
        for panel, (base, own) in zip(panels[0], self.pairs, strict=True):
            for label, net in (("gated", base), ("gated, k decay", own)):
                _gates(panel, net, label)
            for place in widening(base.spec):
                panel.axvspan(place + 0.5, place + 1.5, color=INK, alpha=0.1, linewidth=0)
            panel.set_title(_title(base), fontsize=TITLE)
            panel.set_xlabel("residual block")
            panel.set_xlim(0.5, len(gates_of(base)) + 0.5)
            panel.xaxis.set_major_locator(MaxNLocator(12, integer=True))
        panels[0][0].set_ylabel("k")
        panels[0][0].legend(frameon=False)
        return gridded(figure)

    def caption(self) -> str:
        return (
            "gresnet, Figure 7 (v2): k by residual block after training, with and without weight "
            "decay on k (thick: mean over seeds; thin: each seed; stripes: blocks that give more "
            "channels than they take). By the text the lowest values are in the blocks that widen, "
            "and the peak in the last; its values cannot be read off. Differs: the paper shows "
            "one network, a Wide ResNet (4,10), and does not say whether its k decays."
            f"{self.deviation}"
        )


def _gates(panel: Axes, net: Result, label: str) -> None:
    values = gates_of(net)
    blocks = range(1, len(values) + 1)
    panel.plot(blocks, values, color=LINES[label], linewidth=0.6, alpha=0.5)
    panel.plot(blocks, summary(values)[0], ".-", color=LINES[label], label=label)
