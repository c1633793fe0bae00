"""One picture of every judged number, from what the reports recorded of their cells."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

from skipgate.judging.papers import Paper
from skipgate.reporting.canvas import INK, SMALL, WIDTH, save

Records = Mapping[str, Mapping[str, Any]]
"""What each study's report recorded, by study: `reports/verdicts/STUDY.json`."""

LOOKS: dict[str, tuple[str, str]] = {
    "agrees": ("#009E73", "o"),
    "inconclusive": ("#56B4E9", "s"),
    "differs": ("#D55E00", "X"),
}
"""Colour and marker of the words that judge."""
BAND = "#DDDDDD"
ROW = 0.2
HEADING = 2.6
"""Inches of a line, and lines that a table's heading takes."""
TOP = 0.3
BOTTOM = 0.95
"""Inches above and below the lines."""
TICKS = (-1000, -100, -10, -3, -2, -1, 0, 1, 2, 3, 10, 100, 1000)
EVEN = 3
"""Up to so many margins the axis is linear, beyond it is logarithmic."""


@dataclass(frozen=True)
class Cell:
    """A judged number."""

    label: str
    word: str
    reported: float
    ours: float
    distance: float
    """Ours less the paper's."""
    half: float
    margin: float
    decidable: bool

    @classmethod
    def read(cls, label: str, record: Mapping[str, Any]) -> Self:
        """From a record; exact numbers have neither an interval nor a margin."""
        return cls(
            label,
            record["word"],
            record["reported"],
            record["ours"],
            record.get("distance") or 0.0,
            record.get("half") or 0.0,
            record.get("margin") or 0.0,
            record.get("decidable") is not False,
        )

    @property
    def is_measured(self) -> bool:
        """Whether it has an interval and a margin, and so a place on the axis."""
        return self.half > 0 and self.margin > 0

    @property
    def is_open(self) -> bool:
        """Whether it is undecided, and more seeds would not decide it."""
        return self.word == "inconclusive" and not self.decidable


Tables = dict[tuple[str, str], list[Cell]]
"""Cells by the two lines of their table's heading."""


def caption(records: Records) -> str:
    """What the picture shows, and what it leaves out."""
    words = [cell["word"] for record in records.values() for cell in _cells(record).values()]
    left_out = sum(word not in LOOKS for word in words)
    return (
        f"Every judged number ({len(words) - left_out}). Left: ours less the paper's with its 95% "
        "interval, in multiples of the margin that was stated in advance for its table; grey: "
        f"within the margin; the axis is logarithmic beyond {EVEN}. Hollow: no number of seeds "
        "would decide. Right: numbers that follow without training, which agree where ours "
        f"rounds to the paper's. Left out: {left_out} that are not comparable or not run."
    )


def draw(records: Records, papers: dict[str, Paper], file: Path) -> None:
    """Write the picture as PNG."""
    save(judged_figure(records, papers), file)


def judged_figure(records: Records, papers: dict[str, Paper]) -> Figure:
    """Measured numbers on one axis, exact ones listed beside them."""
    tables = _tables(records, papers)
    measured = _only(tables, measured=True)
    exact = _only(tables, measured=False)
    lines = max(_lines(measured), _lines(exact))
    tall = TOP + ROW * lines + BOTTOM
    figure = plt.figure(figsize=(WIDTH, tall))

    def panel(start: float, width: float, y: float, count: int) -> Axes:
        bottom = tall - TOP - ROW * (y + count)
        box = (start / WIDTH, bottom / tall, width / WIDTH, ROW * count / tall)
        return figure.add_axes(box, ylim=(count - 0.5, -0.5), yticks=[])

    reach = max([EVEN + 1, *(_reach(cell) for cells in measured.values() for cell in cells)])
    for y, heading, cells in _stacked(measured):
        where = panel(1.35, 3.3, y, len(cells))
        _measured(where, cells, reach)
        _head(where, heading, -1.2 / 3.3, {1.17: "paper", 1.36: "ours"}, first=y == HEADING)
        _label(where, last=cells is [*measured.values()][-1])
    for y, heading, cells in _stacked(exact):
        where = panel(6.25, 3.6, y, len(cells))
        _exact(where, cells)
        _head(where, heading, 0, {0.76: "paper", 1.0: "ours"}, first=y == HEADING)
    figure.legend(handles=_legend(), loc="lower center", ncols=5, frameon=False, fontsize=SMALL + 1)
    return figure


def _tables(records: Records, papers: dict[str, Paper]) -> Tables:
    """The judged cells of all studies by table."""
    found: Tables = {}
    for study, record in records.items():
        judged = {place: cell for place, cell in _cells(record).items() if cell["word"] in LOOKS}
        for source in dict.fromkeys(place.split(", ")[0] for place in judged):
            paper, _, name = source.partition(" ")
            table = papers[paper].tables[name]
            trained = f" ({study})" if record["nets"] else ""
            places = [place for place in judged if place.split(", ")[0] == source]
            cells = [
                Cell.read(label, judged[place])
                for place, label in zip(places, _labels(places), strict=True)
            ]
            found[f"{paper}, {table.where}{trained}", table.title.partition(",")[0]] = cells
    return found


