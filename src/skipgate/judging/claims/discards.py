"""What is said of networks that drop blocks.

These are epsilon-ResNet (sections 1, 3 and 4) and stochastic depth. Of nets that differ by epsilon
alone, one decides, by what it discards and not by how well it does: that of the smallest epsilon at
which a fifth of the blocks goes, or of the largest if there is none. The others stand beside it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from skipgate.judging.claims.collapse import against_decay
from skipgate.judging.claims.nets import (
    MANY,
    MILD,
    Found,
    Test,
    aside,
    blocks_of,
    has_learnt,
    is_staged,
    result_of,
)
from skipgate.judging.evidence import Part, above, below, paired
from skipgate.judging.papers import Paper
from skipgate.results import turns
from skipgate.results.discards import (
    COMPRESSED,
    by_stage,
    collapsed,
    epsilon_of,
    has_record,
    layers_of,
    pair,
    records,
    saved,
    share,
    side_of,
    strict,
)
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults
from skipgate.settings import Body, ConstantRate, GateChoice, Imagenet, Measure, Mlp, Recipe, Resnet
from skipgate.specs import Settings, Spec, digest_of

NO_WORSE = 0.5
"""Points within which two errors count as the same accuracy."""
LIKE_DECAY = 0.1
"""Share by which the fall of weights may differ from that by decay alone."""
LATE = 0.25
"""The last part of a training, in which as large a part of the rise is no levelling off."""
FEW_LAYERS = 98
MANY_LAYERS = 302
"""Between which the paper sees the error fall, and not strictly: 6n + 2 nearest to 100 and 300."""
WORSE = "of 254 layers above that of 200"
OVERALL = "of the shallowest above that of the deepest"


def sweeps(study: StudyResults) -> list[list[Spec]]:
    """Epsilon nets that are asked what they discard, in groups that differ by epsilon alone.

    The smallest epsilon comes first.
    """
    groups: dict[str, list[Spec]] = {}
    for spec in study.asked("identity").specs.values():
        if family(spec) == "epsilon":
            key = digest_of(spec.dataset, _but_epsilon(spec.settings))
            groups.setdefault(key, []).append(spec)
    return [sorted(group, key=epsilon_of) for group in groups.values()]


def _but_epsilon(settings: Settings) -> Settings:
    rest = {key: value for key, value in settings.T.settings.items() if key != "epsilon"}
    return replace(settings, T=GateChoice("epsilon", rest))


Admits = Callable[[Spec], bool]


def _everything(_: Spec) -> bool:
    return True


def deciding(study: StudyResults, admits: Admits = _everything) -> list[Result]:
    """One net of each sweep of such nets.

    Sweeps of nothing but variations decide nothing, nor do gates that look at samples where others
    look at batches, as the authors' do.
    """
    main = [
        group
        for group in sweeps(study)
        if admits(group[0]) and any(spec.net not in study.changes for spec in group)
    ]
    by_batch = [group for group in main if group[0].settings.T.settings["over"] == "batch"]
    return [_decides([result_of(study, spec.net) for spec in g]) for g in by_batch or main]


def _decides(sweep: Sequence[Result]) -> Result:
    return next((result for result in sweep if _mean(share(result)) > MANY), sweep[-1])


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else 0.0


def _of_deciding(
    study: StudyResults,
    parts: Callable[[Result], list[Part]],
    admits: Admits = _everything,
    *,
    of_errors: bool = False,
) -> Found | None:
    """What the nets that decide say; beside them, the others.

    One of which a seed has not learnt says nothing of trained networks, but all `of_errors`.
    """
    found = deciding(study, admits)
    chosen = [result for result in found if of_errors or has_learnt(result)]
    failed = [result for result in found if result not in chosen]
    names = {result.spec.net for result in found}
    every = [spec for group in sweeps(study) if admits(group[0]) for spec in group]
    others = [result_of(study, spec.net) for spec in every if spec.net not in names]
    made = {result.spec.net: parts(result) for result in chosen}
    said = [part for each in made.values() for part in each]
    known = [result for result in chosen if made[result.spec.net]]
    shown = aside(failed, parts, "a seed failed") + aside(others, parts, "does not decide")
    beside = [part for part in shown if part.margins]
    return Found(said, known, tuple(beside)) if said else None


def _named(result: Result, what: str) -> str:
    """What a part is called: the net, and below it what it says of it."""
    return f"{result.spec.net}:<br>{what}"


def _where_discarded(result: Result, values: Sequence[float | None]) -> list[float | None]:
    """The values of the seeds that have discarded anything."""
    return [v if s else None for v, s in zip(values, share(result), strict=True)]


def lossless_removal(study: StudyResults) -> Found | None:
    """How many test images are predicted otherwise without the blocks; outputs beside it."""

    def fewer(result: Result, key: str, what: str) -> Part:
        counts = _where_discarded(result, result.part("identity")[key])
        return below(_named(result, f"{what} that change, below half a one"), counts, 0.5)

    found = _of_deciding(study, lambda r: [fewer(r, "changed", "predictions")])
    if found is None:
        return None
    bits = tuple(fewer(r, "unlike", "outputs, to the last bit,") for r in found.results)
    return replace(found, beside=(*bits, *found.beside))


def same_accuracy(study: StudyResults) -> Found | None:
    """The error beside that of a residual network of the very same body, and what is discarded."""
    return _no_worse(study, NO_WORSE, lambda spec: not _is_large(spec))


def marginal_loss(study: StudyResults) -> Found | None:
    """The same on ImageNet, where the paper admits a loss."""
    return _no_worse(study, MILD, _is_large)


def _is_large(spec: Spec) -> bool:
    return isinstance(spec.settings.body, Imagenet)


def _no_worse(study: StudyResults, points: float, admits: Admits) -> Found | None:
    def parts(result: Result) -> list[Part]:
        other = twin(study, result.spec)
        if other is None:
            return []
        base = result_of(study, other.net)
        allowed = [None if e is None else e + points for e in base.score()]
        unit = result.measure.points
        within = f"by {points:g}{_otherwise(result, other)}"
        name = _named(result, f"no worse than {other.net}<br>{within}")
        discards = _named(result, f"share of blocks discarded, above {MANY:g}")
        return [
            paired(name, allowed, result.score(), unit),
            above(discards, share(result), MANY),
        ]

    found = _of_deciding(study, parts, admits, of_errors=True)
    if found is None:
        return None
    bases = [twin(study, result.spec) for result in found.results]
    results = [*found.results, *(result_of(study, spec.net) for spec in bases if spec)]
    own = [part for result in found.results for part in _from_scratch(study, result)]
    return Found(found.parts, results, (*own, *found.beside))


def _otherwise(result: Result, other: Spec) -> str:
    """What else a twin has than the network that it is set beside."""
    side = "" if side_of(other) == side_of(result.spec) else ", no side loss"
    same = other.settings.recipe == result.spec.settings.recipe
    return side if same else f"{side}, at other rates"


def twin(study: StudyResults, spec: Spec) -> Spec | None:
    """The residual network of the same body and data, by the same recipe.

    Failing that, one without side supervision, or by a recipe that differs in epochs, or in rates
    too: the paper's own epsilon networks train for longer, at rates that no other network can have.
    """

    def unlike(other: Spec) -> tuple[bool, ...]:
        ours = spec.settings
        theirs = other.settings
        epochs = getattr(ours.recipe, "epochs", 0), getattr(theirs.recipe, "epochs", 0)
        return ours.body != theirs.body, ours.recipe != theirs.recipe, epochs[0] != epochs[1]

    same = [
        other
        for other in study.specs.values()
        if family(other) == "residual"
        and other.dataset == spec.dataset
        and layers_of(other) == layers_of(spec)
        and but_depth(other) in (but_depth(spec), (but_depth(spec)[0], 0.0))
        and but_rates(other) == but_rates(spec)
    ]
    return min(same, key=unlike, default=None)


def but_rates(spec: Spec) -> Any:
    """The recipe without what changes over time: epochs, rates, and how the decay falls."""
    recipe = spec.settings.recipe
    if not isinstance(recipe, Recipe):
        return recipe
    # How blocks are kept in memory decides no number.
    told = replace(recipe, checkpointed=False, compiled=False)
    decay = replace(recipe.decay, fall=1.0, every=0)
    return replace(told, epochs=1, schedule=ConstantRate("constant"), decay=decay)


def _from_scratch(study: StudyResults, result: Result) -> list[Part]:
    """The compressed network against a residual one of its own depth: not the paper's question."""
    left = float(np.nanmean(pair(result, "layers")[COMPRESSED]))
    shallow = [
        spec
        for spec in study.specs.values()
        if family(spec) == "residual"
        and spec.dataset == result.spec.dataset
        and but_rates(spec) == but_rates(result.spec)
        and but_depth(spec) == but_depth(result.spec)
        and layers_of(spec) < layers_of(result.spec)
        and spec.net in study.results
    ]
    if not shallow:
        return []
    nearest = min(shallow, key=lambda spec: abs(layers_of(spec) - left))
    name = (
        f"{result.spec.net}, {left:.0f} layers left:<br>below {nearest.net}, "
        f"{layers_of(nearest)} from scratch; our own question"
    )
    errors = pair(result, "errors")[COMPRESSED].tolist()
    scores = study.results[nearest.net].score()
    return [paired(name, scores, errors, result.measure.points)]


