"""What the lecture says of paths through a residual network, after Veit et al. 2016."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import stats

from skipgate.judging.claims.nets import Found, blocks_of, deepest
from skipgate.judging.evidence import Part, paired
from skipgate.results.store import Result, StudyResults

CENTRE = 0.95
BLOCKS = 20
"""In networks of fewer blocks short and long paths cannot be told apart."""


def paths_removed(study: StudyResults) -> Found:
    """The error's rank correlation with the logarithm of paths lost is the highest of three.

    The others are those with blocks and with shortcuts. A lost block and a lost shortcut both halve
    the number of paths, so networks that lost some of each set the numbers apart.
    """
    return _each_residual(study, _rank_correlations)


def _rank_correlations(result: Result) -> list[Part]:
    part = result.part("paths")
    name = result.spec.net
    blocks = np.array(part["removed"])
    cuts = np.array(part["cut"])
    errors = np.array(part["errors"], dtype=float)
    by_paths, by_blocks, by_cuts = (
        [_rank_correlation(by, e) for e in errors.T] for by in (blocks + cuts, blocks, cuts)
    )
    above_blocks = f"{name}, rank correlation with paths above that with blocks"
    return [
        paired(above_blocks, by_paths, by_blocks, ""),
        paired(f"{name}, above that with shortcuts", by_paths, by_cuts, ""),
    ]


def _rank_correlation(by: npt.NDArray[np.int64], errors: npt.NDArray[np.float64]) -> float:
    """Over the networks that a seed has: one with few open blocks could not lose as many."""
    there = np.isfinite(errors)
    return float(stats.spearmanr(by[there], errors[there]).statistic)


def shallow_paths(study: StudyResults) -> Found:
    """The mean length of a path, weighted by its gradient, is below those of most paths.

    Most are the central 95% of all paths.
    """

    def parts(result: Result) -> list[Part]:
        norms = np.array(result.part("paths")["norm"], dtype=float)
        open_ = result.part("paths")["open"]
        lengths = np.arange(len(norms))[:, None]
        counts = [[math.comb(n, length) for n in open_] for length in range(len(norms))]
        weights = np.array(counts, dtype=float) * norms
        means = ((lengths * weights).sum(0) / weights.sum(0)).tolist()
        shortest = [float(stats.binom.ppf((1 - CENTRE) / 2, n, 0.5)) for n in open_]
        name = (
            f"{result.spec.net}, mean length below the {np.mean(shortest):g} from which on most "
            "paths are"
        )
        return [paired(name, shortest, means, "blocks")]

    return _each_residual(study, parts)


def _each_residual(study: StudyResults, parts: Callable[[Result], list[Part]]) -> Found:
    """What the deepest residual and the deepest gated network say.

    The lecture speaks of residual networks.
    """
    found = [
        result for kind in ("residual", "gated") if (result := deepest(study, kind, learnt=True))
    ]
    found = [result for result in found if blocks_of(result) >= BLOCKS]
    return ([part for result in found for part in parts(result)], found) if found else None
