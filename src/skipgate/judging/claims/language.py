"""What unrolled says of six kinds of layers in a language model (section 5.2 and Table 1a).

Perplexities are compared as shares of each other, because a short study's lie elsewhere than the
paper's. They are read at the epoch that is best on the validation text.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from skipgate.judging.claims.nets import Found, Test, result_of
from skipgate.judging.evidence import Part, above, below, paired
from skipgate.judging.papers import Paper, column_of
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Character, Measure

TABLE = "charlm-ptb"
COLUMN = "perplexity"
NAMES = {
    "plain": "Plain",
    "residual": "Residual",
    "highway, T only": "T-Only",
    "highway, C only": "C-Only",
    "highway": "Coupled",
    "highway, full": "Full",
}
"""Families as the table calls them, in its order."""
CARRY_GATED = ("C-Only", "Coupled", "Full")
SIMILAR = 2.0
"""Perplexities that differ by less, in %, are similar: less than half of the step to T-Only."""
SUBSTANTIAL = 5.0
"""More than that step itself, in %."""
CLOSE = 3.0
"""In %: twice the distance that the paper calls close."""
SHARE = "%"

Nets = dict[str, Result]
Values = list[float | None]


def _nets(study: StudyResults) -> Nets | None:
    """The six variants, the main net of each; None where the study has not all of them."""
    found: dict[str, str] = {}
    for net, spec in study.specs.items():
        name = NAMES.get(family(spec))
        if name and net not in study.changes and isinstance(spec.settings.body, Character):
            found.setdefault(name, net)
    if len(found) < len(NAMES):
        return None
    return {name: result_of(study, found[name]) for name in NAMES.values()}


def _single(study: StudyResults, nets: Nets) -> Result:
    """The plain network of one layer, where there is one; else the plain network."""
    for net, change in study.changes.items():
        body = study.specs[net].settings.body
        if change.base == nets["Plain"].spec.net and getattr(body, "layers", 0) == 1:
            return result_of(study, net)
    return nets["Plain"]


def _logarithms(result: Result) -> Values:
    """100 times the logarithm of a perplexity, per seed: differences are shares in %."""
    return [None if p is None else 100 * math.log(p) for p in result.score("validation")]


def _over_gated(nets: Nets, choose: Callable[[Sequence[float]], float]) -> Values:
    """The worst or the best of the variants with a gate on the carried input, per seed."""
    rows = zip(*(_logarithms(nets[name]) for name in CARRY_GATED), strict=True)
    found = ([value for value in row if value is not None] for row in rows)
    return [choose(row) if len(row) == len(CARRY_GATED) else None for row in found]


TOGETHER = f"{', '.join(CARRY_GATED)} within {SIMILAR:g}%"
BETTER = "T-Only above the worst of them"
FAR = f"Residual above the worst of them by more than {SUBSTANTIAL:g}%"


def gating_needed(study: StudyResults) -> Found | None:
    """How far the variants with a gate on the carried input are from each other and the others."""
    nets = _nets(study)
    if nets is None:
        return None
    worst = _over_gated(nets, max)
    spread = paired("", worst, _over_gated(nets, min)).margins
    residual = paired("", _logarithms(nets["Residual"]), worst).margins
    parts = [
        below(TOGETHER, spread, SIMILAR, SHARE),
        paired(BETTER, _logarithms(nets["T-Only"]), worst, SHARE),
        above(FAR, residual, SUBSTANTIAL, SHARE),
    ]
    return Found(parts, list(nets.values()))


def _stated_logarithms(paper: Paper) -> dict[str, float]:
    column = column_of(paper, TABLE, COLUMN)
    return {name: 100 * math.log(value) for name, value in column.items()}


def _stated_need(paper: Paper, _: Measure) -> dict[str, float]:
    told = _stated_logarithms(paper)
    gated = [told[name] for name in CARRY_GATED]
    return {
        TOGETHER: SIMILAR - (max(gated) - min(gated)),
        BETTER: told["T-Only"] - max(gated),
        FAR: told["Residual"] - max(gated) - SUBSTANTIAL,
    }


NEAR = f"Residual within {CLOSE:g}% of a single plain layer"


def residual_close(study: StudyResults) -> Found | None:
    """How far four residual layers are from a plain one."""
    nets = _nets(study)
    if nets is None:
        return None
    single = _single(study, nets)
    apart = paired("", _logarithms(nets["Residual"]), _logarithms(single)).margins
    part = below(NEAR, [abs(gap) for gap in apart], CLOSE, SHARE)
    return Found([part], [nets["Residual"], single])


def _stated_distance(paper: Paper, _: Measure) -> dict[str, float]:
    told = _stated_logarithms(paper)
    return {NEAR: CLOSE - abs(told["Residual"] - told["Plain"])}


STEPS = (("Plain", "Residual"), ("Residual", "T-Only"))


def _step(worse: str, better: str) -> str:
    return f"{worse} above {better}"


def _gap(worse: str, better: str) -> str:
    return f"{worse} less {better}"


def order(study: StudyResults) -> Found | None:
    """The table's order, as far as its numbers tell variants apart; its gaps beside it."""
    nets = _nets(study)
    if nets is None:
        return None
    told = {name: _logarithms(result) for name, result in nets.items()}
    parts = [paired(_step(a, b), told[a], told[b], SHARE) for a, b in STEPS]
    parts += [paired(_step("T-Only", b), told["T-Only"], told[b], SHARE) for b in CARRY_GATED]
    return Found(parts, list(nets.values()), tuple(_gaps(nets)))


def _gaps(nets: Nets) -> list[Part]:
    """Differences of perplexity from each variant to the next, and from the first to the last."""
    scores = {name: result.score("validation") for name, result in nets.items()}
    names = list(nets)
    pairs = [*pairwise(names), (names[0], names[-1])]
    return [paired(_gap(a, b), scores[a], scores[b], COLUMN) for a, b in pairs]


def _stated_order(paper: Paper, _: Measure) -> dict[str, float]:
    told = _stated_logarithms(paper)
    column = column_of(paper, TABLE, COLUMN)
    pairs = [(a, b) for a in told for b in told if a != b]
    steps = {_step(a, b): told[a] - told[b] for a, b in pairs}
    return steps | {_gap(a, b): column[a] - column[b] for a, b in pairs}


TESTS = {
    "gating-needed-lm": Test(
        f"The perplexities of Full, Coupled and C-Only lie within {SIMILAR:g}% of each other; the "
        "worst of them is below that of T-Only, and below that of Residual by more than "
        f"{SUBSTANTIAL:g}%.",
        gating_needed,
        _stated_need,
        measure="perplexity",
    ),
    "residual-close-to-plain-lm": Test(
        f"The perplexity of four residual layers is within {CLOSE:g}% of that of a single plain "
        "layer, or of two where there is no such net.",
        residual_close,
        _stated_distance,
        measure="perplexity",
    ),
    "language-order": Test(
        "The perplexity of Plain is above that of Residual, that above that of T-Only, and that "
        "above those of C-Only, Coupled and Full, whose own order the paper's numbers do not tell.",
        order,
        _stated_order,
        measure="perplexity",
    ),
}