def but_depth(spec: Spec) -> tuple[Body, float]:
    """The body without its number of blocks and loss on the side, and the weight of the latter."""
    body = spec.settings.body
    if isinstance(body, Resnet):
        return replace(body, blocks=1, side=0.0), body.side
    if isinstance(body, Imagenet):
        return replace(body, blocks=(1,) * len(body.blocks), side=0.0), body.side
    return (replace(body, depth=body.layers) if isinstance(body, Mlp) else body), 0.0


def larger_epsilon(study: StudyResults) -> Found | None:
    """How the discarded share changes with epsilon, in nets that differ by nothing else."""
    found = [group for group in sweeps(study) if len(group) > 1]
    if not found:
        return None
    parts = []
    results = []
    for group in found:
        nets = [result_of(study, spec.net) for spec in group]
        first, *_, last = (result.spec.net for result in nets)
        parts.append(Part(f"{first} to<br>{last}: share per unit of epsilon", _rises(nets)))
        results += nets
    return Found(parts, results)


def _rises(sweep: Sequence[Result]) -> tuple[float, ...]:
    """By seed, the slope of the discarded share over epsilon."""
    epsilons = [epsilon_of(result.spec) for result in sweep]
    columns = zip(*map(share, sweep), strict=False)
    known = [np.array(column, dtype=float) for column in columns if None not in column]
    return tuple(float(np.polyfit(epsilons, column, 1)[0]) for column in known)


