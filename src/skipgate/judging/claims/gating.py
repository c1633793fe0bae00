"""What gresnet says of its gates (v1 section 4.1, v2 section 3.1).

It is about errors, losses, k, pruning and speed.
"""

import itertools

import numpy as np

from skipgate.judging.claims.depth import depths_of, gaps
from skipgate.judging.claims.nets import (
    FEWEST,
    Found,
    Test,
    blocks_of,
    by_depth,
    deepest,
    flat,
    mean_of,
    pairs,
    pruned,
    result_of,
    slope,
)
from skipgate.judging.evidence import Part, above, paired
from skipgate.judging.papers import Paper, column_of
from skipgate.judging.quantities import thirds
from skipgate.judging.statistics import difference
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Measure

SLIGHT = 0.1
"""A share of what removing blocks can cost at all that is slight, as in `estimates.SMALL`."""
KEPT = 90.0
FEW = 0.1
HALF = 0.5
POOLED = "mean over depths"
GAIN = "gain for each doubling of the depth"
DISTANCE = "distance for each doubling of the depth"


def gated_beats_residual(study: StudyResults) -> Found | None:
    """Gated against residual test error at every depth, and on average over depths."""
    found = pairs(study)
    unit = study.measure.points
    parts = [paired(f"d = {d}", r.score(), g.score(), unit) for d, (r, g) in found.items()]
    if len(parts) < 2:
        return None
    pooled = mean_of([difference(r.score(), g.score()) for r, g in found.values()])
    return Found(parts, flat(found), (Part(POOLED, pooled, unit),))


def _gated_gaps(paper: Paper, _: Measure) -> dict[str, float]:
    rows = gaps(paper, "residual", "gated")
    return {**rows, POOLED: float(np.mean(list(rows.values())))}


def gain_grows(study: StudyResults) -> Found | None:
    """Relative gain of gating, as a slope over doublings of the depth."""
    found = pairs(study)
    if len(found) < 3:
        return None
    rows = [gains(residual.score(), gated.score()) for residual, gated in found.values()]
    return Found([Part(GAIN, slope(list(found), rows), "% of the error")], flat(found))


def gains(residual: list[float | None], gated: list[float | None]) -> list[float | None]:
    """What gating gains, in % of the residual error."""
    rows = zip(difference(residual, gated), residual, strict=False)
    return [None if gap is None or not error else 100 * gap / error for gap, error in rows]


def _stated_gain(paper: Paper, _: Measure) -> dict[str, float]:
    rows = gaps(paper, "residual", "gated")
    residual = column_of(paper, "mnist-test-error", "residual")
    stated = [[100 * gap / residual[row]] for row, gap in rows.items()]
    return {GAIN: slope(depths_of(rows), stated)[0]}


def k_falls(study: StudyResults) -> Found | None:
    """Mean k smaller at each next depth."""
    gated = list(by_depth(study, "gated").items())
    steps = itertools.pairwise(gated)
    parts = [
        paired(f"d = {a} to {b}", r.metric("mean_gate"), s.metric("mean_gate"), "k")
        for (a, r), (b, s) in steps
    ]
    return Found(parts, [r for _, r in gated]) if parts else None


def _stated_steps(paper: Paper, _: Measure) -> dict[str, float]:
    k = column_of(paper, "mnist-mean-k", "mean k")
    steps = itertools.combinations(zip(depths_of(k), k.values(), strict=True), 2)
    return {f"d = {a} to {b}": first - second for (a, first), (b, second) in steps}


def k_low_in_the_middle(study: StudyResults) -> Found | None:
    """Mean k of the middle third of the blocks below that of either end."""
    result = deepest(study, "gated")
    if result is None:
        return None
    first, middle, last = thirds(result)
    parts = [
        paired("first third above the middle", first, middle, "k"),
        paired("last third above the middle", last, middle, "k"),
    ]
    return Found(parts, [result])


def half_removed(study: StudyResults) -> Found | None:
    """Accuracy without half of the blocks, as a share of the whole network's."""
    result = deepest(study.asked("lesion", "prune"), "gated")
    if result is None:
        return None
    whole = np.array(result.part("lesion")["whole"], dtype=float)
    kept = 100 * (100 - np.array(pruned(result, HALF))) / (100 - whole)
    return Found([above(f"accuracy kept, above {KEPT:g}%", kept.tolist(), KEPT, "%")], [result])


