"""epsilon-ResNet's Figure 10."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from skipgate.judging.judgement import Judgement
from skipgate.reporting.canvas import COLOURS, INK, TITLE, WIDTH, gridded
from skipgate.reporting.paper_figures.figure import PaperFigure
from skipgate.results.store import Result, StudyResults

HEIGHT = 3.2
BAR = 0.38


@dataclass(frozen=True)
class Discarded(PaperFigure):
    """Share of blocks kept and discarded, by group of blocks at the same resolution."""

    name = "epsilon-10"

    nets: list[Result]

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        nets = [
            result
            for result in study.having("gates", "lesion").values()
            if result.spec.settings.T.gate == "epsilon"
        ]
        return cls(nets) if nets else None

    def figure(self) -> Figure:
        figure, panels = plt.subplots(
            1, len(self.nets), figsize=(WIDTH * 0.6, HEIGHT), layout="constrained", squeeze=False
        )
        for net, panel in zip(self.nets, panels[0], strict=True):
            _groups(panel, net)
            panel.set_title(net.spec.net, fontsize=TITLE)
        panels[0][0].set_ylabel("blocks of the group (%)")
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        return gridded(figure)

    def caption(self) -> str:
        return (
            "epsilon, Figure 10: share of blocks that are kept and that are discarded, by group of "
            "blocks at the same resolution (bar: mean over seeds; dots: each seed). A block is "
            "discarded if its gate is shut on every test example. The paper's shares cannot be "
            "read off; its text says that more is discarded close to the output. Differs: one "
            "small network on digits without side supervision instead of 110 to 752 layers on "
            "CIFAR-10 and CIFAR-100 with it."
        )


def _groups(panel: Axes, net: Result) -> None:
    shut = np.array(net.part("gates")["T"], dtype=float) == 0
    stages = np.array(net.part("lesion")["stage"])
    groups = np.unique(stages)
    discarded = np.array([100 * shut[stages == group].mean(0) for group in groups])
    looks = {"kept": (-1, 100 - discarded, "highway"), "discarded": (1, discarded, "residual")}
    for label, (side, shares, shade) in looks.items():
        x = np.arange(1, len(groups) + 1) + side * BAR / 2
        panel.bar(x, shares.mean(1), BAR, color=COLOURS[shade], label=label)
        spread = np.linspace(-BAR / 4, BAR / 4, shares.shape[1])
        for place, row in zip(x, shares, strict=True):
            panel.plot(place + spread, row, ".", color=INK, markersize=5)
    panel.set_xticks(range(1, len(groups) + 1), [f"group {group + 1}" for group in groups])
    panel.set_ylim(0, 105)
