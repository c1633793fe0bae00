"""What unrolled (sections 3.2 and 4.2) says of blocks as estimates of their stage's features.

A, "the (unknown) value towards which the feature is converging", is taken for the output of the
stage's last block. Where a block adds its shortcut after its last ReLU it can only add, so that
its output lies below A whatever it has learnt; such networks are shown and do not decide.
"""

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import stats

from skipgate.judging.claims.nets import RESNETS, Found, Test, aside, of_resnets, trained
from skipgate.judging.evidence import Part, above, below
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Imagenet, Mlp, Resnet
from skipgate.specs import Spec

FALLING = 0.9
"""The rank correlation above which deviations follow the blocks."""
SMALL = 0.1
"""A mean below this share of the spread that it is set against is close to 0."""
FEWEST = 3
"""Blocks of a stage with which something can fall, the last being 0 by definition."""
Numbers = npt.NDArray[np.float64]


def can_only_add(spec: Spec) -> bool:
    """Whether a block's output is never below its input: a ReLU's output is added to it."""
    body = spec.settings.body
    styled = Imagenet | Mlp | Resnet
    after = isinstance(body, styled) and (body.order, body.addition) == ("post", "after")
    return after and spec.settings.C.gate == "constant"


def _stages(result: Result) -> list[list[int]]:
    """The places of each stage's blocks."""
    stages = list(enumerate(result.part("estimation")["stage"]))
    return [[i for i, _ in group] for _, group in itertools.groupby(stages, lambda pair: pair[1])]


def _numbers(result: Result, key: str) -> Numbers:
    return np.array(result.part("estimation")[key], dtype=float)


def _estimation(result: Result) -> list[Part]:
    """All stages but the last of several, which the paper excepts, and all blocks but the last."""
    stages = _stages(result)
    blocks = [i for stage in stages[: max(1, len(stages) - 1)] for i in stage[:-1]]
    shares = np.abs(_numbers(result, "mean") / _numbers(result, "size"))[blocks]
    return [_below_small(result, shares)]


def _residuals(result: Result) -> list[Part]:
    """What each block but a stage's first adds on average, beside what is left to correct."""
    mean = _numbers(result, "mean")
    left = _numbers(result, "deviation")
    steps = [pair for stage in _stages(result) for pair in itertools.pairwise(stage)]
    added = np.array([np.abs(mean[b] - mean[a]) for a, b in steps])
    scale = left[[a for a, _ in steps]]
    # Once all blocks that follow are shut nothing is left to correct, and nothing is added.
    shares = np.divide(added, scale, out=np.zeros_like(added), where=scale > 0)
    return [_below_small(result, shares)]


def _below_small(result: Result, shares: Numbers) -> Part:
    name = f"{result.spec.net}, share of the spread below {SMALL:g}"
    return below(name, shares.mean(0).tolist(), SMALL)


def estimation_mean(study: StudyResults) -> Found | None:
    """Mean estimation errors; those of each stage beside them."""
    found = _where_blocks_can_lower(study, _estimation)
    stages = [part for result in found.results for part in _by_stage(result)] if found else ()
    return found and Found(found.parts, found.results, (*found.beside, *stages))


def _by_stage(result: Result) -> list[Part]:
    """The mean error of each stage with its sign; nothing in networks of a single stage."""
    stages = _stages(result)
    shares = _numbers(result, "mean") / _numbers(result, "size")
    return [
        Part(
            f"{result.spec.net}, stage {number}: output less A, in spreads of A",
            tuple(shares[stage[:-1]].mean(0).tolist()),
        )
        for number, stage in enumerate(stages, start=1)
        if len(stages) > 1 and len(stage) > 1
    ]


def residual_mean(study: StudyResults) -> Found | None:
    """Mean residuals, as differences of neighbouring blocks' mean errors."""
    return _where_blocks_can_lower(study, _residuals)


def _where_blocks_can_lower(
    study: StudyResults, parts: Callable[[Result], list[Part]]
) -> Found | None:
    known = study.asked("estimation")
    found = of_resnets(known, parts, lambda spec: not can_only_add(spec))
    others = aside(trained(known, RESNETS, can_only_add), parts, "can only add")
    return found and Found(found.parts, found.results, (*found.beside, *others))


def estimation_deviation(study: StudyResults) -> Found | None:
    """Rank correlation of the deviation with the block's place, in the stage where it is least."""

    def parts(result: Result) -> list[Part]:
        rows = _numbers(result, "deviation")
        stages = [stage[:-1] for stage in _stages(result) if len(stage) >= FEWEST]
        if not stages:
            return []
        ranks = [[_fall(rows[stage, seed]) for stage in stages] for seed in range(rows.shape[1])]
        name = f"{result.spec.net}, rank correlation above {FALLING:g}"
        return [above(name, [min(each) for each in ranks], FALLING)]

    return of_resnets(study.asked("estimation"), parts)


def _fall(values: Numbers) -> float:
    return -float(stats.spearmanr(range(len(values)), values).statistic)


TESTS = {
    "estimation-error-zero-mean": Test(
        "With A taken for the output of the stage's last block, the size of the mean difference "
        "from it, averaged over all other blocks and without the last of several stages, is below "
        f"{SMALL:g} of the standard deviation of A, in the deepest trained residual and gated "
        "network of each body whose blocks can lower a feature. Stage by stage it is shown with "
        "its sign beside the test: below 0 a block underestimates A.",
        estimation_mean,
    ),
    "residual-zero-mean": Test(
        "The size of the mean that a block adds, averaged over the blocks but each stage's first, "
        f"is below {SMALL:g} of the standard deviation of what was left to correct (the stage's "
        "last output less the block's input), in the deepest trained residual and gated "
        "network of each body whose blocks can lower a feature.",
        residual_mean,
    ),
    "estimation-std-falls": Test(
        "In every stage, without its last block, whose difference is 0 by definition, the "
        "standard deviation's rank correlation with the block's place is below "
        f"{-FALLING:g}, in the deepest trained residual and gated network of each body.",
        estimation_deviation,
    ),
}
