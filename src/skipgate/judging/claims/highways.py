"""What unrolled says of highway and residual networks side by side (section 5.1).

It is about how well they fit and generalise, with and without batch normalisation, and what gates
must see. What weights in common cost (section 4.3) is asked in the same way, of a net and its
variation.
"""

from collections.abc import Iterator

from skipgate.judging.claims.gating import SLIGHT
from skipgate.judging.claims.nets import MILD, Found, Test, result_of, varied
from skipgate.judging.evidence import Part, above, below, paired
from skipgate.judging.papers import Paper, column_of
from skipgate.judging.statistics import difference
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Imagenet, Measure
from skipgate.specs import Spec

TABLE = "imagenet-top5"
WITH = "with BN"
WITHOUT = "without BN"
RESNET = "Resnet"
HIGHWAY = "Highway"
FULL = "Highway-Full"
"""Networks and columns as the table calls them."""
LOSS = "nats"
Large = dict[tuple[str, str], Result]
"""50-layer networks by their name and their column in the table."""


def shares_maps(base: Spec, variation: Spec) -> bool:
    """Whether the blocks of a stage have their maps in common in the variation alone."""
    shared = ["maps" in getattr(spec.settings.body, "share", ()) for spec in (base, variation)]
    return shared == [False, True]


def sharing_costs_little(study: StudyResults) -> Found | None:
    """What sharing costs, against a share of all that can be lost."""
    found = varied(study, shares_maps)
    parts = [_slight(base, own) for base, own in found]
    beside = (
        paired(f"{own.spec.net} above {base.spec.net}", own.score(), base.score(), "points")
        for base, own in found
    )
    results = [result for pair in found for result in pair]
    return Found(parts, results, tuple(beside)) if parts else None


def _slight(base: Result, own: Result) -> Part:
    guessing = base.measure.guessing
    allowed = [None if e is None else SLIGHT * (guessing - e) for e in base.score()]
    name = f"{own.spec.net}, cost under {SLIGHT:.0%} of the way to guessing"
    return paired(name, allowed, difference(own.score(), base.score()), base.measure.points)


def narrows_gates(base: Spec, variation: Spec) -> bool:
    """Whether the gates of the variation see one pixel, and those of its base what H sees."""
    return (family(base), family(variation)) == ("highway", "highway, 1x1 gates")


def expressive_gates(study: StudyResults) -> Found | None:
    """How highway networks fit and generalise with gates of 1x1, against gates like H."""
    found = varied(study, narrows_gates)
    parts = [part for base, own in found for part in _worse(base, own)]
    return Found(parts, [result for pair in found for result in pair]) if parts else None


def _worse(base: Result, own: Result) -> Iterator[Part]:
    beside = f"{own.spec.net} above {base.spec.net}"
    losses = own.last("train_loss"), base.last("train_loss")
    yield paired(f"training loss, {beside}", *losses, LOSS)
    yield paired(f"{base.measure.label}, {beside}", own.score(), base.score(), base.measure.points)


def name_of(spec: Spec) -> tuple[str, str] | None:
    """What the paper's table calls a 50-layer network, and its column; None for all others."""
    body = spec.settings.body
    if not isinstance(body, Imagenet) or not body.bottleneck or spec.settings.start:
        return None
    kinds = {"residual": RESNET, "highway": FULL if body.addition == "both" else HIGHWAY}
    kind = kinds.get(family(spec))
    return (kind, WITHOUT if body.norm.absent else WITH) if kind else None


def _large(study: StudyResults, *columns: str) -> Large | None:
    """All three networks in these columns of the table, where the study has them."""
    named = {name: net for net, spec in study.specs.items() if (name := name_of(spec))}
    wanted = [(kind, column) for column in columns for kind in (RESNET, HIGHWAY, FULL)]
    if not named.keys() >= set(wanted):
        return None
    return {name: result_of(study, named[name]) for name in wanted}


def _top5(result: Result) -> list[float | None]:
    """The error by the first few answers, which is the table's."""
    return result.metric(f"test_{result.spec.settings.data.more[0]}")


def _size(values: list[float | None]) -> list[float | None]:
    return [None if value is None else abs(value) for value in values]


def highway_close(study: StudyResults) -> Found | None:
    """How far highway networks are from the residual one, and on which side."""
    nets = _large(study, WITH)
    if nets is None:
        return None
    resnet, highway, full = (_top5(nets[kind, WITH]) for kind in (RESNET, HIGHWAY, FULL))
    apart = {kind: difference(own, resnet) for kind, own in ((HIGHWAY, highway), (FULL, full))}
    parts = [
        below(_within(kind), _size(gap), MILD, study.measure.points) for kind, gap in apart.items()
    ]
    parts.append(paired(AHEAD, highway, resnet, study.measure.points))
    sizes = _size(apart[HIGHWAY]), _size(apart[FULL])
    parts.append(paired(CLOSER, *sizes, study.measure.points))
    return Found(parts, list(nets.values()))


