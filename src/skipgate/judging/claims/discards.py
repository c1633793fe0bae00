"""What is said of networks that drop blocks: epsilon-ResNet (sections 3 and 4) and stochastic depth (in the lecture)."""

import numpy as np

from skipgate.judging.claims.nets import Found, result_of
from skipgate.judging.evidence import Part, above, paired
from skipgate.results.names import family, size
from skipgate.results.store import Result, Study

NO_WORSE = 0.5
"""Points within which two errors count as the same accuracy."""


def _of(study: Study, kind: str) -> Result | None:
    return next(
        (result_of(study, net) for net, spec in study.specs.items() if family(spec) == kind), None
    )


def discards_late(study: Study) -> Found:
    """Mean place of the discarded blocks behind the mean place of all, in seeds that discard."""
    result = _of(study, "epsilon")
    if result is None:
        return None
    gates = np.array(result.parts["gates"]["T"], dtype=float)
    places = np.arange(len(gates)) - (len(gates) - 1) / 2
    margins = tuple(float(places[column == 0].mean()) for column in gates.T if (column == 0).any())
    return [Part("discarded blocks behind the middle", margins, "blocks")], [result]


def lossless_removal(study: Study) -> Found:
    """Removing what the gate has closed for every test image changes no answer: not by a single image."""
    result = _of(study, "epsilon")
    if result is None:
        return None
    images = result.spec.settings.data.test
    gates = np.array(result.parts["gates"]["T"], dtype=float)
    lesion = result.parts["lesion"]
    change = np.abs(
        np.array(lesion["without"], dtype=float) - np.array(lesion["whole"], dtype=float)
    )
    margins = tuple(
        float(50 / images - c[g == 0].max())
        for g, c in zip(gates.T, change.T, strict=True)
        if (g == 0).any()
    )
    return [Part("change below half an image", margins)], [result]


def same_accuracy(study: Study) -> Found:
    """The error is no worse than the residual network's, while blocks are discarded."""
    result = _of(study, "epsilon")
    others = [
        result_of(study, net)
        for net, spec in study.specs.items()
        if result and family(spec) == "residual" and size(spec) == size(result.spec)
    ]
    if result is None or not others:
        return None
    allowed = [None if e is None else e + NO_WORSE for e in others[0].last("test_error")]
    closed = (np.array(result.parts["gates"]["T"], dtype=float) == 0).sum(0).tolist()
    parts = [paired(f"no worse by {NO_WORSE:g} points", allowed, result.last("test_error"))]
    return [*parts, above("blocks discarded", closed, 0.0, "blocks")], [result, others[0]]


def all_kept_at_test(study: Study) -> Found:
    """With stochastic depth every block's gate is open at test, at its probability of survival."""
    result = _of(study, "stochastic depth")
    if result is None:
        return None
    least = np.array(result.parts["gates"]["T"], dtype=float).min(0).tolist()
    return [above("least open gate at test", least, 0.0, "T")], [result]