def late_layers(study: StudyResults) -> Found | None:
    """The discarded share of the last stage against the first's, with side supervision if any.

    Of networks in one stage, that of the second half against that of the first.
    """

    def parts(result: Result) -> list[Part]:
        stages = by_stage(result)
        words = "last stage's share above the first's"
        if len(stages) < 2:
            stages = np.array([half.mean(0) for half in np.array_split(strict(result), 2)])
            words = "second half's share above the first's"
        last, first = (_where_discarded(result, stages[i].tolist()) for i in (-1, 0))
        how = "" if side_of(result.spec) else ", no side supervision"
        return [paired(_named(result, f"{words}{how}"), last, first)]

    supervised = any(side_of(spec) for group in sweeps(study) for spec in group)
    return _of_deciding(study, parts, lambda spec: bool(side_of(spec)) == supervised)


def weights_fall_towards_output(study: StudyResults) -> Found | None:
    """The rank correlation of the spread of a block's weights with its place.

    Beside it the same within stages, as wider stages start with smaller weights.
    """

    def parts(result: Result) -> list[Part]:
        name = _named(result, "fall over all blocks")
        return [Part(name, _falls(result, within=False))] if has_record(result) else []

    found = _of_deciding(study, parts, lambda spec: bool(side_of(spec)))
    if found is None:
        return None
    within = tuple(
        Part(_named(r, "fall within stages"), _falls(r, within=True)) for r in found.results
    )
    return replace(found, beside=(*within, *found.beside))