def _cells(record: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The cells of a record; a study without a report has none."""
    found: Mapping[str, Mapping[str, Any]] = record.get("cells", {})
    return found


def _labels(places: Sequence[str]) -> list[str]:
    """Row and column of each cell, without a column that all of them share.

    The first part of a place names the table, the last one the net.
    """
    parts = [place.split(", ")[1:-1] for place in places]
    shared = len({part[-1] for part in parts}) == 1
    return [", ".join(part[:-1] if shared else part) for part in parts]


def _only(tables: Tables, *, measured: bool) -> Tables:
    """The tables with those of their cells that are measured, or exact."""
    chosen = {
        heading: [cell for cell in cells if cell.is_measured == measured]
        for heading, cells in tables.items()
    }
    return {heading: cells for heading, cells in chosen.items() if cells}


def _lines(tables: Tables) -> float:
    return sum(HEADING + len(cells) for cells in tables.values())


def _stacked(tables: Tables) -> Iterator[tuple[float, tuple[str, str], list[Cell]]]:
    """Each table with its heading and the line at which its cells begin."""
    y = 0.0
    for heading, cells in tables.items():
        yield y + HEADING, heading, cells
        y += HEADING + len(cells)


def _head(
    panel: Axes, heading: tuple[str, str], start: float, heads: dict[float, str], *, first: bool
) -> None:
    """A table's heading above its panel, from `start` in its width.

    The first table of a column has the heads of the numbers too.
    """
    across = panel.get_yaxis_transform()
    for y, text, weight in ((-1.75, heading[0], "bold"), (-0.8, heading[1], "normal")):
        panel.text(start, y, text, transform=across, size=SMALL, weight=weight)
    for place, head in heads.items() if first else ():
        panel.text(place, -2.8, head, transform=across, size=SMALL, ha="right", color=INK)


def _reach(cell: Cell) -> float:
    """How far from 0 a cell's interval goes, in margins."""
    return (abs(cell.distance) + cell.half) / cell.margin


def _measured(panel: Axes, cells: Sequence[Cell], reach: float) -> None:
    """Distances in margins, with labels to the left and both numbers to the right."""
    across = panel.get_yaxis_transform()
    panel.axvspan(-1, 1, color=BAND, linewidth=0, zorder=0)
    panel.axvline(0, color=INK, linewidth=0.8)
    for y, cell in enumerate(cells):
        colour, marker = LOOKS[cell.word]
        x = cell.distance / cell.margin
        bar = cell.half / cell.margin
        panel.plot([x - bar, x + bar], [y, y], color=colour, linewidth=1.5)
        inside = "white" if cell.is_open else colour
        panel.plot(x, y, marker, color=colour, markerfacecolor=inside, markersize=7)
        panel.text(-0.03, y, cell.label, transform=across, size=SMALL, ha="right", va="center")
        for place, value in ((1.17, cell.reported), (1.36, cell.ours)):
            text = f"{value:.2f}"
            panel.text(place, y, text, transform=across, size=SMALL, ha="right", va="center")
    _axis(panel, 1.3 * reach)


def _axis(panel: Axes, limit: float) -> None:
    """Linear near 0, logarithmic beyond."""
    panel.set_xscale("symlog", linthresh=EVEN, linscale=1.4)
    panel.set_xlim(-limit, limit)
    panel.xaxis.set_major_locator(FixedLocator([tick for tick in TICKS if abs(tick) <= limit]))
    panel.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.grid(axis="x", alpha=0.3)


def _label(panel: Axes, *, last: bool) -> None:
    """The axis is told under the last panel alone."""
    panel.tick_params(axis="x", labelbottom=last, labelsize=SMALL)
    if last:
        panel.set_xlabel("ours less the paper's, in margins of its table", size=SMALL + 1)


def _exact(panel: Axes, cells: Sequence[Cell]) -> None:
    """A list: marker, label, and both numbers."""
    panel.set_axis_off()
    panel.set_xlim(0, 1)
    for y, cell in enumerate(cells):
        colour, marker = LOOKS[cell.word]
        panel.plot(0.02, y, marker, color=colour, markersize=7, clip_on=False)
        panel.text(0.06, y, cell.label, size=SMALL, va="center")
        for place, value in ((0.76, cell.reported), (1.0, cell.ours)):
            panel.text(place, y, _short(value), size=SMALL, ha="right", va="center")


def _short(value: float) -> str:
    """Four digits of a small number, all of a whole one."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.4g}"


def _legend() -> list[Line2D | Patch]:
    looks = {word: (*look, look[0]) for word, look in LOOKS.items()}
    open_ = (*LOOKS["inconclusive"], "white")
    looks["inconclusive, whatever the seeds"] = open_
    words: list[Line2D | Patch] = [
        Line2D(
            [], [], color=colour, marker=marker, markerfacecolor=inside, markersize=7, label=word
        )
        for word, (colour, marker, inside) in looks.items()
    ]
    return [*words, Patch(color=BAND, label="within the margin")]
