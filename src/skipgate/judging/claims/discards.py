"""What is said of networks that drop blocks.

These are epsilon-ResNet (sections 3 and 4) and stochastic depth.
"""

import numpy as np

from skipgate.judging.claims.nets import Found, result_of
from skipgate.judging.evidence import Part, above, paired
from skipgate.results.names import family, size
from skipgate.results.store import Result, StudyResults

NO_WORSE = 0.5
"""Points within which two errors count as the same accuracy."""


def _of(study: StudyResults, kind: str) -> Result | None:
    nets = (net for net, spec in study.specs.items() if family(spec) == kind)
    return next((result_of(study, net) for net in nets), None)


def discards_late(study: StudyResults) -> Found:
    """Mean place of the discarded blocks behind the mean place of all, in seeds that discard."""
    result = _of(study, "epsilon")
    if result is None:
        return None
    gates = np.array(result.part("gates")["T"], dtype=float)
    places = np.arange(len(gates)) - (len(gates) - 1) / 2
    margins = tuple(float(places[column == 0].mean()) for column in gates.T if (column == 0).any())
    return [Part("discarded blocks behind the middle", margins, "blocks")], [result]


def lossless_removal(study: StudyResults) -> Found:
    """Removing what the gate has closed for every test image changes not a single answer."""
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
    return [Part("change below half an image", margins, result.measure.points)], [result]


def same_accuracy(study: StudyResults) -> Found:
    """The error is no worse than the residual network's, while blocks are discarded."""
    result = _of(study, "epsilon")
    others = [
        result_of(study, net)
        for net, spec in study.specs.items()
        if result and family(spec) == "residual" and size(spec) == size(result.spec)
    ]
    if result is None or not others:
        return None
    allowed = [None if e is None else e + NO_WORSE for e in others[0].score()]
    closed = (np.array(result.part("gates")["T"], dtype=float) == 0).sum(0).tolist()
    unit = result.measure.points
    no_worse = paired(f"no worse by {NO_WORSE:g} {unit}", allowed, result.score(), unit)
    return [no_worse, above("blocks discarded", closed, 0.0, "blocks")], [result, others[0]]


def all_kept_at_test(study: StudyResults) -> Found:
    """With stochastic depth every block's gate is open at test, at its probability of survival."""
    result = _of(study, "stochastic depth")
    if result is None:
        return None
    least = np.array(result.part("gates")["T"], dtype=float).min(0).tolist()
    return [above("least open gate at test", least, 0.0, "T")], [result]
