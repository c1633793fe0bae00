"""What is said of depth: gresnet's networks with and without shortcuts, the lecture's CReLU."""

from collections.abc import Callable

from skipgate.judging.claims.nets import (
    Found,
    Test,
    by_depth,
    failed_at,
    flat,
    pairs,
    result_of,
    slope,
)
from skipgate.judging.evidence import Part, above, below, paired
from skipgate.judging.papers import Paper, column_of
from skipgate.judging.statistics import difference
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Crelu, Measure

TABLE = "mnist-test-error"
DEEP = 50
"""The depth from which on gresnet's classical networks fail."""
GROWTH = "what shortcuts gain, for each doubling of the depth"


def gaps(paper: Paper, worse: str, better: str) -> dict[str, float]:
    """By how much one column of the table of errors exceeds another, by row."""
    one = column_of(paper, TABLE, worse)
    other = column_of(paper, TABLE, better)
    return {row: one[row] - other[row] for row in one}


def depths_of(rows: dict[str, float]) -> list[int]:
    """The depths of rows that are called `d = 50` and so on."""
    return [int(row.removeprefix("d = ")) for row in rows]


def classical_fails(study: StudyResults) -> Found | None:
    """Plain networks that are deep."""
    return _of_deep(study, "plain", above)


def residual_converges(study: StudyResults) -> Found | None:
    """Residual networks that are deep."""
    return _of_deep(study, "residual", below)


def _of_deep(study: StudyResults, kind: str, side: Callable[..., Part]) -> Found | None:
    """On which side of the level of failure the deep networks of a family lie."""
    deep = _deep(study, kind)
    failed = failed_at(study.measure)
    unit = study.measure.points
    parts = [side(name, r.score(), failed, unit) for name, r in deep.items()]
    return Found(parts, list(deep.values())) if parts else None


def _deep(study: StudyResults, kind: str) -> dict[str, Result]:
    return {f"d = {d}": r for d, r in by_depth(study, kind).items() if d >= DEEP}


def _above_failing(paper: Paper, measure: Measure) -> dict[str, float]:
    column = column_of(paper, TABLE, "classical")
    return {row: error - failed_at(measure) for row, error in column.items()}


def _below_failing(paper: Paper, measure: Measure) -> dict[str, float]:
    column = column_of(paper, TABLE, "residual")
    return {row: failed_at(measure) - error for row, error in column.items()}


def classical_worse(study: StudyResults) -> Found | None:
    """Plain against residual networks."""
    found = pairs(study, "plain", "residual")
    unit = study.measure.points
    parts = [paired(f"d = {d}", p.score(), r.score(), unit) for d, (p, r) in found.items()]
    return Found(parts, flat(found)) if len(parts) > 1 else None


def _classical_gaps(paper: Paper, _: Measure) -> dict[str, float]:
    return gaps(paper, "classical", "residual")


def shortcuts_matter_with_depth(study: StudyResults) -> Found | None:
    """What shortcuts gain, as a slope over doublings of the depth."""
    found = pairs(study, "plain", "residual")
    if len(found) < 3:
        return None
    gains = [difference(p.score(), r.score()) for p, r in found.values()]
    part = Part(GROWTH, slope(list(found), gains), study.measure.points)
    beside = (paired(f"d = {d}", p.score(), r.score(), part.unit) for d, (p, r) in found.items())
    return Found([part], flat(found), tuple(beside))


def _shortcut_growth(paper: Paper, _: Measure) -> dict[str, float]:
    rows = gaps(paper, "classical", "residual")
    return {GROWTH: slope(depths_of(rows), [[gap] for gap in rows.values()])[0], **rows}


def looks_linear_trains(study: StudyResults) -> Found | None:
    """CReLU networks from an ordinary start against those from a looks-linear one."""
    nets: dict[int, dict[str, Result]] = {}
    for net, spec in study.specs.items():
        body = spec.settings.body
        if isinstance(body, Crelu):
            nets.setdefault(body.depth, {})[body.init] = result_of(study, net)
    found = {
        depth: (starts["he-normal"], starts["looks-linear"])
        for depth, starts in sorted(nets.items())
        if starts.keys() >= {"he-normal", "looks-linear"}
    }
    unit = study.measure.points
    parts = [paired(f"d = {d}", o.score(), ll.score(), unit) for d, (o, ll) in found.items()]
    return Found(parts, flat(found)) if parts else None


FAILED = "50%, where guessing gives 90%"
TESTS = {
    "classical-fails-deep": Test(
        f"At each d of {DEEP} and more the classical network's error is above {FAILED}.",
        classical_fails,
        _above_failing,
    ),
    "residual-converges-deep": Test(
        f"At each d of {DEEP} and more the residual network's error is below {FAILED}.",
        residual_converges,
        _below_failing,
    ),
    "classical-worse": Test(
        "At each depth the classical network's test error is above the residual one's.",
        classical_worse,
        _classical_gaps,
    ),
    "shortcuts-matter-with-depth": Test(
        "The classical network's test error less the residual one's grows with depth, as a slope "
        "over doublings of d.",
        shortcuts_matter_with_depth,
        _shortcut_growth,
    ),
    "looks-linear-by-depth": Test(
        "At each depth the test error of CReLU networks that start looks-linear is below that of "
        "CReLU networks with He's ordinary start.",
        looks_linear_trains,
    ),
}
