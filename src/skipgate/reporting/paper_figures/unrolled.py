"""unrolled's Figures 3 and 4."""

import base64
import io
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from skipgate.judging.claims.highways import name_of
from skipgate.judging.judgement import Judgement
from skipgate.reporting.canvas import COLOURS, INK, SMALL, TITLE, WIDTH, gridded, summary
from skipgate.reporting.paper_figures.figure import PaperFigure
from skipgate.results.names import family, size
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Imagenet
from skipgate.specs import load_probing

HEIGHT = 3.4
COLUMNS = 2
STRIP = 0.62
"""Inches of a strip of pieces, with the gap under it."""
BESIDE: dict[str, Any] = {"ha": "right", "va": "center", "size": SMALL}
"""How a label stands beside its strip."""


@dataclass(frozen=True)
class Estimates(PaperFigure):
    """Mean and standard deviation of the estimation error by block and stage."""

    name = "unrolled-3"

    nets: list[Result]

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        largest: dict[str, Result] = {}
        for result in study.having("estimation", "train").values():
            kind = result.spec.settings.body.kind
            known = largest.get(kind)
            if family(result.spec) == "residual" and _blocks(result) > 1 and result.has_learnt:
                larger = known is None or _rank(result) > _rank(known)
                largest.update({kind: result} if larger else {})
        return cls([*largest.values()]) if largest else None

    def figure(self) -> Figure:
        sides = [None, "before"] if all(map(_has_sums, self.nets)) else [None]
        figure, panels = plt.subplots(
            len(sides),
            len(self.nets),
            figsize=(WIDTH, HEIGHT * len(sides)),
            layout="constrained",
            squeeze=False,
        )
        for row, side in zip(panels, sides, strict=True):
            for net, panel in zip(self.nets, row, strict=True):
                _estimates(panel, net, side)
                where = f", {side} the last ReLU" if side else ""
                name = net.spec.net if net.is_given else f"residual, {size(net.spec)}"
                panel.set_title(f"{name}{where}", fontsize=TITLE)
                panel.set_xlabel("block")
            row[0].set_ylabel("estimation error")
        return gridded(figure)

    def caption(self) -> str:
        sums = (
            " Below: the same for sums before a block's last ReLU."
            if _has_sums(self.nets[0])
            else ""
        )
        return (
            "unrolled, Figure 3: estimation error by block and stage, a block's output less that "
            "of its stage's last block. Point: mean over test examples; bar: their standard "
            "deviation to either side; both per unit, then averaged over units and seeds."
            f"{sums} The paper's means stay near 0 but for its stage 4, and its deviations fall "
            f"within a stage; its numbers cannot be read off. Differs: {self._differs()}."
        )

    def _differs(self) -> str:
        given = [net for net in self.nets if net.is_given]
        if all(name_of(net.spec) for net in self.nets):
            return f"a network trained here, on {_images(self.nets[0])} images"
        if not given:
            return (
                "the deepest residual network of each kind that this study has, on the test "
                "examples that it was probed with, instead of a 50-layer ResNet on 5,000 images "
                "of ImageNet"
            )
        told = [f"`{net.spec.net}` on {_images(net)} images" for net in given]
        return f"{' and '.join(told)}, where the paper has 50 layers on 5,000 images of ImageNet"


@dataclass(frozen=True)
class Refinement(PaperFigure):
    """Pieces of images that excite a unit most, block by block of a stage."""

    name = "unrolled-4"

    net: Result

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        nets = study.having("patches").values()
        return max((cls(net) for net in nets), key=lambda each: _depth(each.net), default=None)

    def figure(self) -> Figure:
        part = self.net.part("patches")
        blocks = len(part["blocks"])
        rows = -(-len(part["units"]) // COLUMNS)
        size_of = (WIDTH, STRIP * rows * (blocks + 1))
        figure, panels = plt.subplots(rows * blocks, COLUMNS, figsize=size_of, squeeze=False)
        figure.subplots_adjust(0.07, 0.01, 0.99, 0.95, wspace=0.18, hspace=0.25)
        for panel in panels.flat:
            panel.set_axis_off()
        for number, strips in enumerate(part["strips"]):
            row, column = divmod(number, COLUMNS)
            panels[row * blocks][column].set_title(f"unit {part['units'][number]}", fontsize=TITLE)
            for block, strip in enumerate(strips):
                panel = panels[row * blocks + block][column]
                panel.imshow(plt.imread(io.BytesIO(base64.b64decode(strip)), format="jpeg"))
                label = f"block {part['blocks'][block] + 1}"
                panel.text(-0.02, 0.5, label, transform=panel.transAxes, **BESIDE)
        return figure

    def caption(self) -> str:
        part = self.net.part("patches")
        pieces = len(part["activations"][0][0])
        return (
            f"unrolled, Figure 4: the {pieces} pieces of test images that excite a unit most, each "
            f"out of another image, in the {len(part['blocks'])} blocks of stage "
            f"{part['stage'] + 1} of `{self.net.spec.net}`, the strongest first. The paper shows "
            "how one unit of such a network turns from light sources to highlights. Differs: the "
            "units that respond most selectively in the stage's last block instead of one chosen "
            f"by eye; {self.net.spec.settings.data.test:,} photographs instead of 50,000; without "
            "guided backpropagation."
        )


def _images(net: Result) -> str:
    """How many images the estimation errors are taken over."""
    asked = load_probing(net.spec.net).settings.images_for("estimation")
    return f"{asked or net.spec.settings.data.test:,}"


def _depth(result: Result) -> int:
    return result.spec.settings.body.count


def _rank(result: Result) -> tuple[int, bool]:
    """By which the largest network is chosen: of as many blocks, those with bottlenecks."""
    body = result.spec.settings.body
    return _blocks(result), isinstance(body, Imagenet) and body.bottleneck


def _has_sums(result: Result) -> bool:
    return "before" in result.part("estimation")


def _blocks(result: Result) -> int:
    return len(result.part("estimation")["mean"])


def _estimates(panel: Axes, net: Result, side: str | None) -> None:
    part = net.part("estimation")
    found = part[side] if side else part
    mean, deviation = (summary(found[key])[0] for key in ("mean", "deviation"))
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
