"""What gresnet says of its gates: errors, losses, k and pruning (v1 section 4.1, v2 section 3.1)."""

import itertools

import numpy as np

from skipgate.judging.claims.nets import GUESSING, Found, by_depth, deepest, flat, pairs, slope
from skipgate.judging.evidence import Part, above, paired
from skipgate.judging.statistics import less
from skipgate.results.store import Result, Study

MILD = 1.0
"""An error that grows by fewer points has barely changed."""


def gated_beats_residual(study: Study) -> Found:
    """Gated test error below residual at every depth."""
    found = pairs(study)
    parts = [
        paired(f"d = {d}", r.last("test_error"), g.last("test_error"))
        for d, (r, g) in found.items()
    ]
    return (parts, flat(found)) if len(parts) > 1 else None


def gain_grows(study: Study) -> Found:
    """Relative gain of gating, as a slope over doublings of the depth."""
    found = pairs(study)
    if len(found) < 3:
        return None
    gains = []
    for residual, gated in found.values():
        errors = residual.last("test_error")
        gaps = less(residual.last("test_error"), gated.last("test_error"))
        gains.append(
            [
                None if gap is None or not e else 100 * gap / e
                for gap, e in zip(gaps, errors, strict=True)
            ]
        )
    return [
        Part("gain for each doubling of the depth", slope(list(found), gains), "% of the error")
    ], flat(found)


def classical_fails(study: Study) -> Found:
    """Plain networks of 50 layers and more do not learn."""
    deep = {depth: result for depth, result in by_depth(study, "plain").items() if depth >= 50}
    parts = [
        above(f"d = {d}, error above {GUESSING:g}%", r.last("test_error"), GUESSING)
        for d, r in deep.items()
    ]
    return (parts, list(deep.values())) if parts else None


def k_falls(study: Study) -> Found:
    """Mean k smaller at each next depth."""
    gated = list(by_depth(study, "gated").items())
    steps = itertools.pairwise(gated)
    parts = [
        paired(f"d = {a} to {b}", r.metric("mean_gate"), s.metric("mean_gate"), "k")
        for (a, r), (b, s) in steps
    ]
    return (parts, [r for _, r in gated]) if parts else None


def k_low_in_the_middle(study: Study) -> Found:
    """Mean k of the middle third of the blocks below that of either end."""
    result = deepest(study, "gated")
    if result is None:
        return None
    third = len(result.parts["gates"]["T"]) // 3
    blocks = np.array(result.parts["gates"]["T"], dtype=float)
    first, middle, last = (
        blocks[part].mean(0).tolist()
        for part in (slice(third), slice(third, -third), slice(-third, None))
    )
    return [paired("first third", first, middle, "k"), paired("last third", last, middle, "k")], [
        result
    ]


def _pruned(result: Result, share: float) -> list[float]:
    """Error by seed after a share of the blocks is removed at random, averaged over orders."""
    random = np.array(result.parts["prune"]["random"], dtype=float)
    place = round(share * (random.shape[1] - 1))
    return [float(v) for v in random[:, place].mean(0)]


def half_removed(study: Study) -> Found:
    """Accuracy without half of the blocks, as a share of the whole network's."""
    result = deepest(study, "gated")
    if result is None:
        return None
    whole = np.array(result.parts["lesion"]["whole"], dtype=float)
    kept = 100 * (100 - np.array(_pruned(result, 0.5))) / (100 - whole)
    return [above("accuracy kept, above 90%", kept.tolist(), 90.0, "%")], [result]


def residual_breaks_early(study: Study) -> Found:
    """Residual networks lose more, and early."""
    found = [pair for pair in pairs(study).values() if len(pair[0].parts["gates"]["T"]) >= 5]
    if not found:
        return None
    residual, gated = found[-1]
    cost = less(_pruned(residual, 0.1), residual.parts["lesion"]["whole"])
    parts = [above(f"residual, a tenth removed, over {MILD:g} point lost", cost, MILD)]
    parts += [
        paired(
            f"{share:.0%} removed, gated better", _pruned(residual, share), _pruned(gated, share)
        )
        for share in (0.1, 0.25, 0.5)
    ]
    return parts, [residual, gated]


def greedy_beats_random(study: Study) -> Found:
    """Over the whole pruning curve, smallest k first against the mean of random orders."""
    result = deepest(study, "gated")
    if result is None or result.parts["prune"]["smallest"] is None:
        return None
    random = np.array(result.parts["prune"]["random"], dtype=float).mean((0, 1)).tolist()
    greedy = np.array(result.parts["prune"]["smallest"], dtype=float).mean(0).tolist()
    return [paired("mean over the curve", random, greedy)], [result]


def gated_train_loss(study: Study) -> Found:
    """Training loss at the last epoch, and how the distance changes with depth."""
    found = pairs(study)
    if len(found) < 3:
        return None
    gaps = {d: less(r.last("train_loss"), g.last("train_loss")) for d, (r, g) in found.items()}
    parts = [above(f"d = {d}", gap, 0.0, "nats") for d, gap in gaps.items()]
    growth = slope(list(gaps), list(gaps.values()))
    return [*parts, Part("distance for each doubling of the depth", growth, "nats")], flat(found)
