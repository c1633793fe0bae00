"""unrolled's Figure 3."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from skipgate.judging.judgement import Judgement
from skipgate.reporting.canvas import COLOURS, INK, SMALL, TITLE, WIDTH, gridded, summary
from skipgate.reporting.paper_figures.figure import PaperFigure
from skipgate.results.names import family, size
from skipgate.results.store import Result, StudyResults

HEIGHT = 3.4


@dataclass(frozen=True)
class Estimates(PaperFigure):
    """Mean and standard deviation of the estimation error by block and stage."""

    name = "unrolled-3"

    nets: list[Result]

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        largest: dict[str, Result] = {}
        for result in study.having("estimation", "train").values():
            blocks = _blocks(result)
            kind = result.spec.settings.body.kind
            known = largest.get(kind)
            if family(result.spec) == "residual" and blocks > 1 and result.has_learnt:
                largest[kind] = result if known is None or blocks > _blocks(known) else known
        return cls([*largest.values()]) if largest else None

    def figure(self) -> Figure:
        figure, panels = plt.subplots(
            1, len(self.nets), figsize=(WIDTH, HEIGHT), layout="constrained", squeeze=False
        )
        for net, panel in zip(self.nets, panels[0], strict=True):
            _estimates(panel, net)
            panel.set_title(f"residual, {size(net.spec)}", fontsize=TITLE)
            panel.set_xlabel("block")
        panels[0][0].set_ylabel("estimation error")
        return gridded(figure)

    def caption(self) -> str:
        return (
            "unrolled, Figure 3: estimation error by block and stage, a block's output less that "
            "of its stage's last block. Point: mean over test examples; bar: their standard "
            "deviation to either side; both per unit, then averaged over units and seeds. The "
            "paper's means stay near 0 but for its stage 4, and its deviations fall within a "
            "stage; its numbers cannot be read off. Differs: the deepest residual network of each "
            "kind that this study has, on the test examples that it was probed with, instead of a "
            "50-layer ResNet on 5,000 images of ImageNet."
        )


def _blocks(result: Result) -> int:
    return len(result.part("estimation")["mean"])


def _estimates(panel: Axes, net: Result) -> None:
    part = net.part("estimation")
    mean, deviation = (summary(part[key])[0] for key in ("mean", "deviation"))
    blocks = np.arange(1, len(mean) + 1)
    colour = COLOURS["residual"]
    panel.errorbar(blocks, mean, deviation, fmt="o", color=colour, markersize=4, elinewidth=1.2)
    panel.axhline(0, color=INK, linewidth=1)
    stages = np.array(part["stage"])
    for stage in np.unique(stages):
        own = blocks[stages == stage]
        if stage % 2:
            panel.axvspan(own[0] - 0.5, own[-1] + 0.5, color=INK, alpha=0.07, linewidth=0)
        if len(np.unique(stages)) > 1:
            panel.text(
                own.mean(),
                0.97,
                f"stage {stage + 1}",
                transform=panel.get_xaxis_transform(),
                ha="center",
                va="top",
                size=SMALL,
            )
    panel.set_xlim(0.5, len(mean) + 0.5)