def _falls(result: Result, *, within: bool) -> tuple[float, ...]:
    found = []
    for record in filter(None, records(result)):
        high, low = (np.array(record["percentiles"][p], dtype=float)[:, -1] for p in ("93", "7"))
        stages = np.array(record["stage"]) if within else np.zeros(len(high))
        groups = [(high - low)[stages == stage] for stage in np.unique(stages)]
        ranks = [-stats.spearmanr(range(len(g)), g).statistic for g in groups if len(g) > 1]
        if ranks and np.isfinite(ranks).all():
            found.append(float(np.mean(ranks)))
    return tuple(found)


def discard_saturates(study: StudyResults) -> Found | None:
    """How many blocks the first epoch, the last and those of the last quarter discard."""

    def parts(result: Result) -> list[Part]:
        if not has_record(result):
            return []
        counts = np.array(result.curve("discarded"), dtype=float) / blocks_of(result.spec)
        counts = counts[np.isfinite(counts).all(1)]
        late = counts.shape[1] - 1 - round(LATE * (counts.shape[1] - 1))
        rise = counts[:, -1] - counts[:, 0]
        levels = (LATE * rise - (counts[:, -1] - counts[:, late])).tolist()
        return [
            Part(_named(result, "rise of the share"), tuple(rise.tolist())),
            Part(_named(result, f"{LATE:g} of it above that of the last {LATE:g}"), tuple(levels)),
        ]

    return _of_deciding(study, parts)


def weight_collapse(study: StudyResults) -> Found | None:
    """The fall of the largest weight of blocks that are shut for good, against decay alone."""

    def parts(result: Result) -> list[Part]:
        ratios = [np.array(against_decay(result, seed)) for seed in range(result.spec.seeds)]
        off = [float(np.abs(each - 1).mean()) if len(each) else None for each in ratios]
        name = _named(result, f"fall unlike that by decay alone, below {LIKE_DECAY:.0%}")
        return [below(name, off, LIKE_DECAY)] if has_record(result) else []

    found = _of_deciding(study, parts)
    if found is None:
        return None
    gone = tuple(_collapsed_share(result) for result in found.results)
    return replace(found, beside=(*gone, *found.beside))


def _collapsed_share(result: Result) -> Part:
    """Of the blocks that are shut after the last epoch, how many have collapsed by then."""
    shut = [sum(map(turns.is_on, r["shut"])) if r else 0 for r in records(result)]
    pairs = zip(collapsed(result), shut, strict=True)
    shares = [gone / count if count and gone is not None else None for gone, count in pairs]
    return above(_named(result, "share of shut blocks that have collapsed"), shares, 0.0)


def memory_falls(study: StudyResults) -> Found | None:
    """The memory of parameters that compression saves in the deepest network on each data set."""

    def parts(result: Result) -> list[Part]:
        name = _named(result, f"share of memory saved, above {MANY:g}")
        return [above(name, saved(result, "memory"), MANY)]

    depths: dict[str, int] = {}
    for group in sweeps(study):
        depths[group[0].dataset] = max(layers_of(group[0]), depths.get(group[0].dataset, 0))
    return _of_deciding(study, parts, lambda spec: layers_of(spec) == depths[spec.dataset])


def side_helps(study: StudyResults) -> Found | None:
    """Residual networks with and without a loss on the side, by the same recipe."""
    residual = [s for s in study.specs.values() if family(s) == "residual" and is_staged(s)]
    pairs = [
        (result_of(study, one.net), result_of(study, other.net))
        for one in residual
        for other in residual
        if not side_of(one) and side_of(other) and _but_side(one) == _but_side(other)
    ]
    parts = [
        paired(_named(b, f"below {a.spec.net}"), a.score(), b.score(), a.measure.points)
        for a, b in pairs
    ]
    return Found(parts, [result for both in pairs for result in both]) if pairs else None


def _but_side(spec: Spec) -> tuple[str, Settings]:
    body: Any = spec.settings.body
    return spec.dataset, replace(spec.settings, body=replace(body, side=0.0))


def depths_of(study: StudyResults) -> list[dict[int, Spec]]:
    """Residual networks on the same data that differ by their depth alone, by layers."""
    groups: dict[str, dict[int, Spec]] = {}
    for spec in study.specs.values():
        if family(spec) == "residual" and is_staged(spec):
            settings = replace(spec.settings, body=but_depth(spec)[0])
            key = digest_of(spec.dataset, settings, side_of(spec))
            groups.setdefault(key, {}).setdefault(layers_of(spec), spec)
    return [dict(sorted(group.items())) for group in groups.values() if len(group) > 1]


