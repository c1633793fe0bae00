"""Figures of the theory study."""

from pathlib import Path
from statistics import fmean

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from skipgate.reporting.canvas import COLOURS, INK, SMALL, WIDTH, gridded, save
from skipgate.reporting.theory.findings import Theory

# Families whose lines coincide (residual and c = -4, classical and c = -5) are told apart by dashes
# and markers.
LINES = {
    "classical": (COLOURS["plain"], "-", "s"),
    "highway -5.0": ("#8FD3BD", "--", "v"),
    "highway -4.5": (COLOURS["highway"], "-", "^"),
    "highway -4.0": ("#00573F", "-", "o"),
    "residual": (COLOURS["residual"], "--", "x"),
}
SIZE = (9.6, 4.2)
SHOWN = 20
"""The depth at which correlations are shown by distance."""


def captions() -> dict[str, str]:
    """What the figures show, by name."""
    return {name: caption for name, (_, caption) in FIGURES.items()}


def draw_all(theory: Theory, folder: Path) -> None:
    """Write the figures as PNG."""
    for name, (draw, _) in FIGURES.items():
        save(draw(theory), folder / f"{name}.png")


def _distances(theory: Theory) -> Figure:
    """TSDI against n, and TSDI divided by n, which shows the families apart."""
    figure, (left, right) = plt.subplots(1, 2, figsize=SIZE, layout="constrained")
    for name, (colour, style, marker) in LINES.items():
        label = name.replace("highway -", "highway, c = -")
        _family(left, theory, name, (colour, style, marker), label)
        _family(right, theory, name, (colour, style, marker), None)
    widths = [int(n) for n in theory["sdi"]["draws"]]
    gated = [theory["sdi"]["table"]["gated 1"]] * len(widths)
    left.loglog(widths, gated, color=COLOURS["gated"], label="gated, k_init = 1")
    right.semilogx(
        widths, [g / n for g, n in zip(gated, widths, strict=True)], color=COLOURS["gated"]
    )
    left.set(
        title="Total squared distance to identity", xlabel="n (units of a layer)", ylabel="TSDI"
    )
    right.set(
        title="The same, by unit", xlabel="n (units of a layer)", ylabel="TSDI / n", ylim=(0, 3.4)
    )
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return gridded(figure)


def _family(
    panel: Axes, theory: Theory, name: str, look: tuple[str, str, str], label: str | None
) -> None:
    """The formula as a line, samples as markers.

    With a label: TSDI on two log scales; without one: TSDI divided by the width.
    """
    by_width = {int(n): found for n, found in theory["sdi"]["widths"][name].items()}
    colour, style, marker = look
    scale = [1 if label else n for n in by_width]
    for key, line, dots in (("formula", style, ""), ("sampled", "", marker)):
        values = [found[key] / s for found, s in zip(by_width.values(), scale, strict=True)]
        panel.plot([*by_width], values, linestyle=line, marker=dots, color=colour, markersize=5)
    if label:
        panel.plot([], [], linestyle=style, marker=marker, color=colour, markersize=5, label=label)
    panel.set_xscale("log")
    panel.set_yscale("log" if label else "linear")


