"""epsilon-ResNet's Figures 1, 5, 9 and 10: what becomes of the blocks of a network."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from skipgate.judging.claims.discards import deciding
from skipgate.judging.claims.nets import blocks_of
from skipgate.judging.judgement import Judgement
from skipgate.reporting.canvas import COLOURS, INK, OTHERS, SMALL, TITLE, WIDTH, band, gridded
from skipgate.reporting.paper_figures.figure import PaperFigure, having
from skipgate.results import turns
from skipgate.results.discards import (
    COMPRESSED,
    WHOLE,
    Numbers,
    by_stage,
    epsilon_of,
    has_record,
    layers_of,
    pair,
    records,
    strict,
)
from skipgate.results.store import Result, StudyResults

HEIGHT = 3.2
ROW = 0.55
"""Inches of a seed's row of layers."""
BAR = 0.38
PANELS = 4
"""Networks that fit side by side."""
KEPT = COLOURS["residual"]
GONE = COLOURS["gated"]
"""The paper's blue and red."""
PERCENTILES = {
    "100": ("maximum", COLOURS["gated"]),
    "93": ("93rd percentile", COLOURS["stochastic depth"]),
    "50": ("median", INK),
    "7": ("7th percentile", COLOURS["scalar-gated layer"]),
    "0": ("minimum", COLOURS["residual"]),
}
CHOSEN = (
    "Of networks that differ by ε alone, the one of the smallest at which over a fifth of the "
    "blocks goes is shown."
)


def known(study: StudyResults) -> StudyResults:
    """The nets of a study that have been asked what they discard."""
    return having(study, "train", "identity")


def differs(nets: Sequence[Result], paper: str) -> str:
    """What a figure has instead of the paper's networks, as the end of a sentence."""
    layers = sorted({layers_of(net.spec) for net in nets})
    data = ", ".join(dict.fromkeys(net.spec.dataset for net in nets))
    depths = " and ".join(map(str, layers)) if len(layers) < 3 else f"{layers[0]} to {layers[-1]}"
    return f"several seeds of {depths} layers on {data}; the paper has {paper}, one network of each"


def titled(net: Result) -> str:
    """A network by its name, depth and epsilon."""
    return f"{net.spec.net}: {layers_of(net.spec)} layers, ε = {epsilon_of(net.spec):g}"


