"""epsilon-ResNet's Figures 3, 6, 7 and 8: networks of several depths and epsilons."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from skipgate.judging.claims.discards import but_depth, but_rates, deciding, depths_of, sweeps
from skipgate.judging.judgement import Judgement
from skipgate.reporting.canvas import COLOURS, OTHERS, TITLE, WIDTH, gridded, points, summary
from skipgate.reporting.paper_figures.epsilon import CHOSEN, differs, known, shades
from skipgate.reporting.paper_figures.figure import PaperFigure, having
from skipgate.results.discards import COMPRESSED, WHOLE, epsilon_of, layers_of, pair, share, side_of
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Measure, Resnet

HEIGHT = 3.2
BAR = 0.38
ENOUGH = 4
"""Depths that make a family of networks with more and more layers."""
TRIED = "110 to 752 layers on CIFAR, 100 to 302 on SVHN, 101 and 152 on ImageNet"
EPSILON = "ε-ResNet"
LINES = {
    "ResNet": COLOURS["residual"],
    "ResNet, side supervision": OTHERS[1],
    EPSILON: COLOURS["epsilon"],
}
ByDepth = dict[int, Result]


def _line(panel: Axes, rows: Mapping[Any, Sequence[float | None]], colour: str, label: str) -> None:
    """Means over seeds with their range, by what stands on the axis, joined by a line."""
    values = np.array([*rows.values()], dtype=float)
    points(panel, [*rows], values, colour)
    panel.plot([*rows], summary(values)[0], color=colour, label=label)


@dataclass(frozen=True)
class Depths(PaperFigure):
    """Figure 3: the error of pre-activation ResNets by depth."""

    name = "epsilon-3"

    nets: ByDepth
    measure: Measure

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        trained = having(study, "train")
        for group in depths_of(trained):
            bodies = [spec.settings.body for spec in group.values()]
            pre = all(isinstance(body, Resnet) and body.order == "pre" for body in bodies)
            if pre and len(group) >= ENOUGH:
                nets = {layers: trained.results[spec.net] for layers, spec in group.items()}
                return cls(nets, study.measure)
        return None

    def figure(self) -> Figure:
        figure, panel = plt.subplots(figsize=(WIDTH * 0.65, HEIGHT), layout="constrained")
        _line(panel, {n: net.score() for n, net in self.nets.items()}, LINES["ResNet"], "ResNet")
        panel.set(xlabel="layers", ylabel=self.measure.axis, xticks=[*self.nets])
        return gridded(figure)

    def caption(self) -> str:
        nets = [*self.nets.values()]
        side = ", trained with side supervision" if side_of(nets[0].spec) else ""
        return (
            "epsilon, Figure 3: test error of full pre-activation ResNets by their number of "
            f"layers{side} (point: mean over seeds; bar: smallest to largest). The paper names two "
            "of its points, 5.66% at 200 layers and 5.96% at 254. Differs: "
            f"{differs(nets, '100 to 300 layers on CIFAR-10')}."
        )


@dataclass(frozen=True)
class Errors(PaperFigure):
    """Figure 6: errors by depth above, the discarded ratio below, a column for each data set."""

    name = "epsilon-6"

    nets: dict[str, dict[str, ByDepth]]
    """By data set and line."""
    measure: Measure

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        found = {
            data: {EPSILON: nets, **_residual(having(study, "train"), nets)}
            for data, nets in _by_data(study).items()
        }
        return cls(found, study.measure) if found else None

    def figure(self) -> Figure:
        figure, panels = _columns(2, len(self.nets))
        for (data, lines), above, below in zip(self.nets.items(), *panels, strict=True):
            for label in (label for label in LINES if label in lines):
                rows = {n: net.score() for n, net in lines[label].items()}
                _line(above, rows, LINES[label], label)
            ratios = {n: _percent(share(net)) for n, net in lines[EPSILON].items()}
            _line(below, ratios, LINES[EPSILON], EPSILON)
            above.set_title(data, fontsize=TITLE)
            below.set(xlabel="layers", ylim=(0, 100))
            for panel in (above, below):
                panel.set_xticks([*lines[EPSILON]])
        panels[0][0].set_ylabel(self.measure.axis)
        panels[1][0].set_ylabel("discarded (% of blocks)")
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        return gridded(figure)

    def caption(self) -> str:
        nets = [net for lines in self.nets.values() for net in lines[EPSILON].values()]
        return (
            "epsilon, Figure 6: test error by number of layers (above) of ResNets, of ResNets with "
            "side supervision and of ε-ResNets, and the share of blocks that the last discard "
            f"(below; point: mean over seeds; bar: smallest to largest). {CHOSEN} The paper's "
            "points cannot be read off. Differs: blocks are counted, not layers; "
            f"{differs(nets, TRIED)}."
        )


def _by_data(study: StudyResults) -> dict[str, ByDepth]:
    """The nets that decide by data set and depth, where there are several depths.

    Of several of the same depth the first is taken.
    """
    found: dict[str, ByDepth] = {}
    for net in deciding(known(study)):
        found.setdefault(net.spec.dataset, {}).setdefault(layers_of(net.spec), net)
    return {data: dict(sorted(nets.items())) for data, nets in found.items() if len(nets) > 1}


def _residual(study: StudyResults, nets: ByDepth) -> dict[str, ByDepth]:
    """Residual networks of the same depths, bodies and data, with side supervision or without."""
    like = next(iter(nets.values())).spec
    found: dict[str, ByDepth] = {}
    for net, result in study.results.items():
        spec = result.spec
        same = but_depth(spec)[0] == but_depth(like)[0] and but_rates(spec) == but_rates(like)
        if family(spec) == "residual" and spec.dataset == like.dataset and same:
            label = "ResNet, side supervision" if side_of(spec) else "ResNet"
            if layers_of(spec) in nets:
                found.setdefault(label, {}).setdefault(layers_of(spec), study.results[net])
    return {label: dict(sorted(each.items())) for label, each in found.items()}


def _columns(rows: int, columns: int) -> tuple[Figure, list[list[Axes]]]:
    figure, panels = plt.subplots(
        rows,
        columns,
        figsize=(WIDTH * (0.6 if columns == 1 else 1), HEIGHT * (0.4 + 0.6 * rows)),
        layout="constrained",
        squeeze=False,
    )
    return figure, panels.tolist()


def _percent(shares: Sequence[float | None]) -> list[float | None]:
    return [None if each is None else 100 * each for each in shares]


@dataclass(frozen=True)
class Memory(PaperFigure):
    """Figure 7: the memory of the parameters, whole and compressed, by depth."""

    name = "epsilon-7"

    nets: dict[str, ByDepth]
    """By data set."""

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        found = _by_data(study)
        return cls(found) if found else None

    def figure(self) -> Figure:
        figure, panels = _columns(1, len(self.nets))
        for panel, (data, nets) in zip(panels[0], self.nets.items(), strict=True):
            places = np.arange(len(nets))
            sizes = np.array([pair(net, "memory") for net in nets.values()]) / 1000
            looks = ((WHOLE, "standard", "residual"), (COMPRESSED, "reduced", "epsilon"))
            for network, label, shade in looks:
                x = places + (network - 0.5) * BAR
                mean, low, high = summary(sizes[:, network])
                panel.bar(x, mean, BAR, color=COLOURS[shade], label=label)
                panel.errorbar(x, mean, (mean - low, high - mean), fmt="none", color="black")
            panel.set_xticks(places, [str(layers) for layers in nets])
            panel.set_xlabel("layers")
            panel.set_title(data, fontsize=TITLE)
        panels[0][0].set_ylabel("memory of the parameters (kB)")
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        return gridded(figure)

    def caption(self) -> str:
        nets = [net for found in self.nets.values() for net in found.values()]
        return (
            "epsilon, Figure 7: memory of the parameters of the whole network and of the one "
            "without its discarded blocks, by number of layers (bar: mean over seeds; line: "
            f"smallest to largest). {CHOSEN} The paper's bars cannot be read off; by its text the "
            "compression is significant in deep networks. Differs: "
            f"{differs(nets, TRIED)}."
        )


@dataclass(frozen=True)
class Sweep(PaperFigure):
    """Figure 8: error and discarded ratio by epsilon."""

    name = "epsilon-8"

    sweeps: list[list[Result]]
    measure: Measure

    @classmethod
    def find(cls, study: StudyResults, _: Judgement) -> Self | None:
        asked = known(study)
        found = [
            [asked.results[spec.net] for spec in group] for group in sweeps(asked) if len(group) > 1
        ]
        return cls(found, study.measure) if found else None

    def figure(self) -> Figure:
        figure, panels = _columns(1, 2)
        ratio, error = panels[0]
        drawn: list[tuple[Axes, Callable[[Result], Sequence[float | None]], str]] = [
            (ratio, lambda net: _percent(share(net)), "discarded (% of blocks)"),
            (error, Result.score, self.measure.axis),
        ]
        for panel, values, label in drawn:
            for nets, colour in zip(self.sweeps, shades(len(self.sweeps)), strict=True):
                rows = {epsilon_of(net.spec): values(net) for net in nets}
                told = f"{layers_of(nets[0].spec)} layers, {nets[0].spec.dataset}"
                _line(panel, rows, colour, told)
            panel.set(xlabel="ε", ylabel=label)
        ratio.set_ylim(0, 100)
        handles, labels = ratio.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        return gridded(figure)

    def caption(self) -> str:
        nets = [net for group in self.sweeps for net in group]
        return (
            "epsilon, Figure 8: share of blocks that are discarded, and test error, by ε, in "
            "networks that differ by nothing else (point: mean over seeds; bar: smallest to "
            "largest). By the text a greater ε discards more, and trades accuracy for it; the "
            "paper's points, its ε and its depth cannot be read off. Differs: "
            f"{differs(nets, 'networks on CIFAR-10 and CIFAR-100')}."
        )
