"""Figures that the lecture shows: He et al.'s Figure 4 and Balduzzi et al.'s Figure 6."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
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
    summary,
)
from skipgate.reporting.paper_figures.figure import (
    PaperFigure,
    by_depth,
    instead,
    nearest_depth,
)
from skipgate.results.names import family, line
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Crelu, Imagenet, Measure, Mlp

HEIGHT = 3.6
LAYERS = 18, 34
"""Of He et al.'s networks."""
STYLES = "--", "-"


@dataclass(frozen=True)
class Depths(PaperFigure):
    """He et al.'s Figure 4: plain networks of two depths, and residual ones."""

    name = "fleuret-4"

    nets: dict[str, dict[str, Result]]
    """By family and size."""
    measure: Measure
    deviation: str

    @classmethod
    def find(cls, study: StudyResults, judgement: Judgement) -> Self | None:
        found = _own(study) or _multilayer(study)
        return cls(found, study.measure, instead(judgement)) if found else None

    def figure(self) -> Figure:
        figure, panels = plt.subplots(
            1, 2, figsize=(WIDTH, HEIGHT), layout="constrained", sharey=True
        )
        for panel, (kind, nets) in zip(panels, self.nets.items(), strict=True):
            for style, (label, net) in zip(STYLES, nets.items(), strict=True):
                self._curves(panel, net, COLOURS[kind], style)
                panel.plot([], [], style, color=COLOURS[kind], label=label)
            panel.set_title(kind, fontsize=TITLE)
            panel.set_xlabel("epoch")
            panel.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            panel.legend(frameon=False)
        panels[0].set_ylabel(self.measure.axis)
        if self.measure.logarithmic:
            logarithmic(max(panels, key=lambda panel: panel.dataLim.y1))
        return gridded(figure)

    def _curves(self, panel: Axes, net: Result, colour: str, style: str) -> None:
        """The test error, and the training error as a thin line where it is recorded."""
        rows = latest(np.array(net.curve(self.measure.key), dtype=float)).T
        last = len(net.curve(self.measure.key)[0])
        epochs = range(last - len(rows) + 1, last + 1)
        band(panel, epochs, rows, colour, style)
        if self._has_training(net):
            thin = latest(np.array(net.curve(self.measure.training_key), dtype=float)).T
            panel.plot(epochs, summary(thin)[0], style, color=colour, linewidth=0.6)

    def _has_training(self, net: Result) -> bool:
        return self.measure.training_key in net.part("train")["metrics"]

    def caption(self) -> str:
        nets = [net for found in self.nets.values() for net in found.values()]
        thin = (
            " Thin: training error, over the batches of an epoch."
            if any(map(self._has_training, nets))
            else ""
        )
        return (
            "fleuret, He et al.'s Figure 4: plain networks of two depths (left), and residual ones "
            f"(right). {self.measure.label.capitalize()} by epoch, mean over the latest "
            f"twentieth of all epochs (line: mean over seeds; band: smallest to largest).{thin} "
            f"Differs: {self._differs()}. The slide's numbers cannot be read off.{self.deviation}"
        )

    def _differs(self) -> str:
        residual = [net.spec.settings.body for net in self.nets["residual"].values()]
        if all(isinstance(body, Mlp) for body in residual):
            depths = " and ".join(self.nets["plain"])
            return (
                f"multilayer networks of {depths}, the nearest that there are, instead of 18 and "
                "34 convolutional layers on ImageNet; without the training errors, which are not "
                "recorded"
            )
        padded = all(getattr(body, "shortcut", "") == "pad" for body in residual)
        more = "" if padded else ", and shortcuts with parameters of their own, which its have not"
        return f"epochs instead of the slide's iterations{more}"


def _own(study: StudyResults) -> dict[str, dict[str, Result]]:
    """He et al.'s own pairs of 18 and 34 layers, where the study has all four."""
    found: dict[str, dict[str, Result]] = {"plain": {}, "residual": {}}
    for result in study.having("train").values():
        body = result.spec.settings.body
        kind = family(result.spec)
        if kind in found and isinstance(body, Imagenet) and not body.bottleneck:
            found[kind].setdefault(body.size, result)
    sizes = [f"{layers} layers" for layers in LAYERS]
    if not all(found[kind].keys() >= set(sizes) for kind in found):
        return {}
    return {kind: {label: nets[label] for label in sizes} for kind, nets in found.items()}


def _multilayer(study: StudyResults) -> dict[str, dict[str, Result]]:
    """The nearest depths of multilayer networks, where there are as many."""
    families = {kind: by_depth(study, kind, "train") for kind in ("plain", "residual")}
    both = [depth for depth in families["plain"] if depth in families["residual"]]
    depths = {nearest_depth(layers, both) for layers in LAYERS} if both else set()
    if len(depths) < len(LAYERS):
        return {}
    return {
        kind: {f"d = {depth}": nets[depth] for depth in sorted(depths)}
        for kind, nets in families.items()
    }


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
            f"{_starts_differ(nets[0], epochs)}."
        )


def _starts_differ(net: Result, epochs: int) -> str:
    body = net.spec.settings.body
    if isinstance(body, Crelu) and body.stages:
        return (
            f"depths, widths and {epochs} epochs of this project's choice, of which the slide does "
            "not tell"
        )
    return (
        f"multilayer networks after {epochs} epochs on this study's data instead of convolutional "
        "ones on CIFAR-10"
    )