@dataclass(frozen=True)
class Picture(PaperFigure):
    """Figure 1: the layers of a network, those of discarded blocks in red."""

    name = "epsilon-1"

    net: Result

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        nets = [net for net in deciding(known(study)) if np.nansum(strict(net))]
        deepest = max(nets, key=lambda net: layers_of(net.spec), default=None)
        return cls(deepest) if deepest else None

    def figure(self) -> Figure:
        seeds = self.net.spec.seeds
        figure, panels = plt.subplots(
            seeds, 1, figsize=(WIDTH, ROW * seeds + 1.1), layout="constrained", squeeze=False
        )
        for seed, panel in enumerate(panels[:, 0]):
            self._layers(panel, seed)
        panels[-1][0].set_xlabel("from the input (left) to the output (right)", fontsize=SMALL)
        figure.suptitle(titled(self.net), fontsize=TITLE)
        handles = [
            Line2D([], [], color=colour, linewidth=2, label=label)
            for label, colour in (("needed", KEPT), ("can be pruned", GONE))
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
        return figure

    def _layers(self, panel: Axes, seed: int) -> None:
        gone = strict(self.net)[:, seed]
        each = (layers_of(self.net.spec) - 2) // len(gone)
        shades = [KEPT, *(GONE if g else KEPT for g in gone for _ in range(each)), KEPT]
        panel.vlines(range(len(shades)), 0, 1, colors=shades, linewidth=self._thickness(shades))
        stages = self.net.part("identity")["stage"]
        for place in range(1, len(stages)):
            if stages[place] != stages[place - 1]:
                panel.axvline(each * place + 0.5, color=INK, linewidth=0.8, linestyle=":")
        panel.set(xticks=[], yticks=[], xlim=(-1, len(shades)), ylim=(-0.1, 1.1))
        panel.set_ylabel(f"seed {seed}", rotation=0, ha="right", va="center", fontsize=SMALL)
        panel.spines[:].set_visible(False)
        panel.set_title(self._told(seed), fontsize=SMALL, loc="right", pad=2)

    @staticmethod
    def _thickness(shades: Sequence[str]) -> float:
        return float(np.clip(240 / len(shades), 0.4, 4))

    def _told(self, seed: int) -> str:
        whole, left = pair(self.net, "layers")[:, seed]
        if np.isnan(whole):
            return "failed"
        errors = pair(self.net, "errors")[:, seed]
        unit = self.net.measure.unit
        return (
            f"{whole:.0f} to {left:.0f} layers, {whole / left:.1f} times fewer; "
            f"{self.net.measure.label} {errors[WHOLE]:.2f}{unit} and {errors[COMPRESSED]:.2f}{unit}"
        )

    def caption(self) -> str:
        return (
            "epsilon, Figure 1: the layers of a network from input to output, red where they "
            "can be pruned, because their block's gate stays shut over the whole training set, and "
            "blue where they are needed; dotted: a new stage. Above each seed its compression, and "
            f"its error before and after it. {CHOSEN} The paper has 3.2 times fewer layers, and "
            "24.8% and 23.8%. Differs: "
            f"{differs([self.net], '752 layers on CIFAR-100')}."
        )


@dataclass(frozen=True)
class Weights(PaperFigure):
    """Figure 5: the weights of a block that becomes an identity, by epoch."""

    name = "epsilon-5"

    net: Result
    seed: int
    block: int

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        """The block that has been shut for longest, of the nets that decide."""
        found = [
            (shut[-1], net, seed, block)
            for net in deciding(known(study))
            if has_record(net)
            for seed, block, shut in _shut_to_the_end(net)
        ]
        if not found:
            return None
        return cls(*min(found, key=lambda each: each[0])[1:])

    def figure(self) -> Figure:
        record = records(self.net)[self.seed] or {}
        figure, panel = plt.subplots(figsize=(WIDTH * 0.65, HEIGHT + 0.4), layout="constrained")
        epochs = np.array(record["epochs"]) + 1
        for percentile, (label, colour) in PERCENTILES.items():
            rows = record["percentiles"][percentile][self.block]
            panel.plot(epochs, np.array(rows, dtype=float), color=colour, label=label)
        shut = record["shut"][self.block][-1] + 1
        panel.axvline(shut, color=INK, linestyle=":", label="shut from here on")
        panel.set(xlabel="epoch", ylabel="weight")
        panel.set_title(f"{titled(self.net)}, block {self.block + 1}", fontsize=TITLE)
        panel.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        figure.legend(loc="outside right center", frameon=False)
        return gridded(figure)

    def caption(self) -> str:
        return (
            "epsilon, Figure 5: the weights of a block that becomes a strict identity, by epoch: "
            f"largest, smallest and percentiles (seed {self.seed}; of all blocks and seeds the "
            "first that was shut for good). By the text they collapse to zeros once the block is "
            "identified as unnecessary; from then on nothing but decay acts on them, and how far "
            "they fall depends on how long the training goes on. The paper's curves cannot be read "
            "off. Differs: all maps of the block instead of one layer; "
            f"{layers_of(self.net.spec)} layers on {self.net.spec.dataset}, while the paper does "
            "not say which network it shows."
        )


def _shut_to_the_end(net: Result) -> Iterator[tuple[int, int, list[int]]]:
    """Seed, block and turns of each block that is shut at the last epoch."""
    for seed, record in enumerate(records(net)):
        for block, shut in enumerate(record["shut"] if record else ()):
            if turns.is_on(shut):
                yield seed, block, shut


@dataclass(frozen=True)
class ByEpoch(PaperFigure):
    """Figure 9: the discarded ratio by epoch."""

    name = "epsilon-9"

    nets: list[Result]

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        nets = [net for net in deciding(known(study)) if has_record(net)]
        return cls(nets) if nets else None

    def figure(self) -> Figure:
        figure, panel = plt.subplots(figsize=(WIDTH * 0.65, HEIGHT + 0.4), layout="constrained")
        for net, colour in zip(self.nets, shades(len(self.nets)), strict=True):
            rows = 100 * np.array(net.curve("discarded"), dtype=float).T / blocks_of(net.spec)
            band(panel, range(1, len(rows) + 1), rows, colour)
            panel.plot([], [], color=colour, label=titled(net))
        panel.set(xlabel="epoch", ylabel="discarded (% of blocks)")
        panel.set_ylim(bottom=0)
        panel.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=SMALL)
        return gridded(figure)

    def caption(self) -> str:
        return (
            "epsilon, Figure 9: share of blocks whose gate is shut for every mini-batch of an "
            f"epoch, by epoch (line: mean over seeds; band: smallest to largest). {CHOSEN} By the "
            "text the share rises and gradually saturates; the paper's curves cannot be read off. "
            f"Differs: {differs(self.nets, '752 layers on CIFAR-10 and CIFAR-100')}."
        )


