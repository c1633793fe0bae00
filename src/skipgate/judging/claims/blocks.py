"""What unrolled (section 2) and the lecture say of single blocks: lesions, shuffles, estimates."""

import numpy as np
from scipy import stats

from skipgate.judging.claims.nets import MILD, Found, deepest, each_with_shortcuts, failed_at
from skipgate.judging.evidence import Part, above, paired
from skipgate.results.store import Result, StudyResults

SMOOTH = 0.7
FALLING = 0.9
"""Rank correlations above which errors follow the shuffling, and deviations the blocks."""
SMALL = 0.1
"""A mean error below this share of the output's own spread is close to 0."""


def lesion_mild(study: StudyResults) -> Found:
    """The median block costs little; the first costs more than the median."""

    def parts(result: Result) -> list[Part]:
        lesion = result.part("lesion")
        lost = np.array(lesion["without"], dtype=float) - np.array(lesion["whole"], dtype=float)
        median = np.median(lost, axis=0).tolist()
        least = [MILD] * len(median)
        first = lost[0].tolist()
        name = result.spec.net
        unit = result.measure.points
        return [
            paired(f"{name}, median block, less than {MILD:g} point", least, median, unit),
            paired(f"{name}, first block above the median", first, median, unit),
        ]

    return each_with_shortcuts(study, parts)


def lesion_kills_plain(study: StudyResults) -> Found:
    """No block of a plain network that has learnt can be spared."""
    result = deepest(study, "plain", learnt=True)
    if result is None:
        return None
    least = np.array(result.part("lesion")["without"], dtype=float).min(0).tolist()
    failed = failed_at(result.measure)
    name = f"least harmful block, error above {failed:g}%"
    return [above(name, least, failed, result.measure.points)], [result]


def shuffle_smooth(study: StudyResults) -> Found:
    """Rank correlation of the error with the distance from the trained order."""

    def parts(result: Result) -> list[Part]:
        taus = result.part("shuffle")["tau"]
        errors = np.array(result.part("shuffle")["errors"], dtype=float)
        ranks = [-float(stats.spearmanr(taus, column).statistic) for column in errors.T]
        return [above(f"{result.spec.net}, rank correlation above {SMOOTH:g}", ranks, SMOOTH, "")]

    return each_with_shortcuts(study, parts)


def estimation_mean(study: StudyResults) -> Found:
    """Mean estimation error, as a share of the spread of what is estimated."""

    def parts(result: Result) -> list[Part]:
        mean, size = (
            np.array(result.part("estimation")[key], dtype=float) for key in ("mean", "size")
        )
        share = np.abs(mean / size).mean(0).tolist()
        name = f"{result.spec.net}, less than {SMALL:g} of the spread"
        return [paired(name, [SMALL] * len(share), share)]

    return each_with_shortcuts(study, parts)


def estimation_deviation(study: StudyResults) -> Found:
    """Rank correlation of the deviation with the block's place."""

    def parts(result: Result) -> list[Part]:
        rows = np.array(result.part("estimation")["deviation"], dtype=float)
        ranks = [-float(stats.spearmanr(range(len(rows)), column).statistic) for column in rows.T]
        return [above(f"{result.spec.net}, rank correlation above {FALLING:g}", ranks, FALLING, "")]

    return each_with_shortcuts(study, parts)