def _within(kind: str) -> str:
    return f"{kind} within {MILD:g} of {RESNET}"


AHEAD = f"{RESNET} better than {HIGHWAY}"
CLOSER = f"{FULL} closer than {HIGHWAY}"


def _stated_distances(paper: Paper, _: Measure) -> dict[str, float]:
    column = column_of(paper, TABLE, WITH)
    gaps = {kind: column[kind] - column[RESNET] for kind in (HIGHWAY, FULL)}
    within = {_within(kind): MILD - abs(gap) for kind, gap in gaps.items()}
    return {**within, AHEAD: gaps[HIGHWAY], CLOSER: abs(gaps[HIGHWAY]) - abs(gaps[FULL])}


def resnet_fits(study: StudyResults) -> Found | None:
    """Training losses at the end; that of Highway-Full beside them."""
    nets = _large(study, WITH)
    if nets is None:
        return None
    losses = {kind: result.last("train_loss") for (kind, _), result in nets.items()}
    part, beside = (
        paired(f"training loss, {kind} above {RESNET}", losses[kind], losses[RESNET], LOSS)
        for kind in (HIGHWAY, FULL)
    )
    return Found([part], list(nets.values()), (beside,))


def without_norm(study: StudyResults) -> Found | None:
    """What leaving out batch normalisation does to either error; Highway-Full beside it."""
    nets = _large(study, WITH, WITHOUT)
    if nets is None:
        return None
    parts = [part for kind in (RESNET, HIGHWAY) for part in _overfits(nets, kind)]
    return Found(parts, list(nets.values()), tuple(_overfits(nets, FULL)))


def _overfits(nets: Large, kind: str) -> Iterator[Part]:
    whole = nets[kind, WITH]
    bare = nets[kind, WITHOUT]
    unit = whole.measure.points
    yield above(_fitted(kind), _gain(nets, kind), 0.0, unit)
    yield paired(_generalised(kind), _top5(bare), _top5(whole), unit)


def _fitted(kind: str) -> str:
    return f"{kind}, training error lower {WITHOUT}"


def _generalised(kind: str) -> str:
    return f"{kind}, validation error higher {WITHOUT}"


def _gain(nets: Large, kind: str) -> list[float | None]:
    """By how much the training error is lower without batch normalisation, per seed."""
    results = (nets[kind, column] for column in (WITH, WITHOUT))
    whole, bare = (result.last(result.measure.training_key) for result in results)
    return difference(whole, bare)


def _stated_harm(paper: Paper, _: Measure) -> dict[str, float]:
    bare, whole = (column_of(paper, TABLE, column) for column in (WITHOUT, WITH))
    return {_generalised(kind): bare[kind] - whole[kind] for kind in bare}


def highway_fits_without_norm(study: StudyResults) -> Found | None:
    """Whether the effect is larger in the highway network, and which of the two fits better."""
    nets = _large(study, WITH, WITHOUT)
    if nets is None:
        return None
    fits = f"training loss {WITHOUT}, {HIGHWAY} below {RESNET}"
    resnet, highway = (nets[kind, WITHOUT].last("train_loss") for kind in (RESNET, HIGHWAY))
    more = f"training error falls by more in {HIGHWAY}"
    gains = _gain(nets, HIGHWAY), _gain(nets, RESNET)
    parts = [
        paired(fits, resnet, highway, LOSS),
        paired(more, *gains, study.measure.points),
    ]
    return Found(parts, list(nets.values()))


TESTS = {
    "weight-sharing-costs-little": Test(
        "A network whose blocks share their weights within a stage, as far as they have the same "
        f"shape, errs more than the same network without by less than {SLIGHT:.0%} of the way from "
        "the latter's error to that of guessing.",
        sharing_costs_little,
    ),
    "expressive-gates-needed": Test(
        "A highway network whose gates see one pixel ends with a higher training loss and a higher "
        "test error than the same network with gates that see what H does.",
        expressive_gates,
    ),
    "highway-close-to-resnet": Test(
        "The top-5 errors of both highway networks are within "
        f"{MILD:g} point of that of the residual network with as many parameters, which is below "
        "that of Highway; and Highway-Full is closer to it than Highway.",
        highway_close,
        _stated_distances,
    ),
    "resnet-fits-better": Test(
        "In the last epoch the highway network's training loss is above the residual one's, with "
        "batch normalisation and as many parameters.",
        resnet_fits,
    ),
    "without-norm-overfits": Test(
        "Without batch normalisation the training error of the last epoch is lower and the top-5 "
        "error on the validation set higher than with it, in the residual and in the highway "
        "network.",
        without_norm,
        _stated_harm,
    ),
    "highway-fits-better-without-norm": Test(
        "Without batch normalisation the highway network's last training loss is below the "
        "residual one's, and its training error has fallen by more.",
        highway_fits_without_norm,
    ),
}
