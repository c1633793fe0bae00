"""What is said of networks that drop blocks.

These are epsilon-ResNet (sections 3 and 4) and stochastic depth.
"""

import numpy as np

from skipgate.judging.claims.nets import MANY, Found, Test, blocks_of, result_of
from skipgate.judging.evidence import Part, above, paired
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults

NO_WORSE = 0.5
"""Points within which two errors count as the same accuracy."""


def _of(study: StudyResults, kind: str) -> Result | None:
    nets = (net for net, spec in study.specs.items() if family(spec) == kind)
    return next((result_of(study, net) for net in nets), None)


def lossless_removal(study: StudyResults) -> Found | None:
    """What removing blocks that the gate has closed for every test image changes."""
    result = _of(study, "epsilon")
    if result is None:
        return None
    images = result.spec.settings.data.test
    gates = np.array(result.part("gates")["T"], dtype=float)
    lesion = result.part("lesion")
    without = np.array(lesion["without"], dtype=float)
    change = np.abs(without - np.array(lesion["whole"], dtype=float))
    seeds = zip(gates.T, change.T, strict=True)
    margins = tuple(float(50 / images - c[g == 0].max()) for g, c in seeds if (g == 0).any())
    return Found([Part("change below half an image", margins, result.measure.points)], [result])


def same_accuracy(study: StudyResults) -> Found | None:
    """The error beside that of a residual network of the very same body, and what is discarded."""
    result = _of(study, "epsilon")
    others = [
        result_of(study, net)
        for net, spec in study.specs.items()
        if result and family(spec) == "residual" and spec.settings.body == result.spec.settings.body
    ]
    if result is None or not others:
        return None
    allowed = [None if e is None else e + NO_WORSE for e in others[0].score()]
    closed = (np.array(result.part("gates")["T"], dtype=float) == 0).sum(0)
    share = (closed / blocks_of(result.spec)).tolist()
    unit = result.measure.points
    parts = [
        paired(f"no worse by {NO_WORSE:g} {unit}", allowed, result.score(), unit),
        above(f"share of blocks discarded, above {MANY:g}", share, MANY),
    ]
    return Found(parts, [result, others[0]])


def all_kept_at_test(study: StudyResults) -> Found | None:
    """The gates of stochastic depth at test, which are their probabilities of survival."""
    result = _of(study, "stochastic depth")
    if result is None:
        return None
    least = np.array(result.part("gates")["T"], dtype=float).min(0).tolist()
    return Found([above("least open gate at test", least, 0.0, "T")], [result])


TESTS = {
    "lossless-removal": Test(
        "Removing the block that costs most, of those that the gate has closed for every test "
        "image, changes the error rate by less than half an image.",
        lossless_removal,
    ),
    "same-accuracy-fewer-layers": Test(
        f"The error is at most {NO_WORSE:g} points above that of a residual network with the same "
        f"body and shortcuts, and over {MANY:.0%} of the blocks are discarded.",
        same_accuracy,
    ),
    "stochastic-depth": Test(
        "Every block's gate is open at test.",
        all_kept_at_test,
    ),
}
