"""Figures that the lecture shows: He et al.'s Figure 4 and Balduzzi et al.'s Figure 6."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from skipgate.judging.judgement import Judgement
from skipgate.reporting.canvas import (
    COLOURS,
    TITLE,
    WIDTH,
    band,
    gridded,
    latest,
    logarithmic,
    points,
)
from skipgate.reporting.paper_figures.figure import (
    PaperFigure,
    by_depth,
    instead,
    nearest_depth,
)
from skipgate.results.names import line
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Crelu, Measure

HEIGHT = 3.6
LAYERS = 18, 34
"""Of He et al.'s networks."""
STYLES = "--", "-"


@dataclass(frozen=True)
class Depths(PaperFigure):
    """He et al.'s Figure 4: plain networks of two depths, and residual ones."""

    name = "fleuret-4"

    nets: dict[str, dict[int, Result]]
    measure: Measure
    deviation: str

    @classmethod
    def find(cls, study: StudyResults, judgement: Judgement) -> Self | None:
        plain, residual = (by_depth(study, kind, "train") for kind in ("plain", "residual"))
        both = [depth for depth in plain if depth in residual]
        depths = {nearest_depth(layers, both) for layers in LAYERS} if both else set()
        if len(depths) < len(LAYERS):
            return None
        nets = {
            kind: {depth: found[depth] for depth in sorted(depths)}
            for kind, found in (("plain", plain), ("residual", residual))
        }
        return cls(nets, study.measure, instead(judgement))

    def figure(self) -> Figure:
        figure, panels = plt.subplots(
            1, 2, figsize=(WIDTH, HEIGHT), layout="constrained", sharey=True
        )
        for panel, (kind, nets) in zip(panels, self.nets.items(), strict=True):
            for style, (depth, net) in zip(STYLES, nets.items(), strict=True):
                rows = latest(np.array(net.curve(self.measure.key), dtype=float)).T
                last = len(net.curve(self.measure.key)[0])
                band(panel, range(last - len(rows) + 1, last + 1), rows, COLOURS[kind], style)
                panel.plot([], [], style, color=COLOURS[kind], label=f"d = {depth}")
            panel.set_title(kind, fontsize=TITLE)
            panel.set_xlabel("epoch")
            panel.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            panel.legend(frameon=False)
        panels[0].set_ylabel(self.measure.axis)
        if self.measure.logarithmic:
            logarithmic(max(panels, key=lambda panel: panel.dataLim.y1))
        return gridded(figure)

    def caption(self) -> str:
        depths = " and ".join(f"d = {depth}" for depth in self.nets["plain"])
        return (
            "fleuret, He et al.'s Figure 4: plain networks of two depths (left), and residual ones "
            f"(right). {self.measure.label.capitalize()} by epoch, mean over the latest "
            "twentieth of all epochs (line: mean over seeds; band: smallest to largest). "
            f"Differs: multilayer networks of {depths}, the nearest that there are, instead of 18 "
            "and 34 convolutional layers on ImageNet; without the training errors, which are not "
            f"recorded. The slide's numbers cannot be read off.{self.deviation}"
        )


@dataclass(frozen=True)
class Starts(PaperFigure):
    """Balduzzi et al.'s Figure 6: accuracy by depth with and without a looks-linear start."""

    name = "fleuret-6"

    nets: dict[str, dict[int, Result]]

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        nets: dict[str, dict[int, Result]] = {}
        for result in study.having("train").values():
            body = result.spec.settings.body
            if isinstance(body, Crelu) and study.measure.name == "error":
                nets.setdefault(line(result.spec), {})[body.depth] = result
        enough = len(nets) > 1 and all(len(found) > 1 for found in nets.values())
        return cls(nets) if enough else None

    def figure(self) -> Figure:
        figure, panel = plt.subplots(figsize=(WIDTH * 0.65, HEIGHT), layout="constrained")
        for label, found in self.nets.items():
            rows = 100 - np.array([net.score() for net in found.values()], dtype=float)
            points(panel, [*found], rows, COLOURS[label])
            panel.plot([*found], np.nanmean(rows, axis=1), color=COLOURS[label], label=label)
        depths = sorted({depth for found in self.nets.values() for depth in found})
        panel.set_xticks(depths)
        panel.set(xlabel="d (layers)", ylabel="test accuracy (%)", ylim=(0, 100))
        panel.legend(frameon=False, loc="lower left")
        return gridded(figure)

    def caption(self) -> str:
        nets = [net for found in self.nets.values() for net in found.values()]
        epochs = max(len(net.curve("train_loss")[0]) for net in nets)
        return (
            "fleuret, Balduzzi et al.'s Figure 6: test accuracy by depth of CReLU networks that "
            "start looks-linear, and of those that start as usual (point: mean over seeds; bar: "
            "smallest to largest seed). The slide's numbers cannot be read off. Differs: "
            f"multilayer networks after {epochs} epochs on this study's data instead of "
            "convolutional ones on CIFAR-10."
        )
