"""A study's curves as small tables, which `dvc plots` draws: means over seeds, net by net.

A table has a row for each point of a net's curve. Its last column is what is drawn, and the head
of that column stands at the axis.
"""

import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.colors import to_hex

from skipgate.files import json_bytes, write_atomically
from skipgate.reporting.canvas import COLOURS, summary
from skipgate.reporting.drawings import drawings
from skipgate.results.names import line, size
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Measure

Points = Iterator[tuple[float, float]]
MOST_POINTS = 50
"""Of the epochs of a training so many are drawn, from the first to the last."""
NOTHING = "nothing.json"
"""What there is instead for a study that was not run; `dvc plots` draws nothing of it."""
HEAD = ("net", "size", "line", "colour", "x")
OTHERS = colormaps["tab20b"]


def tables(study: StudyResults) -> dict[str, str]:
    """The tables by name; one that would have no row is left out."""
    measure = study.measure
    found = {
        "training-loss": _table(study, "training", "training loss by epoch"),
        measure.name: _table(study, measure.name, f"{measure.axis} by epoch"),
        "gates": _table(study, "gates", "mean of T by block"),
        "lesions": _table(study, "lesion", f"{measure.axis} without block x"),
        "pruning": _table(study, "prune", f"{measure.axis}, x % of blocks gone"),
    }
    return {name: text for name, text in found.items() if text}


def write_all(study: StudyResults, folder: Path) -> None:
    """Write the tables; the folder has nothing else afterwards."""
    found = files(study)
    for name, content in found.items():
        write_atomically(folder / name, content)
    for file in folder.iterdir():
        if file.name not in found:
            file.unlink()


def files(study: StudyResults) -> dict[str, bytes]:
    """What stands in the folder; git would not keep an empty one, and DVC would miss it."""
    found = {f"{name}.csv": text.encode() for name, text in tables(study).items()}
    return found or {NOTHING: json_bytes({})}


def _table(study: StudyResults, figure: str, label: str) -> str:
    """A net's rows for each net that the figure of this name shows and does not only name."""
    drawing = drawings(study.measure)[figure]
    shown = {n: r for n, r in study.results.items() if drawing.shows(r) and not drawing.names(r)}
    colours = _colours(study)
    rows = [
        (net, size(result.spec), *colours[net], f"{x:g}", f"{y:g}")
        for net, result in shown.items()
        for x, y in _points(figure, result, study.measure)
        if np.isfinite(y)
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([(*HEAD, label), *rows])
    return text.getvalue() if rows else ""


def _colours(study: StudyResults) -> dict[str, tuple[str, str]]:
    """What each net is called in a legend, and its colour, the same in all plots of a study."""
    names = {net: _line(study, net) for net in study.specs}
    others = (to_hex(OTHERS(place)) for place in itertools.cycle(range(OTHERS.N)))
    colour = {name: COLOURS.get(name) or next(others) for name in dict.fromkeys(names.values())}
    return {net: (name, colour[name]) for net, name in names.items()}


def _line(study: StudyResults, net: str) -> str:
    """A net's family, and what it changes of another net."""
    changes = study.changes[net].choices if net in study.changes else ()
    return ", ".join([line(study.specs[net]), *changes])


def _points(figure: str, result: Result, measure: Measure) -> Points:
    if figure == "training":
        return _by_epoch(result, "train_loss")
    if figure == "gates":
        return _counted(result.part("gates")["T"], 1)
    if figure == "lesion":
        part = result.part("lesion")
        return _counted([part["whole"], *part["without"]], 0)
    if figure == "prune":
        return _pruned(result.part("prune")["random"])
    return _by_epoch(result, measure.key)


def _by_epoch(result: Result, metric: str) -> Points:
    means = summary(np.array(result.curve(metric), dtype=float).T)[0]
    places = np.unique(np.linspace(0, len(means) - 1, MOST_POINTS).round().astype(int))
    return _pairs(places + 1, means[places])


def _counted(rows: list[list[float]], start: int) -> Points:
    """Values of [block][seed], over the number of the block."""
    return _pairs(range(start, start + len(rows)), summary(rows)[0])


def _pruned(random: list[list[list[float]]]) -> Points:
    """Values of [order][removed][seed], over the share that is removed."""
    means = summary(np.concatenate(np.array(random, dtype=float), axis=1))[0]
    return _pairs(np.linspace(0, 100, len(means)), means)


def _pairs(x: Iterable[float], y: npt.NDArray[np.float64]) -> Points:
    return ((float(a), float(b)) for a, b in zip(x, y, strict=True))
