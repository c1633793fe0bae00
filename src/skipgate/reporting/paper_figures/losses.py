"""Training curves of two families beside each other: gresnet 4 and unrolled 5."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from skipgate.judging.claims.highways import HIGHWAY, RESNET, name_of
from skipgate.judging.claims.nets import is_staged, twins
from skipgate.judging.judgement import Judgement
from skipgate.reporting.canvas import (
    COLOURS,
    INK,
    MANY_TIMES,
    OTHERS,
    TITLE,
    WIDTH,
    Numbers,
    band,
    gridded,
    latest,
    plain_ticks,
)
from skipgate.reporting.paper_figures.figure import PaperFigure, by_depth, having, instead
from skipgate.results.names import family, size
from skipgate.results.store import Result, StudyResults
from skipgate.specs import Spec

HEIGHT = 4.6
FEW_EPOCHS = 10
"""With fewer, ticks would fall between them."""


@dataclass(frozen=True)
class _Losses(PaperFigure):
    """Training loss by epoch above, the ratio of two families' losses below, a column per size."""

    families: ClassVar[tuple[str, ...]]
    """The first over the second is the ratio."""
    nets: dict[str, dict[str, Result]]
    """By the title of a column, and by family."""
    deviation: str

    @classmethod
    def find(cls, study: StudyResults, judgement: Judgement) -> Self | None:
        families = {kind: by_depth(study, kind, "train") for kind in cls.families}
        first, second, *_ = families.values()
        nets = {
            f"d = {depth}": {
                kind: found[depth] for kind, found in families.items() if depth in found
            }
            for depth in first
            if depth in second
        }
        return cls(nets, instead(judgement)) if len(nets) > 1 else None

    def figure(self) -> Figure:
        figure, rows = plt.subplots(
            2,
            len(self.nets),
            figsize=(WIDTH, HEIGHT),
            sharex="col",
            sharey="row",
            squeeze=False,
            gridspec_kw={"height_ratios": (2, 1)},
        )
        for (title, nets), above, below in zip(self.nets.items(), *rows, strict=True):
            for kind, net in nets.items():
                losses = _losses(net)
                band(above, range(1, len(losses.T) + 1), losses.T, _colour(kind))
            above.set_title(title, fontsize=TITLE)
            self._ratio(below, nets)
            below.set_xlabel("epoch")
            if max(net.epochs for net in nets.values()) < FEW_EPOCHS:
                below.xaxis.set_major_locator(MaxNLocator(integer=True))
        _scale(rows[0])
        _scale(rows[1])
        rows[0][0].set_ylabel("training loss")
        rows[1][0].set_ylabel(" /\n".join(self.families[:2]))
        kinds = dict.fromkeys((*self.families, *(k for nets in self.nets.values() for k in nets)))
        handles = [Line2D([], [], color=_colour(kind), label=kind) for kind in kinds]
        figure.legend(handles=handles, loc="lower center", ncols=len(handles), frameon=False)
        figure.subplots_adjust(0.08, 0.18, 0.985, 0.93, wspace=0.08, hspace=0.08)
        return gridded(figure)

    def _ratio(self, panel: Axes, nets: dict[str, Result]) -> None:
        """How far apart the curves are, seed by seed."""
        over, under = (_losses(nets[kind]) for kind in self.families[:2])
        seeds, epochs = np.minimum(over.shape, under.shape)
        ratio = latest(over[:seeds, :epochs]) / latest(under[:seeds, :epochs])
        band(panel, range(epochs - ratio.shape[1] + 1, epochs + 1), ratio.T, INK)
        panel.axhline(1, color=COLOURS[self.families[1]], linewidth=1, linestyle="--")


class GresnetLosses(_Losses):
    """Figure 4 of gresnet."""

    name = "gresnet-4"
    families = ("residual", "gated", "plain")

    def caption(self) -> str:
        return (
            "gresnet, Figure 4 of both versions: cross-entropy on the training set by epoch for "
            "plain, residual and gated networks (line: mean over seeds; band: smallest to "
            "largest). Below, the distance between the curves, which the text says grows with "
            "depth: the residual network's loss over the gated one's, mean over the latest "
            "twentieth of all epochs; above 1 the gated network is ahead. No curve of the paper's "
            "can be read off its text, so none is drawn in; whether its axis is logarithmic is not "
            f"said.{self.deviation}"
        )


class UnrolledLosses(_Losses):
    """Figure 5 of unrolled."""

    name = "unrolled-5"
    families = ("residual", "highway")

    @classmethod
    def find(cls, study: StudyResults, judgement: Judgement) -> Self | None:
        """Multilayer networks of several depths; where there are none, convolutional ones."""
        known = having(study, "train")
        nets = _large(known) or _staged(known)
        deviation = instead(judgement)
        return super().find(study, judgement) or (cls(nets, deviation) if nets else None)

    def caption(self) -> str:
        return (
            "unrolled, Figure 5: training loss by epoch of residual and highway networks (line: "
            "mean over seeds; band: smallest to largest). The text says that the residual network "
            "fits better at the end: below, its loss over the highway network's, mean over the "
            "latest twentieth of all epochs, would then be below 1. No curve of the paper's can be "
            f"read off. Differs: {self._differs()}.{self.deviation}"
        )

    def _differs(self) -> str:
        specs = [net.spec for nets in self.nets.values() for net in nets.values()]
        if all(map(name_of, specs)):
            return (
                "Highway-Full is drawn too; without batch normalisation the text says the reverse"
            )
        if all(map(is_staged, specs)):
            return (
                "smaller networks with batch normalisation instead of 50-layer ones on ImageNet "
                "with and without; the highway network has more parameters than the residual one, "
                "the paper's as many"
            )
        return (
            "multilayer networks with batch normalisation instead of 50-layer convolutional ones "
            "on ImageNet with and without"
        )


def _large(study: StudyResults) -> dict[str, dict[str, Result]]:
    """The paper's own networks, a column with and one without batch normalisation."""
    words = {RESNET: "residual", HIGHWAY: "highway"}
    found: dict[str, dict[str, Result]] = {}
    for net, result in study.results.items():
        name = name_of(study.specs[net])
        if name is not None:
            found.setdefault(name[1], {})[words.get(name[0], name[0])] = result
    return {title: nets for title, nets in found.items() if nets.keys() >= {*words.values()}}


def _staged(study: StudyResults) -> dict[str, dict[str, Result]]:
    """Convolutional networks that differ by their gates alone."""

    def alike(one: Spec, other: Spec) -> bool:
        same = one.settings.body == other.settings.body
        return same and (family(one), family(other)) == ("residual", "highway")

    found = twins(study, alike)
    return {size(r.spec): {"residual": r, "highway": h} for r, h in found}


def _colour(kind: str) -> str:
    return COLOURS.get(kind, OTHERS[0])


def _losses(net: Result) -> Numbers:
    """As [seed][epoch]."""
    return np.array(net.curve("train_loss"), dtype=float)


def _scale(row: Iterable[Axes]) -> None:
    """One logarithmic axis for a row, by its widest panel."""
    panels = list(row)
    ends = [(panel.dataLim.minposy, panel.dataLim.y1) for panel in panels]
    widest = max(high for _, high in ends) / min(low for low, _ in ends)
    panels[0].set_yscale("log")
    plain_ticks(panels[0].yaxis, wide=widest > MANY_TIMES)