def not_monotone(study: StudyResults) -> Found | None:
    """The error of 254 layers against that of 200, which the paper names, and of both ends."""
    for group in depths_of(study):
        between = [layers for layers in group if FEW_LAYERS <= layers <= MANY_LAYERS]
        if {200, 254} <= set(between) and len(between) > 3:
            ends = [result_of(study, group[n].net) for n in (min(between), 200, 254, max(between))]
            first, middle, deeper, last = (result.score() for result in ends)
            unit = ends[0].measure.points
            parts = [
                paired(f"error {WORSE}", deeper, middle, unit),
                paired(f"error {OVERALL}", first, last, unit),
            ]
            return Found(parts, ends)
    return None


def _stated_depths(paper: Paper, _: Measure) -> dict[str, float]:
    cells = {cell.row: cell.value for cell in paper.tables["cifar10-depth"].cells}
    return {f"error {WORSE}": cells["254 layers"] - cells["200 layers"]}


def all_kept_at_test(study: StudyResults) -> Found | None:
    """The gates of stochastic depth at test, which are their probabilities of survival."""
    nets = (net for net, spec in study.specs.items() if family(spec) == "stochastic depth")
    result = next((result_of(study, net) for net in nets), None)
    if result is None:
        return None
    least = np.array(result.part("gates")["T"], dtype=float).min(0).tolist()
    return Found([above("least open gate at test", least, 0.0, "T")], [result])


DECIDES = "the smallest epsilon at which over a fifth of the blocks goes (else the largest) decides"
TESTS = {
    "lossless-removal": Test(
        "The network without the blocks that are shut over the whole training set predicts every "
        f"test image as before; {DECIDES}.",
        lossless_removal,
    ),
    "same-accuracy-fewer-layers": Test(
        f"The error is at most {NO_WORSE:g} points above that of a residual network with the same "
        f"body, data and recipe, and over {MANY:.0%} of the blocks are discarded; {DECIDES}.",
        same_accuracy,
    ),
    "marginal-loss-imagenet": Test(
        f"The error is at most {MILD:g} points above that of a residual network with the same "
        f"body, data and recipe, and over {MANY:.0%} of the blocks are discarded; {DECIDES}.",
        marginal_loss,
    ),
    "weight-collapse": Test(
        "In blocks that stay shut to the end, the logarithm of the largest weight falls by as much "
        f"as decay and momentum alone would have it, within {LIKE_DECAY:.0%}; {DECIDES}.",
        weight_collapse,
    ),
    "larger-epsilon-more-discarded": Test(
        "In networks that differ by epsilon alone, the line through the discarded shares rises.",
        larger_epsilon,
    ),
    "discards-late-layers": Test(
        "A larger share of the last stage's blocks is discarded than of the first's, or of the "
        f"second half's where there is one stage, in the seeds that discard any; {DECIDES}.",
        late_layers,
    ),
    "weights-fall-towards-output": Test(
        "The spread of a block's weights, from the 7th to the 93rd percentile, has a negative rank "
        f"correlation with its place; {DECIDES}.",
        weights_fall_towards_output,
    ),
    "discard-saturates": Test(
        "The share of blocks that are shut for a whole epoch is larger in the last epoch than in "
        f"the first, and less than {LATE:.0%} of the rise falls to the last {LATE:.0%} of the "
        f"epochs; {DECIDES}.",
        discard_saturates,
    ),
    "memory-falls": Test(
        f"In the deepest network on each data set the parameters take over {MANY:.0%} less memory "
        f"without the discarded blocks; {DECIDES}.",
        memory_falls,
    ),
    "side-supervision-helps-resnet": Test(
        "The error of a residual network with a loss on the side is below that of the same network "
        "without.",
        side_helps,
    ),
    "depth-not-monotone": Test(
        "Of residual networks that differ by depth alone, the one of 254 layers has a larger error "
        f"than that of 200, and the deepest up to {MANY_LAYERS} a smaller one than the shallowest "
        f"from {FEW_LAYERS}.",
        not_monotone,
        _stated_depths,
    ),
    "stochastic-depth": Test(
        "Every block's gate is open at test.",
        all_kept_at_test,
    ),
}