def shades(count: int) -> list[str]:
    """As many colours as networks are drawn into one panel; they come again after a few."""
    every = (COLOURS["epsilon"], *OTHERS[:3], COLOURS["highway"], COLOURS["residual"])
    return [every[i % len(every)] for i in range(count)]


@dataclass(frozen=True)
class Discarded(PaperFigure):
    """Figure 10: share of blocks kept and discarded, by group of blocks at the same resolution."""

    name = "epsilon-10"

    nets: list[Result]

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        nets = deciding(known(study))[:PANELS] or [
            result
            for result in study.having("gates", "lesion").values()
            if result.spec.settings.T.gate == "epsilon"
        ]
        return cls(nets) if nets else None

    def figure(self) -> Figure:
        across = WIDTH * (0.6 if len(self.nets) < 3 else 1)
        figure, panels = plt.subplots(
            1, len(self.nets), figsize=(across, HEIGHT), layout="constrained", squeeze=False
        )
        for net, panel in zip(self.nets, panels[0], strict=True):
            _groups(panel, _discarded(net))
            panel.set_title(net.spec.net, fontsize=TITLE)
        panels[0][0].set_ylabel("blocks of the group (%)")
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        return gridded(figure)

    def caption(self) -> str:
        over = "the training set" if self.nets[0].has("identity") else "every test example"
        return (
            "epsilon, Figure 10: share of blocks that are kept and that are discarded, by group of "
            "blocks at the same resolution (bar: mean over seeds; dots: each seed). A block is "
            f"discarded if its gate stays shut over {over}. The paper's shares cannot be "
            "read off; its text says that more is discarded close to the output. Differs: "
            f"{differs(self.nets, '110 to 752 layers on CIFAR-10 and CIFAR-100')}."
        )


def _discarded(net: Result) -> Numbers:
    """Share of each group's blocks in %, [group][seed]."""
    if net.has("identity"):
        return 100 * by_stage(net)
    shut = np.array(net.part("gates")["T"], dtype=float) == 0
    stages = np.array(net.part("lesion")["stage"])
    return np.array([100 * shut[stages == group].mean(0) for group in np.unique(stages)])


def _groups(panel: Axes, discarded: Numbers) -> None:
    looks = {"kept": (-1, 100 - discarded, "highway"), "discarded": (1, discarded, "residual")}
    places = np.arange(1, len(discarded) + 1)
    for label, (side, shares, shade) in looks.items():
        x = places + side * BAR / 2
        panel.bar(x, np.nanmean(shares, axis=1), BAR, color=COLOURS[shade], label=label)
        spread = np.linspace(-BAR / 4, BAR / 4, shares.shape[1])
        for place, row in zip(x, shares, strict=True):
            panel.plot(place + spread, row, ".", color=INK, markersize=5)
    panel.set_xticks(places, [f"group {group}" for group in places])
    panel.set_ylim(0, 105)
