"""Veit et al.'s lesions and shuffles, of which unrolled (section 2) and the lecture tell."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from skipgate.judging.claims.nets import deepest, like
from skipgate.judging.judgement import Judgement
from skipgate.reporting.canvas import COLOURS, INK, TITLE, WIDTH, Numbers, gridded
from skipgate.reporting.paper_figures.figure import PaperFigure
from skipgate.results.by_image import over_images
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults

HEIGHT = 3.8
INTERVAL = 2.5, 97.5
ONE_DRAW = "Bars: 95% over images drawn again; each network is one draw."


@dataclass(frozen=True)
class Lesions(PaperFigure):
    """Error without each layer or block, of a plain and of a residual network."""

    name = "veit-lesions"

    nets: list[Result]

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        if not study.is_given:
            return None
        known = _having(study, "lesion")
        plain = deepest(known, "plain", learnt=True)
        beside = like(known, plain, "residual") if plain else None
        return cls([plain, beside]) if plain and beside else None

    def figure(self) -> Figure:
        figure, panel = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
        for net in self.nets:
            rows = np.array(net.part("lesion")["without"], dtype=float)[:, 0]
            places = np.arange(1, len(rows) + 1)
            again = np.array(over_images(net).part("lesion")["without"], dtype=float)
            colour = COLOURS[family(net.spec)]
            known = np.isfinite(rows)
            label = f"{net.spec.net} ({family(net.spec)})"
            panel.errorbar(
                places[known],
                rows[known],
                _bars(rows[known], again[known]),
                fmt="o-",
                color=colour,
                markersize=4,
                elinewidth=1,
                label=label,
            )
            panel.axhline(net.part("lesion")["whole"][0], color=colour, linestyle=":", linewidth=1)
            for place in _begins(net):
                panel.axvline(place, color=colour, alpha=0.25, linewidth=4)
        panel.axhline(self.nets[0].measure.guessing, color=INK, linewidth=1)
        panel.set(xlabel="layer or block removed", ylabel=self.nets[0].measure.axis, ylim=(0, 100))
        panel.xaxis.set_major_locator(MaxNLocator(15, integer=True))
        panel.legend(frameon=False, loc="center right")
        return gridded(figure)

    def caption(self) -> str:
        names = " and ".join(f"`{net.spec.net}`" for net in self.nets)
        return (
            "Veit et al., told in unrolled section 2 and the lecture: test error after one layer "
            f"of a plain network, or one block of a residual one, is removed ({names}). Dotted: "
            "the whole networks; grey line: guessing; pale stripes: blocks of the residual network "
            "that begin a stage. Layers of the plain network that change the shape cannot be "
            f"removed and are left out. {ONE_DRAW} Veit et al.'s curves cannot be read off."
        )


@dataclass(frozen=True)
class Shuffles(PaperFigure):
    """Error against how much of the order is left."""

    name = "veit-shuffles"

    nets: list[Result]

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        nets = [
            result
            for result in study.having("shuffle").values()
            if family(result.spec) == "residual" and len(set(result.part("shuffle")["tau"])) > 2
        ]
        return cls(nets) if nets and study.is_given else None

    def figure(self) -> Figure:
        figure, panels = plt.subplots(
            1, len(self.nets), figsize=(WIDTH, HEIGHT), layout="constrained", squeeze=False
        )
        for net, panel in zip(self.nets, panels[0], strict=True):
            part = net.part("shuffle")
            again = np.array(over_images(net).part("shuffle")["errors"], dtype=float)
            errors = np.array(part["errors"], dtype=float)[:, 0]
            bars = _bars(errors, again)
            colour = COLOURS["residual"]
            panel.errorbar(part["tau"], errors, bars, fmt="o", color=colour, markersize=4)
            for kind, marker in (("full", "x"), ("reversed", "s")):
                values = np.array(part[kind]["errors"], dtype=float)[:, 0]
                panel.plot(part[kind]["tau"], values, marker, color=INK, label=kind)
            panel.set_title(net.spec.net, loc="left", fontsize=TITLE)
            panel.set(xlabel="Kendall's tau", ylim=(0, 102))
            panel.legend(frameon=False, loc="lower left")
        panels[0][0].set_ylabel(self.nets[0].measure.axis)
        return gridded(figure)

    def caption(self) -> str:
        names = ", ".join(f"`{net.spec.net}`" for net in self.nets)
        return (
            "Veit et al., told in unrolled section 2: test error after blocks have traded places "
            f"within their stage, against the order that is left ({names}). Dots: after more and "
            f"more swaps; crosses: whole shuffles; square: each stage reversed. {ONE_DRAW} Veit et "
            "al. shuffle a 110-layer ResNet; their points cannot be read off."
        )


def _having(study: StudyResults, kind: str) -> StudyResults:
    """The study as if it had only the nets with this part."""
    known = study.having(kind)
    specs = {net: spec for net, spec in study.specs.items() if net in known}
    return StudyResults(study.name, study.measure, specs, known, {})


def _bars(values: Numbers, again: Numbers) -> Numbers:
    """How far the interval over images reaches below and above."""
    low, high = np.percentile(again, INTERVAL, axis=1)
    bars: Numbers = np.maximum(np.stack([values - low, high - values]), 0)
    return bars


def _begins(net: Result) -> list[int]:
    """Blocks of a residual network that begin a later stage, from 1."""
    stages = net.part("lesion")["stage"]
    if family(net.spec) != "residual":
        return []
    return [i + 1 for i in range(1, len(stages)) if stages[i] != stages[i - 1]]
