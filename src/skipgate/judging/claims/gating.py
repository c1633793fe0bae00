"""What gresnet says of its gates (v1 section 4.1, v2 section 3.1).

It is about errors, losses, k and pruning.
"""

import itertools

import numpy as np

from skipgate.judging.claims.nets import (
    MILD,
    Found,
    blocks_of,
    by_depth,
    deepest,
    failed_at,
    flat,
    pairs,
    slope,
)
from skipgate.judging.evidence import Part, above, paired
from skipgate.judging.statistics import difference
from skipgate.results.store import Result, StudyResults


def gated_beats_residual(study: StudyResults) -> Found:
    """Gated test error below residual at every depth."""
    found = pairs(study)
    unit = study.measure.points
    parts = [paired(f"d = {d}", r.score(), g.score(), unit) for d, (r, g) in found.items()]
    return (parts, flat(found)) if len(parts) > 1 else None


def gain_grows(study: StudyResults) -> Found:
    """Relative gain of gating, as a slope over doublings of the depth."""
    found = pairs(study)
    if len(found) < 3:
        return None
    gains = []
    for residual, gated in found.values():
        errors = residual.score()
        gaps = difference(residual.score(), gated.score())
        shares = zip(gaps, errors, strict=False)
        gains.append([None if gap is None or not e else 100 * gap / e for gap, e in shares])
    growth = slope(list(found), gains)
    return [Part("gain for each doubling of the depth", growth, "% of the error")], flat(found)


def classical_fails(study: StudyResults) -> Found:
    """Plain networks of 50 layers and more do not learn."""
    deep = {depth: result for depth, result in by_depth(study, "plain").items() if depth >= 50}
    failed = failed_at(study.measure)
    parts = [
        above(f"d = {d}, error above {failed:g}%", r.score(), failed, study.measure.points)
        for d, r in deep.items()
    ]
    return (parts, list(deep.values())) if parts else None


def k_falls(study: StudyResults) -> Found:
    """Mean k smaller at each next depth."""
    gated = list(by_depth(study, "gated").items())
    steps = itertools.pairwise(gated)
    parts = [
        paired(f"d = {a} to {b}", r.metric("mean_gate"), s.metric("mean_gate"), "k")
        for (a, r), (b, s) in steps
    ]
    return (parts, [r for _, r in gated]) if parts else None


def k_low_in_the_middle(study: StudyResults) -> Found:
    """Mean k of the middle third of the blocks below that of either end."""
    result = deepest(study, "gated")
    if result is None:
        return None
    third = len(result.part("gates")["T"]) // 3
    blocks = np.array(result.part("gates")["T"], dtype=float)
    first, middle, last = (
        blocks[part].mean(0).tolist()
        for part in (slice(third), slice(third, -third), slice(-third, None))
    )
    parts = [paired("first third", first, middle, "k"), paired("last third", last, middle, "k")]
    return parts, [result]


def _pruned(result: Result, share: float) -> list[float]:
    """Error per seed after a share of the blocks is removed at random, averaged over orders."""
    random = np.array(result.part("prune")["random"], dtype=float)
    place = round(share * (random.shape[1] - 1))
    return [float(v) for v in random[:, place].mean(0)]


def half_removed(study: StudyResults) -> Found:
    """Accuracy without half of the blocks, as a share of the whole network's."""
    result = deepest(study, "gated")
    if result is None:
        return None
    whole = np.array(result.part("lesion")["whole"], dtype=float)
    kept = 100 * (100 - np.array(_pruned(result, 0.5))) / (100 - whole)
    return [above("accuracy kept, above 90%", kept.tolist(), 90.0, "%")], [result]


def residual_breaks_early(study: StudyResults) -> Found:
    """Residual networks lose more, and early."""
    found = [pair for pair in pairs(study).values() if blocks_of(pair[0]) >= 5]
    if not found:
        return None
    residual, gated = found[-1]
    cost = difference(_pruned(residual, 0.1), residual.part("lesion")["whole"])
    unit = study.measure.points
    parts = [above(f"residual, a tenth removed, over {MILD:g} point lost", cost, MILD, unit)]
    for share in (0.1, 0.25, 0.5):
        name = f"{share:.0%} removed, gated better"
        parts.append(paired(name, _pruned(residual, share), _pruned(gated, share), unit))
    return parts, [residual, gated]


def greedy_beats_random(study: StudyResults) -> Found:
    """Over the whole pruning curve, smallest k first against the mean of random orders."""
    result = deepest(study, "gated")
    if result is None or result.part("prune")["smallest"] is None:
        return None
    random = np.array(result.part("prune")["random"], dtype=float).mean((0, 1)).tolist()
    greedy = np.array(result.part("prune")["smallest"], dtype=float).mean(0).tolist()
    return [paired("mean over the curve", random, greedy, study.measure.points)], [result]


def gated_train_loss(study: StudyResults) -> Found:
    """Training loss at the last epoch, and how the distance changes with depth."""
    found = pairs(study)
    if len(found) < 3:
        return None
    gaps = {
        d: difference(r.last("train_loss"), g.last("train_loss")) for d, (r, g) in found.items()
    }
    parts = [above(f"d = {d}", gap, 0.0, "nats") for d, gap in gaps.items()]
    growth = slope(list(gaps), list(gaps.values()))
    return [*parts, Part("distance for each doubling of the depth", growth, "nats")], flat(found)
