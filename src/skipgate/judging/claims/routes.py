"""What the lecture says of paths through a residual network, after Veit et al. 2016."""

import math

import numpy as np
from scipy import stats

from skipgate.judging.claims.nets import Found, Test, blocks_of, deepest, of_each
from skipgate.judging.evidence import Part, paired
from skipgate.results.store import Result, StudyResults

CENTRE = 0.95
BLOCKS = 20
"""In networks of fewer blocks short and long paths cannot be told apart."""


def shallow_paths(study: StudyResults) -> Found | None:
    """The mean length of a path, weighted by its gradient, against the lengths of most paths."""
    kinds = ("residual", "gated")
    found = [result for kind in kinds if (result := deepest(study, kind, learnt=True))]
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
    "shallow-paths-gradient": Test(
        "In the deepest residual and the deepest gated network, the mean length of a path, "
        "weighted by its gradient, is below the lengths of most paths (the central "
        f"{CENTRE:.0%}).",
        shallow_paths,
    ),
}