def residual_breaks_early(study: StudyResults) -> Found | None:
    """Residual networks lose more, and early."""
    found = [pair for pair in pairs(study).values() if blocks_of(pair[0].spec) >= FEWEST]
    if not found:
        return None
    residual, gated = found[-1]
    cost = difference(pruned(residual, FEW), residual.part("lesion")["whole"])
    unit = study.measure.points
    parts = [above(f"residual, {FEW:.0%} removed, lost", cost, 0.0, unit)]
    for share in (FEW, 0.25, HALF):
        name = f"{share:.0%} removed, gated better"
        parts.append(paired(name, pruned(residual, share), pruned(gated, share), unit))
    return Found(parts, [residual, gated])


def greedy_beats_random(study: StudyResults) -> Found | None:
    """Over the whole pruning curve, smallest k first against the mean of random orders."""
    result = deepest(study.asked("lesion", "prune"), "gated")
    if result is None or result.part("prune")["smallest"] is None:
        return None
    random = np.array(result.part("prune")["random"], dtype=float).mean((0, 1))
    greedy = np.array(result.part("prune")["smallest"], dtype=float).mean(0)
    whole = np.array(result.part("lesion")["whole"], dtype=float)
    slight = SLIGHT * (result.measure.guessing - whole)
    unit = result.measure.points
    parts = [
        paired("better, mean over the curve", random.tolist(), greedy.tolist(), unit),
        paired("slightly so", slight.tolist(), (random - greedy).tolist(), unit),
    ]
    return Found(parts, [result])


def gated_train_loss(study: StudyResults) -> Found | None:
    """How far the curves of training losses are apart in the second half of the epochs."""
    found = pairs(study)
    if len(found) < 3:
        return None
    apart = {d: difference(_late_loss(r), _late_loss(g)) for d, (r, g) in found.items()}
    part = Part(DISTANCE, slope(list(apart), list(apart.values())), "nats")
    beside = (above(f"d = {d}, residual less gated", gap, 0.0, "nats") for d, gap in apart.items())
    return Found([part], flat(found), tuple(beside))


def _late_loss(result: Result) -> list[float | None]:
    """Mean training loss over the second half of the epochs, per seed."""
    halves = [column[len(column) // 2 :] for column in result.curve("train_loss")]
    return [None if None in half else float(np.mean(np.array(half))) for half in halves]


def faster_pruned(study: StudyResults) -> Found | None:
    """Time saved by removing half of the blocks, network by network."""
    nets = [
        net for net, s in study.specs.items() if family(s) == "gated" and blocks_of(s) >= FEWEST
    ]
    if len(nets) < 2:
        return None
    results = [result_of(study, net) for net in nets]
    saved = tuple(_saved(result) for result in results)
    return Found([Part("time saved, one margin a network", saved, "%")], results)


def _saved(result: Result) -> float:
    speed = result.part("speed")
    half = HALF * blocks_of(result.spec)
    place = max(i for i, removed in enumerate(speed["removed"]) if removed <= half)
    return float(100 * (1 - speed["seconds"][place] / speed["seconds"][0]))


TESTS = {
    "gated-beats-residual-mnist": Test(
        "At each depth the gated network's test error is below the residual one's.",
        gated_beats_residual,
        _gated_gaps,
    ),
    "gain-grows-with-depth": Test(
        "What gating gains, in % of the residual test error, grows with depth, as a slope over "
        "doublings of d.",
        gain_grows,
        _stated_gain,
    ),
    "k-falls-with-depth": Test(
        "The mean of max(0, k) over blocks is smaller at each next depth.",
        k_falls,
        _stated_steps,
    ),
    "k-low-in-the-middle": Test(
        "In the deepest gated network the mean of max(0, k) over the middle third of the blocks "
        "is below that of the first and that of the last third.",
        k_low_in_the_middle,
    ),
    "half-removed-90": Test(
        f"In the deepest gated network the accuracy without half of the blocks, removed at random, "
        f"is above {KEPT:g}% of the whole network's, averaged over orders.",
        half_removed,
    ),
    "residual-breaks-early": Test(
        f"At the largest depth the residual network errs more when {FEW:.0%} of its blocks are "
        "removed at random, and the gated one errs less than it with as many "
        f"removed, at {FEW:.0%}, 25% and {HALF:.0%}.",
        residual_breaks_early,
    ),
    "greedy-beats-random": Test(
        "Averaged over the whole curve of removed blocks, removing the smallest k first errs less "
        f"than removing at random, by less than {SLIGHT:.0%} of the way from the whole network's "
        "error to that of guessing.",
        greedy_beats_random,
    ),
    "gated-train-loss": Test(
        "The residual network's training loss less the gated one's, averaged over the second half "
        "of the epochs, grows with depth, as a slope over doublings of d.",
        gated_train_loss,
    ),
    "faster-when-pruned": Test(
        "The gated networks take less time for a batch once half of their blocks, rounded down, "
        "are removed, the networks being the draws.",
        faster_pruned,
    ),
}
