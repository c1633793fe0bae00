"""What is said of convolutional networks on CIFAR.

gresnet (v1 section 4.2, v2 section 3.2) has them with gates and with decay of k; the lecture has
two orders of their layers.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from skipgate.judging.claims.gating import gains
from skipgate.judging.claims.nets import Found, Test, deepest, is_staged, twins, varied
from skipgate.judging.evidence import Part, above, paired
from skipgate.judging.papers import Cell, Paper
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Measure, Recipe, Resnet
from skipgate.specs import Spec

TABLES = ("cifar10-v1", "cifar10-v2")
RELATIVE = "in % of the error"
Numbers = npt.NDArray[np.float64]


def _below(better: str, worse: str) -> str:
    """What the part is called that sets two nets side by side."""
    return f"{better} below {worse}"


def _pairs_of(paper: Paper, worse: str, better: str) -> Iterator[tuple[str, Cell, Cell]]:
    """Cells of two columns, by the part that sets two of their nets side by side."""
    cells = [cell for name in TABLES for cell in paper.tables[name].cells]
    for one in cells:
        for other in cells:
            if (one.row, one.column, other.row, other.column) == (one.row, worse, one.row, better):
                for net in other.nets:
                    yield from ((_below(net, base), one, other) for base in one.nets)


def differs_by_gates(one: Spec, other: Spec) -> bool:
    """Whether the second differs from the first by its gates alone."""
    same = one.settings.body == other.settings.body
    return same and (family(one), family(other)) == ("residual", "gated")


def gated_beats_original(study: StudyResults) -> Found | None:
    """Residual against gated networks; the gain as a share of the error beside it."""
    found = twins(study, differs_by_gates)
    if not found:
        return None
    parts = [
        paired(_below(g.spec.net, r.spec.net), r.score(), g.score(), r.measure.points)
        for r, g in found
    ]
    beside = (
        above(f"{part.name}, {RELATIVE}", gains(r.score(), g.score()), 0.0, "%")
        for part, (r, g) in zip(parts, found, strict=True)
    )
    return Found(parts, [result for pair in found for result in pair], tuple(beside))


def _stated_gains(paper: Paper, _: Measure) -> dict[str, float]:
    pairs = list(_pairs_of(paper, "original", "gated"))
    gaps = {part: one.value - other.value for part, one, other in pairs}
    shares = {
        f"{part}, {RELATIVE}": 100 * (one.value - other.value) / one.value
        for part, one, other in pairs
    }
    return {**gaps, **shares}


def decays_k(base: Spec, variation: Spec) -> bool:
    """Whether the variation, and not the net that it is one of, has weight decay on k."""
    recipes = base.settings.recipe, variation.settings.recipe
    decays = [isinstance(recipe, Recipe) and recipe.decay.gates for recipe in recipes]
    return family(variation) == "gated" and decays == [False, True]


def k_decay_hurts(study: StudyResults) -> Found | None:
    """Gated networks with decay of k against those without."""
    return _of_decays(
        study,
        lambda base, own: paired(
            _below(base.spec.net, own.spec.net), own.score(), base.score(), base.measure.points
        ),
    )


def _stated_harm(paper: Paper, _: Measure) -> dict[str, float]:
    found = _pairs_of(paper, "gated with k decay", "gated")
    return {part: one.value - other.value for part, one, other in found}


def k_decay_closes(study: StudyResults) -> Found | None:
    """What gates let through with decay of k, against what they do without."""
    return _of_decays(
        study,
        lambda base, own: paired(
            f"{own.spec.net}, mean of max(0, k) below {base.spec.net}",
            base.metric("mean_gate"),
            own.metric("mean_gate"),
            "k",
        ),
    )


def _of_decays(study: StudyResults, part: Callable[[Result, Result], Part]) -> Found | None:
    found = varied(study, decays_k)
    results = [result for pair in found for result in pair]
    return Found([part(base, own) for base, own in found], results) if found else None


def gates_of(result: Result) -> Numbers:
    """The k of each block and seed; max(0, k) where results are too old to have k itself."""
    part = result.part("gates")
    return np.array(part.get("k") or part["T"], dtype=float)


def widening(spec: Spec) -> list[int]:
    """The places of the blocks that give more channels than they take.

    The first is one where the network is wider than its stem.
    """
    body = spec.settings.body
    if not isinstance(body, Resnet):
        return []
    return [i for i in range(0, body.count, body.blocks) if i or body.widen > 1]


def _deepest_staged(study: StudyResults) -> Result | None:
    specs = {net: spec for net, spec in study.specs.items() if is_staged(spec)}
    found = deepest(replace(study, specs=specs), "gated")
    return found if found and widening(found.spec) else None


def k_low_at_widening(study: StudyResults) -> Found | None:
    """The largest k of the blocks that widen, against the smallest of the others."""
    result = _deepest_staged(study)
    if result is None:
        return None
    k = gates_of(result)
    places = widening(result.spec)
    own = k[places]
    others = np.delete(k, places, axis=0)
    name = result.spec.net
    lowest = paired(f"{name}, widening blocks lowest", _seeds(others.min(0)), _seeds(own.max(0)))
    means = paired(f"{name}, lower in the mean", _seeds(others.mean(0)), _seeds(own.mean(0)))
    return Found([replace(lowest, unit="k")], [result], (replace(means, unit="k"),))


def k_peaks_last(study: StudyResults) -> Found | None:
    """The last block's k against the largest of the others."""
    result = _deepest_staged(study)
    if result is None:
        return None
    k = gates_of(result)
    name = f"{result.spec.net}, last block above all others"
    return Found([paired(name, _seeds(k[-1]), _seeds(k[:-1].max(0)), "k")], [result])


