"""What the lecture says of paths through a network, after Veit et al. 2016."""

import math

import numpy as np
from scipy import stats

from skipgate.results.claims.nets import Found, each_with_shortcuts
from skipgate.results.evidence import Part, paired
from skipgate.results.store import Result, Study

CENTRE = 0.95


def paths_removed(study: Study) -> Found:
    """Rank correlation of the error with the logarithm of paths lost, against that with blocks lost.

    A lost block and a lost shortcut both halve the number of paths, so networks that lost some of each set the two apart.
    """

    def parts(result: Result) -> list[Part]:
        part = result.parts["paths"]
        blocks, errors = np.array(part["removed"]), np.array(part["errors"], dtype=float)
        halvings = blocks + np.array(part["cut"])
        by_paths, by_blocks = ([float(stats.spearmanr(by, e).statistic) for e in errors.T] for by in (halvings, blocks))
        return [paired(f"{result.spec.net}, rank correlation with paths above that with blocks", by_paths, by_blocks, "")]

    return each_with_shortcuts(study, parts)


def shallow_paths(study: Study) -> Found:
    """The mean length of a path, weighed by its gradient, is below where the lengths of 95% of all paths begin."""

    def parts(result: Result) -> list[Part]:
        norms = np.array(result.parts["paths"]["norm"], dtype=float)
        lengths = np.arange(len(norms))
        weights = np.array([math.comb(len(norms) - 1, length) for length in lengths], dtype=float)[:, None] * norms
        means = ((lengths[:, None] * weights).sum(0) / weights.sum(0)).tolist()
        shortest = float(stats.binom.ppf((1 - CENTRE) / 2, len(norms) - 1, 0.5))
        name = f"{result.spec.net}, mean length below the {shortest:g} from which on most paths are"
        return [paired(name, [shortest] * len(means), means, "blocks")]

    return each_with_shortcuts(study, parts)