def _loss(theory: Theory) -> Figure:
    """Loss along the k of one block, and the line that a linear combination of slices would be."""
    slices = theory["slices"]
    figure, panels = plt.subplots(1, 2, figsize=SIZE, sharey=True, layout="constrained")
    for panel, (name, found) in zip(panels, slices["loss"].items(), strict=True):
        _along_k(panel, slices["k"], found)
        panel.set(title=f"Along the k of the {name}", xlabel="k (other blocks at 1)")
    panels[0].set_ylabel("cross-entropy (nats)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return gridded(figure)


def _along_k(panel: Axes, ks: list[float], found: dict[str, list[float]]) -> None:
    """The loss, the line, and the two points that the line goes through."""
    panel.plot(ks, found["loss"], color=COLOURS["gated"], label="loss")
    combination = "linear combination of the slices k = 0 and k = 1"
    panel.plot(ks, found["line"], "--", color=INK, label=combination)
    ends = [ks.index(k) for k in (0.0, 1.0)]
    panel.plot(
        [ks[i] for i in ends],
        [found["loss"][i] for i in ends],
        "o",
        color=INK,
        label="k = 0 and k = 1",
    )


def _paths(theory: Theory) -> Figure:
    """Share of paths by length, and what deleting blocks leaves of paths and of blocks."""
    paths = theory["paths"]
    figure, (left, right) = plt.subplots(1, 2, figsize=SIZE, layout="constrained")
    _lengths(left, paths)
    removed = [100 * share for share in paths["removed"]]
    blocks = max(int(n) for n in paths["by length"])
    right.plot(range(len(removed)), removed, "o-", color=COLOURS["gated"], label="of paths")
    right.plot(
        range(len(removed)),
        [100 * m / blocks for m in range(len(removed))],
        "s-",
        color=COLOURS["residual"],
        label=f"of {blocks} blocks",
    )
    right.set(
        title="Share removed with m blocks",
        xlabel="m (blocks deleted)",
        ylabel="removed (%)",
        ylim=(-3, 103),
    )
    right.legend(frameon=False, loc="center right")
    return gridded(figure)


def _lengths(panel: Axes, paths: Theory) -> None:
    """Share of paths by length, one curve per network."""
    # The lecture's example of 3 blocks needs no curve.
    shown = {n: counts for n, counts in paths["by length"].items() if int(n) > 3}
    colours = (COLOURS[name] for name in ("stochastic depth", "epsilon", "residual"))
    for (n, counts), colour in zip(shown.items(), colours, strict=True):
        shares = [100 * count / sum(counts) for count in counts]
        panel.plot(
            range(len(counts)),
            shares,
            ".-",
            color=colour,
            label=f"{n} blocks, {sum(counts):.1e} paths",
        )
    panel.set(
        title="Paths by length",
        xlabel="length (blocks passed through)",
        ylabel="paths (% of all)",
        ylim=(-0.5, 19),
    )
    panel.legend(frameon=False, loc="upper right")


def _shattered(theory: Theory) -> Figure:
    """Correlation of gradients by depth at neighbouring points, and by distance at one depth."""
    found = theory["shattered"]
    figure, (left, right) = plt.subplots(1, 2, figsize=SIZE, sharey=True, layout="constrained")
    for name, curves in found["networks"].items():
        # The gated curve lies on the residual one: dashes let both be seen.
        look = {
            "color": COLOURS[name],
            "linestyle": "--" if name == "gated" else "-",
            "marker": ".",
        }
        left.semilogx(found["depths"], [fmean(rows[0]) for rows in curves], label=name, **look)
        shown = curves[found["depths"].index(SHOWN)]
        right.semilogx(found["lags"], [fmean(row) for row in shown], **look)
    for (name, rows), style in zip(found["noise"].items(), (":", "-."), strict=True):
        means = [fmean(row) for row in rows]
        right.semilogx(found["lags"], means, style, color="#000000", label=f"{name} noise")
    left.set(title="Neighbouring points", xlabel="d (layers)")
    left.set(ylabel="correlation of gradients", ylim=(-0.1, 1.05))
    right.set(title=f"d = {SHOWN}, by distance", xlabel="distance along the line (points)")
    for panel, ticks in ((left, found["depths"]), (right, found["lags"])):
        panel.set_xticks(ticks, [str(tick) for tick in ticks])
        panel.minorticks_off()
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return gridded(figure)


def _balduzzi(theory: Theory) -> Figure:
    """The slide's five panels: one gradient along a line of inputs."""
    found = theory["shattered"]["series"]
    figure, panels = plt.subplots(
        1, len(found), figsize=(WIDTH, 2.6), sharey=True, layout="constrained"
    )
    for panel, (title, values) in zip(panels, found.items(), strict=True):
        colour = COLOURS.get(title.split(",")[0], INK)
        panel.plot(np.linspace(-2, 2, len(values)), values, color=colour, linewidth=0.8)
        panel.set_title(title, fontsize=SMALL + 1)
        panel.set_xlabel("input")
    panels[0].set_ylabel("gradient")
    return gridded(figure)


FIGURES = {
    "distances": (
        _distances,
        "TSDI of a fresh layer by its width. Line: formula; marker: mean over sampled layers, "
        "biases as the paper has them. Residual coincides with highway at c = -4, classical with "
        "highway at c = -5.",
    ),
    "loss": (
        _loss,
        "The loss of a fresh gated residual network (4 blocks of width 16) along one k.",
    ),
    "shattered": (
        _shattered,
        "How alike the input's gradient is at two points of a line of inputs: neighbouring points "
        "by depth, and all distances at one depth, mean over fresh networks. Gated networks lie "
        "on residual ones: they start with k = 1.",
    ),
    "paper-fleuret-shattered": (
        _balduzzi,
        "fleuret, the panels on shattered gradients (Balduzzi et al., Figure 1): a 1-layer and a "
        "24-layer feedforward network, a 50-layer residual one, brown and white noise. Each is the "
        "gradient with respect to one pixel in one fresh network along a straight line of inputs, "
        "in units of its standard deviation; the slide's networks have a single input.",
    ),
    "paths": (
        _paths,
        "Paths through residual blocks by length, and the share that goes with deleted blocks.",
    ),
}
