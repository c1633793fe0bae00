"""What the lecture says of paths through a residual network, after Veit et al. 2016."""

import math

import numpy as np
from scipy import stats

from skipgate.judging.claims.nets import (
    MILD,
    Found,
    Test,
    blocks_of,
    deepest,
    like,
    of_each,
    pruned,
)
from skipgate.judging.evidence import Part, below, paired
from skipgate.judging.statistics import difference
from skipgate.results.store import Result, StudyResults

CENTRE = 0.95
BLOCKS = 20
"""In networks of fewer blocks short and long paths cannot be told apart, and a quarter of the
blocks leaves more than a few % of the paths.
"""
QUARTER = 0.25
HALF = 0.5


def paths_removed(study: StudyResults) -> Found | None:
    """As many blocks and unlike shares of the paths, then as good as all paths and unlike blocks.

    A lost block takes half of a residual network's paths and the only one of a plain network. A
    quarter and half of the blocks both take nearly all: a share of 1 - 2^-m for m blocks.
    """
    known = study.asked("lesion", "prune")
    plain = deepest(known, "plain", learnt=True)
    residual = deepest(known, "residual", learnt=True)
    beside = like(known, plain, "residual") if plain else None
    if not (plain and beside and residual) or blocks_of(residual.spec) < BLOCKS:
        return None
    unit = study.measure.points
    quarter, half = (pruned(residual, share) for share in (QUARTER, HALF))
    one = f"one block removed, {plain.spec.net} loses more"
    most = f"{residual.spec.net}, half removed after a quarter, under {MILD:g}"
    parts = [
        paired(one, _cost(plain), _cost(beside), unit),
        below(most, difference(half, quarter), MILD, unit),
    ]
    cost = paired("cost of a quarter", quarter, pruned(residual, 0.0), unit)
    return Found(parts, [plain, beside, residual], (cost,))


def _cost(result: Result) -> list[float]:
    """What a removed block costs on average, per seed, over those that can be removed."""
    without, whole = (np.array(result.part("lesion")[k], dtype=float) for k in ("without", "whole"))
    return [float(cost) for cost in np.nanmean(without - whole, axis=0)]


def shallow_paths(study: StudyResults) -> Found | None:
    """The mean length of a path, weighted by its gradient, against the lengths of most paths."""
    kinds = ("residual", "gated")
    known = study.asked("paths")
    found = [result for kind in kinds if (result := deepest(known, kind, learnt=True))]
    return of_each([result for result in found if blocks_of(result.spec) >= BLOCKS], _parts)


def _parts(result: Result) -> list[Part]:
    norms = np.array(result.part("paths")["norm"], dtype=float)
    open_ = result.part("paths")["open"]
    lengths = np.arange(len(norms))[:, None]
    counts = [[math.comb(n, length) for n in open_] for length in range(len(norms))]
    weights = np.array(counts, dtype=float) * norms
    means = ((lengths * weights).sum(0) / weights.sum(0)).tolist()
    shortest = [float(stats.binom.ppf((1 - CENTRE) / 2, n, 0.5)) for n in open_]
    name = f"{result.spec.net}, mean length below {np.mean(shortest):g}"
    return [paired(name, shortest, means, "blocks")]


TESTS = {
    "paths-removed": Test(
        "One removed block costs the deepest plain network that has learnt, which loses its only "
        "path, more than the residual one of that depth, or on the same data, which loses half of "
        "them; and the deepest residual network loses nearly the same (within "
        f"{MILD:g} point of error) without a quarter and without half of its blocks, either of "
        "which takes nearly all of its paths.",
        paths_removed,
    ),
    "shallow-paths-gradient": Test(
        "In the deepest residual and the deepest gated network, the mean length of a path, "
        "weighted by its gradient, is below the lengths of most paths (the central "
        f"{CENTRE:.0%}).",
        shallow_paths,
    ),
}
