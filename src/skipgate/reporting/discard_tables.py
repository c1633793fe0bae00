"""What nets whose gates may stay shut have discarded, and what they are without it."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from skipgate.judging.claims.nets import blocks_of
from skipgate.judging.statistics import estimate
from skipgate.reporting.markdown import markdown
from skipgate.reporting.tables import linked
from skipgate.results.discards import (
    COMPRESSED,
    WHOLE,
    Numbers,
    by_stage,
    collapsed,
    epsilon_of,
    has_record,
    pair,
    strict,
)
from skipgate.results.store import Result, StudyResults

KIND = "identity"
BATCHES = (
    "- **Maximum over the batch**, as in the authors' code: a single large response opens the gate "
    "for all images that are predicted together. So a prediction depends on its neighbours, and an "
    "image by itself meets gates shut that a batch opens: {shares} of images are predicted "
    "otherwise alone than in batches of {size}. Without gates, once a network is compressed, that "
    "is over; where gates are left that shut at times, it is not: {after}."
)
SAMPLES = (
    "- **Maximum over a sample**, as Equation 3 can be read: every image opens its own gates. "
    "Predictions do not depend on their neighbours, and what is predicted otherwise alone is so by "
    "rounding: {shares} of images, and {after} after compression."
)


def section(study: StudyResults) -> str:
    """All of it; nothing where no net has been asked."""
    nets = [*study.having("train", KIND).values()]
    if not nets:
        return ""
    tables = [_table(nets, cells) for cells in (_blocks, _sizes, _neighbours)]
    return "\n\n".join([*tables, "\n".join(_maxima(nets))])


def _table(nets: Sequence[Result], cells: Callable[[Result], dict[str, str]]) -> str:
    rows: list[dict[str, object]] = [{"net": f"`{n.spec.net}`", **cells(n)} for n in nets]
    return markdown(rows)


def _blocks(net: Result) -> dict[str, str]:
    """How many blocks are gone, and what that costs."""
    counts = _known(strict(net).sum(0))
    stages = np.array(net.part(KIND)["stage"])
    sizes = [int((stages == stage).sum()) for stage in np.unique(stages)]
    groups = [
        f"{np.nanmean(row) * size:.1f}" if _known(row) else "-"
        for row, size in zip(by_stage(net), sizes, strict=True)
    ]
    errors = (str(estimate(_known(row)) or "failed") for row in pair(net, "errors"))
    fallen = f"{estimate(collapsed(net))}" if has_record(net) else "-"
    return {
        "ε": f"{epsilon_of(net.spec):g}",
        "strict identity": linked(f"{estimate(counts)} of {blocks_of(net.spec)}", net, KIND),
        "by stage": linked(", ".join(groups), net, KIND),
        "collapsed": linked(fallen, net, "train"),
        f"{net.measure.axis},<br>whole and compressed": linked("<br>".join(errors), net, KIND),
    }


def _sizes(net: Result) -> dict[str, str]:
    """What the compressed network takes, and what it predicts otherwise."""
    images = net.part(KIND)["images"]
    changed, unlike = (
        linked(f"{_mean(net.part(KIND)[key]):.1f} of {images:,}", net, KIND)
        for key in ("changed", "unlike")
    )
    return {
        "layers": _both(net, "layers", 1, ".0f"),
        "parameters<br>(thousands)": _both(net, "parameters", 0.001, ",.0f"),
        "file (kB)": _both(net, "file", 0.001, ",.0f"),
        "batch (ms)": _both(net, "seconds", 1000, ".1f"),
        "predictions<br>changed": changed,
        "outputs<br>changed": unlike,
    }


def _both(net: Result, name: str, unit: float, form: str) -> str:
    whole, compressed = (unit * _mean(row) for row in pair(net, name))
    return linked(f"{whole:{form}}<br>to {compressed:{form}}", net, KIND)


def _neighbours(net: Result) -> dict[str, str]:
    """How far predictions depend on what is predicted beside them."""
    whole, compressed = (linked(_percent([row]), net, KIND) for row in pair(net, "swayed"))
    return {
        "maximum over": _over(net),
        "gates left": linked(f"{_mean(net.part(KIND)['gates']):.1f}", net, KIND),
        "images": f"{net.part(KIND)['alone']:,}",
        "otherwise alone": whole,
        "compressed": compressed,
    }


def _maxima(nets: Sequence[Result]) -> list[str]:
    """What each kind of maximum means at test time, with what was measured of it."""
    found = []
    for over, words in (("batch", BATCHES), ("sample", SAMPLES)):
        some = [net for net in nets if _over(net) == over]
        if some:
            shares, after = (
                _percent(pair(net, "swayed")[network] for net in some)
                for network in (WHOLE, COMPRESSED)
            )
            sizes = {net.spec.settings.recipe.evaluation_batch for net in some}
            size = " or ".join(map(str, sorted(sizes)))
            found.append(words.format(shares=shares, after=after, size=size))
    return found


def _over(net: Result) -> str:
    return str(net.spec.settings.T.settings["over"])


def _known(values: Numbers) -> list[float]:
    """Those of seeds that have not failed."""
    return [float(value) for value in values if np.isfinite(value)]


def _mean(values: Iterable[float | None]) -> float:
    known = _known(np.array([*values], dtype=float))
    return float(np.mean(known)) if known else float("nan")


def _percent(rows: Iterable[Numbers]) -> str:
    """Shares in %: their mean over seeds, from the smallest net to the largest."""
    means = [_mean(row) for row in rows]
    ends = dict.fromkeys(f"{100 * end:.1f}%" for end in (min(means), max(means)))
    return " to ".join(ends)
