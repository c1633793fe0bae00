"""What unrolled (section 2) says of single blocks: lesions, shuffles, gates that depend on x."""

import numpy as np
import numpy.typing as npt
from scipy import stats

from skipgate.judging.claims.nets import (
    MANY,
    MILD,
    Found,
    Test,
    aside,
    by_depth,
    deepest,
    failed_at,
    of_each,
    of_resnets,
    of_trained,
    trained,
)
from skipgate.judging.evidence import Part, above, below, paired
from skipgate.judging.papers import Paper, column_of
from skipgate.results.by_image import redrawn
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Measure

SMOOTH = 0.7
"""The rank correlation above which errors follow the shuffling."""
FEWEST_ORDERS = 3
"""With fewer there is nothing that could rise smoothly."""
MOST = 0.5
AROUND = 10.0
"""Points: the number that the source says around is printed to ten."""
LEAST = "error without the block that is missed least"
Numbers = npt.NDArray[np.float64]


def _lost(result: Result) -> Numbers:
    """What each block's removal costs, [block][seed]."""
    without, whole = (np.array(result.part("lesion")[k], dtype=float) for k in ("without", "whole"))
    lost: Numbers = without - whole
    return lost


def _excepted(result: Result) -> list[int]:
    """The first block, and blocks that begin a later stage."""
    stages = result.part("lesion")["stage"]
    return [i for i in range(len(stages)) if i == 0 or stages[i] != stages[i - 1]]


def lesion_mild(study: StudyResults) -> Found | None:
    """The costliest block of each network, but for those that the sentence excepts."""

    def parts(result: Result) -> list[Part]:
        name = result.spec.net
        unit = result.measure.points
        cost = np.delete(_lost(result), _excepted(result), axis=0).max(0).tolist()
        error = np.array(result.part("lesion")["without"], dtype=float).max(0).tolist()
        failed = failed_at(result.measure)
        return [
            below(f"{name}, costliest ordinary block, under {MILD:g}", cost, MILD, unit),
            below(f"{name}, error without any block, under {failed:g}%", error, failed, unit),
        ]

    return of_trained(study.asked("lesion"), parts)


def lesion_early(study: StudyResults) -> Found | None:
    """The first block, and blocks that begin a stage, against the median block."""

    def parts(result: Result) -> list[Part]:
        lost = _lost(result)
        median = np.median(lost, axis=0).tolist()
        unit = result.measure.points
        name = result.spec.net
        found = [paired(f"{name}, first block above the median", lost[0].tolist(), median, unit)]
        begins = _excepted(result)[1:]
        if begins:
            changing = lost[begins].mean(0).tolist()
            found.append(paired(f"{name}, blocks that begin a stage", changing, median, unit))
        return found

    return of_trained(study.asked("lesion"), parts)


def lesion_kills_plain(study: StudyResults) -> Found | None:
    """The block of a plain network that is missed least."""
    result = deepest(study.asked("lesion"), "plain", learnt=True)
    if result is None:
        return None
    least = np.nanmin(np.array(result.part("lesion")["without"], dtype=float), axis=0).tolist()
    around = result.measure.guessing - AROUND
    return Found([above(LEAST, least, around, result.measure.points)], [result])


def _vgg(paper: Paper, measure: Measure) -> dict[str, float]:
    around = measure.guessing - AROUND
    return {LEAST: column_of(paper, "vgg-lesion", "error")["VGG"] - around}


def shuffle_smooth(study: StudyResults) -> Found | None:
    """Rank correlation of the error with the distance from the trained order."""

    def parts(result: Result) -> list[Part]:
        taus = np.array(result.part("shuffle")["tau"])
        if len(set(taus)) < FEWEST_ORDERS:
            return []
        columns = np.array(result.part("shuffle")["errors"], dtype=float).T
        chosen = redrawn(result, len(taus), len(columns))
        ranks = [
            -float(stats.spearmanr(taus[own], column[own]).statistic)
            for own, column in zip(chosen, columns, strict=True)
        ]
        return [above(f"{result.spec.net}, rank correlation above {SMOOTH:g}", ranks, SMOOTH)]

    return of_resnets(study.asked("shuffle"), parts)


def shuffle_mild(study: StudyResults) -> Found | None:
    """The share of drawn orders, other than the trained one, that cost little."""

    def parts(result: Result) -> list[Part]:
        shuffle = result.part("shuffle")
        moved = np.array(shuffle["tau"]) < 1
        if not moved.any():
            return []
        errors = np.array(shuffle["errors"], dtype=float)
        # The first draw makes no swap: the whole network on the images that were shuffled on.
        mild = (errors[moved] - errors[0] < MILD).T
        chosen = redrawn(result, mild.shape[1], len(mild))
        share = [float(row[own].mean()) for own, row in zip(chosen, mild, strict=True)]
        return [above(f"{result.spec.net}, share of orders above {MANY:g}", share, MANY)]

    return of_resnets(study.asked("shuffle"), parts)


def gates_sparse(study: StudyResults) -> Found | None:
    """The deepest highway network; shallower ones beside it."""
    found = of_each(trained(study, ("highway",)), _low_gates)
    if found is None:
        return None
    others = [r for r in by_depth(study, "highway").values() if r not in found.results]
    return Found(found.parts, found.results, aside(others, _low_gates, "less deep"))


def _low_gates(result: Result) -> list[Part]:
    """Shares of gate values, and of units on average, that let next to nothing through."""
    spread = result.part("gates")["spread"]["T"]
    values, units = (np.array(spread[key], dtype=float).mean(0) for key in ("low", "quiet"))
    name = result.spec.net
    return [
        above(f"{name}, share of low values above {MOST:g}", values.tolist(), MOST),
        below(f"{name}, share of units low on average below {MOST:g}", units.tolist(), MOST),
    ]


TESTS = {
    "lesion-mild": Test(
        "In the deepest trained network of each family and body with shortcuts, the block whose "
        f"removal costs most costs under {MILD:g} point of error, the first block and those that "
        "begin a stage excepted, as the source excepts them; and no block's removal leaves the "
        "network at 50% error, where one has not learnt and guessing gives 90% or more.",
        lesion_mild,
    ),
    "lesion-early": Test(
        "In the deepest trained network of each family and body with shortcuts, the first block, "
        "and the mean of blocks that begin a new stage, cost more than the median block.",
        lesion_early,
    ),
    "lesion-kills-plain": Test(
        "In the deepest plain network that has learnt, even the block that is missed least "
        f"leaves an error within {AROUND:g} points of guessing, which gives the source's 90%.",
        lesion_kills_plain,
        _vgg,
    ),
    "shuffle-smooth": Test(
        "In the deepest trained residual and gated network of each body, over random swaps of "
        "blocks within a stage, the error's rank correlation with the distance from the trained "
        f"order (by Kendall's tau) is above {SMOOTH:g}.",
        shuffle_smooth,
    ),
    "shuffle-many-mild": Test(
        f"In the same networks, more than {MANY:.0%} of the orders drawn, from one swap to as many "
        f"as there are blocks, cost under {MILD:g} point of error.",
        shuffle_mild,
    ),
    "gates-sparse-by-sample": Test(
        "In the deepest trained highway network, over blocks, test images and units, more than "
        f"{MOST:.0%} of the values of T are below "
        f"0.1, while fewer than {MOST:.0%} of the units have a mean below 0.1.",
        gates_sparse,
    ),
}