def _seeds(values: Numbers) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _reordered(one: Spec, other: Spec) -> bool:
    """Whether two residual networks differ by the order of their layers alone."""
    bodies = one.settings.body, other.settings.body
    if not (isinstance(bodies[0], Resnet) and isinstance(bodies[1], Resnet)):
        return False
    orders = bodies[0].order, bodies[1].order
    same = replace(bodies[0], order="pre") == bodies[1]
    return same and orders == ("post", "pre") and family(one) == family(other) == "residual"


def pre_activation_improves(study: StudyResults) -> Found | None:
    """Networks whose main path has a ReLU after every sum, against those where it has none."""
    found = twins(study, _reordered)
    parts = [
        paired(_below(b.spec.net, a.spec.net), a.score(), b.score(), a.measure.points)
        for a, b in found
    ]
    return Found(parts, [result for pair in found for result in pair]) if parts else None


TESTS = {
    "gated-beats-original-cifar": Test(
        "The gated network's test error is below that of the residual one of the same body, data "
        "and training, in each such pair of convolutional networks.",
        gated_beats_original,
        _stated_gains,
    ),
    "k-decay-hurts": Test(
        "The test error of a gated network with weight decay on k is above that of the same "
        "network without, in each such pair.",
        k_decay_hurts,
        _stated_harm,
    ),
    "k-decay-enforces-identity": Test(
        "With weight decay on k the mean of max(0, k) over blocks is smaller than without, in each "
        "such pair.",
        k_decay_closes,
    ),
    "k-low-at-widening": Test(
        "In the deepest gated convolutional network the largest k of a block that gives more "
        "channels than it takes is below the smallest k of the other blocks.",
        k_low_at_widening,
    ),
    "k-peaks-in-the-last-block": Test(
        "In the deepest gated convolutional network the k of the last block is above that of every "
        "other.",
        k_peaks_last,
    ),
    "pre-activation-improves": Test(
        "The test error of a residual network with pre-activation is below that of the one whose "
        "ReLU follows the sum, all else being the same, in each such pair.",
        pre_activation_improves,
    ),
}
