"""A study in a few sentences, from its judged results. Each is left out where it has no subject."""

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from skipgate.judging.claims.convolutional import decays_k, differs_by_gates
from skipgate.judging.claims.discards import deciding, twin
from skipgate.judging.claims.nets import blocks_of, by_depth, deepest, pairs, twins, varied
from skipgate.judging.judgement import JudgedTable, Judgement, better_rule
from skipgate.judging.statistics import difference, estimate
from skipgate.judging.words import ANSWERS
from skipgate.params import Params
from skipgate.reporting import choices
from skipgate.reporting.tables import over_images_text
from skipgate.results.discards import strict
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults, Waiting
from skipgate.settings import PROBED

SAID = {
    "holds": ("holds", "hold"),
    "fails": ("fails", "fail"),
    "undecided": ("is undecided", "are undecided"),
    "by construction": ("is true by construction", "are true by construction"),
    "not run": ("waits for nets", "wait for nets"),
}
"""What is said of one claim, and of several."""


def conclusions(params: Params, study: StudyResults, judgement: Judgement) -> list[str]:
    """What a person in a hurry should know of a study."""
    found = [_decided(params, judgement)]
    if judgement.choices:
        found += choices.conclusions(judgement.choices, len(study.missing))
    for judged in judgement.tables:
        probed = judged.table.metric in {measure.name for measure in PROBED}
        found += _levels(judged) if probed else _distances(judged)
    for sentence in SENTENCES:
        found.append(_said(sentence, study.main))
    return [text for text in (*found, told_answers(judgement)) if text]


def _said(sentence: Callable[[StudyResults], str], study: StudyResults) -> str:
    """A sentence, or nothing as long as results that it takes are not there."""
    try:
        return sentence(study)
    except Waiting:
        return ""


def _decided(params: Params, judgement: Judgement) -> str:
    why = params.studies[judgement.study].deviation
    if why:
        return f"No number here is comparable with a paper's ({why}); claims are, with care."
    totals = judgement.plain()["totals"]
    words = [verdict.word for verdict in judgement.verdicts]
    if not totals["cells"]:
        return ""
    return (
        f"Of {totals['cells']} reported numbers {totals['decidable']} could have been decided, and "
        f"{totals['decided']} were: {words.count('agrees')} agree, {words.count('differs')} differ."
    )


def _distances(judged: JudgedTable) -> Iterator[str]:
    """By column of a table, how far the nets that learnt are from the paper at either epoch."""
    columns: dict[str, list[tuple[float, float]]] = {}
    for last, best in zip(judged.verdicts, judged.at_best, strict=True):
        if last.gap and best.gap and last.learnt and best.learnt:
            columns.setdefault(last.cell.column, []).append((last.gap.size, best.gap.size))
    if not columns:
        return
    told = []
    for column, gaps in columns.items():
        at_last, at_best = np.mean(gaps, axis=0)
        told.append(f"{column} {at_last:+.2f} at the last epoch and {at_best:+.2f} at the best")
    title = judged.table.title
    yield (
        f"{title}: ours less the paper's, in {judged.table.unit}, on average over the nets that "
        f"learnt: {'; '.join(told)}. {better_rule(judged.verdicts, judged.at_best).split(':')[0]}."
    )


def _levels(judged: JudgedTable) -> Iterator[str]:
    gaps = [verdict.gap.size for verdict in judged.verdicts if verdict.gap]
    if gaps:
        lower = sum(gap < 0 for gap in gaps)
        sizes = sorted(map(abs, gaps))
        yield (
            f"{judged.table.title}: ours is lower than the paper's in {lower} of {len(gaps)}, and "
            f"{sizes[0]:.2f} to {sizes[-1]:.2f} away from it."
        )


def _given(study: StudyResults) -> str:
    """What networks of others score, and on how much."""
    if not study.is_given:
        return ""
    told = [
        f"`{net}` {score:.2f}{over_images_text(result)} on {result.spec.settings.data.test:,}"
        for net, result in study.having("train").items()
        for score in result.score()
        if score is not None
    ]
    if not told:
        return ""
    return (
        f"Each network is one draw: intervals are over images. {study.measure.label.capitalize()} "
        f"in {study.measure.unit}: {', '.join(told)}."
    )


def _estimates(study: StudyResults) -> str:
    """How far from their stage's last block the blocks of given networks are."""
    if not study.is_given:
        return ""
    told = []
    for net, result in study.having("estimation").items():
        part = result.part("estimation")
        shares = np.array(part["mean"], dtype=float) / np.array(part["size"], dtype=float)
        stages = np.array(part["stage"])
        # The last block of a stage is what the others are set against.
        several = [stage for stage in np.unique(stages) if (stages == stage).sum() > 1]
        means = [shares[stages == stage][:-1].mean() for stage in several]
        told.append(f"`{net}` {', '.join(f'{mean:+.2f}' for mean in means)}")
    if not told:
        return ""
    return (
        "Mean estimation error by stage, a block's output less its stage's last, in spreads of the "
        f"latter (below 0 it underestimates): {'; '.join(told)}."
    )


def _failed(study: StudyResults) -> str:
    """Nets that did not learn."""
    failed = [net for net, result in study.having("train").items() if not result.has_learnt]
    if not failed or study.measure.failed is None:
        return ""
    level = study.measure.text(study.measure.failed)
    return f"{_listed([f'`{n}`' for n in failed])} did not learn ({level} or worse in the mean)."


def _gain(study: StudyResults) -> str:
    """What gating gains over the residual network of the same depth."""
    found = pairs(study)
    if len(found) < 2:
        return ""
    gains = {depth: difference(r.score(), g.score()) for depth, (r, g) in found.items()}
    seen = {
        depth: e.mean
        for depth, gain in gains.items()
        if (e := estimate(gain)) and abs(e.mean) > e.half
    }
    columns = [c for c in zip(*gains.values(), strict=False) if None not in c]
    pooled = estimate([float(np.mean(np.array(column, dtype=float))) for column in columns])
    if pooled is None:
        return ""
    unit = study.measure.points
    where = ", ".join(f"{gain:+.2f} at d = {depth}" for depth, gain in seen.items())
    what = f"visible at {where}" if seen else "nothing visible at any depth"
    return (
        f"What gating gains, residual less gated {study.measure.label} paired by seed: {what}; "
        f"over all depths {pooled} {unit}."
    )


def _staged(study: StudyResults) -> str:
    """What gates, and decay of k, change in convolutional networks."""
    found = twins(study, differs_by_gates)
    if len(found) < 2:
        return ""
    gains = {g.spec.net: difference(r.score(), g.score()) for r, g in found}
    costs = {
        own.spec.net: difference(own.score(), base.score()) for base, own in varied(study, decays_k)
    }
    told = [
        f"{what}: {', '.join(f'`{net}` {e}' for net, v in rows.items() if (e := estimate(v)))}"
        for what, rows in (("what gating gains", gains), ("what decay of k costs", costs))
        if rows
    ]
    return (
        f"{study.measure.label.capitalize()} of convolutional networks in {study.measure.points}, "
        f"paired by seed; {'; '.join(told)}."
    )


def _gates(study: StudyResults) -> str:
    """How the mean gate changes with depth."""
    gated = by_depth(study, "gated")
    means = {d: e.mean for d, r in gated.items() if (e := estimate(r.metric("mean_gate")))}
    if len(means) < 2:
        return ""
    values = list(means.values())
    falls = all(a > b for a, b in itertools.pairwise(values))
    told = ", ".join(f"{mean:.2f} at d = {depth}" for depth, mean in means.items())
    return f"Mean max(0, k) {'falls' if falls else 'does not fall steadily'} with depth: {told}."


def _shut(study: StudyResults) -> str:
    """Which gates of the deepest gated network are shut."""
    result = deepest(study, "gated")
    if result is None:
        return ""
    gates = np.array(result.part("gates")["T"], dtype=float)
    shut = gates[:, np.isfinite(gates).all(0)] == 0
    if not shut.size:
        return ""
    if not shut.any():
        return f"No gate of `{result.spec.net}` is shut."
    places = np.flatnonzero(shut.all(1)) + 1
    always = f"; in every seed {_ranges(places.tolist())}" if places.size else ""
    return (
        f"Of the {len(shut)} gates of `{result.spec.net}` {shut.sum(0).mean():.1f} are shut on "
        f"average{always}."
    )


def _pruned(study: StudyResults) -> str:
    """What half of the blocks is worth in the deepest networks."""
    told = []
    for kind in ("gated", "residual"):
        result = deepest(study.asked("prune"), kind, learnt=True)
        if result is None:
            continue
        random = np.array(result.part("prune")["random"], dtype=float)
        half = round((random.shape[1] - 1) / 2)
        whole, left = (study.measure.text(float(np.nanmean(random[:, i]))) for i in (0, half))
        told.append(f"`{result.spec.net}` goes from {whole} to {left}")
    if not told:
        return ""
    return (
        f"Half of the blocks removed at random: {study.measure.label} of {', of '.join(told)}, on "
        "the examples that were probed."
    )


def _discarded(study: StudyResults) -> str:
    """What networks whose gates stay shut do without, beside residual networks of their depth."""
    told = []
    for net in deciding(study):
        lost = strict(net).sum(0).mean()
        ours = f"`{net.spec.net}` {lost:.1f} of {blocks_of(net.spec)}, {_mean_score(net)}"
        beside = twin(study, net.spec)
        other = study.results.get(beside.net) if beside else None
        told.append(ours + (f" (`{other.spec.net}` {_mean_score(other)})" if other else ""))
    if not told:
        return ""
    return (
        f"Blocks shut over the whole training set, and {study.measure.label} (in brackets that of "
        f"a residual network as deep): {'; '.join(told)}."
    )


def _mean_score(net: Result) -> str:
    known = [value for value in net.score() if value is not None]
    return net.measure.text(float(np.mean(known))) if known else "failed"


def _read(study: StudyResults) -> str:
    """Language models by their means, beside one that knows nothing but frequencies."""
    models = study.having("words")
    means = {net: estimate(result.score("validation")) for net, result in models.items()}
    ranked = sorted((mean.mean, net) for net, mean in means.items() if mean)
    if not ranked:
        return ""
    told = ", ".join(f"`{net}` {means[net]}" for _, net in ranked)
    unigram = next(iter(models.values())).part("words")["unigram"]
    return (
        f"{study.measure.label.capitalize()} in the order of means: {told}; "
        f"a unigram model has {unigram:.1f}."
    )


def _lesions(study: StudyResults) -> str:
    """The worst single block, in the deepest network of each family that has learnt."""
    if study.is_given:
        return _every_lesion(study)
    told = []
    for kind in dict.fromkeys(family(spec) for spec in study.specs.values()):
        result = deepest(study.asked("lesion"), kind, learnt=True)
        if result is not None and result.has("lesion"):
            worst = study.measure.worst(_by_block(result))
            told.append(f"`{result.spec.net}` {study.measure.text(worst)}")
    if not told:
        return ""
    return f"Without its most important block, {study.measure.label} is: {', '.join(told)}."


def _every_lesion(study: StudyResults) -> str:
    """What single blocks or layers are worth in each of the networks of others."""
    told = []
    for net, result in study.having("lesion").items():
        each = sorted(_by_block(result))
        told.append(f"`{net}` {each[0]:.2f} to {each[-1]:.2f} (median {np.median(each):.2f})")
    if not told:
        return ""
    return (
        f"Without any one block or layer, {study.measure.label} in {study.measure.unit}: "
        f"{', '.join(told)}."
    )


def _by_block(result: Result) -> list[float]:
    """Mean over seeds of the score without each block."""
    return [e.mean for row in result.part("lesion")["without"] if (e := estimate(row))]


def told_answers(judgement: Judgement) -> str:
    """How many claims there are of each answer, and which fail."""
    if not judgement.claims:
        return ""
    count: dict[str, list[str]] = {}
    for judged in judgement.claims:
        count.setdefault(judged.outcome.answer, []).append(f"`{judged.name}`")
    told = []
    for answer in (answer for answer in ANSWERS if answer in count):
        names = count[answer]
        which = f" ({', '.join(names)})" if answer in ("fails", "by construction") else ""
        told.append(f"{len(names)} {SAID[answer][len(names) > 1]}{which}")
    return f"Of {len(judgement.claims)} claims {_listed(told)}."


def _listed(names: Sequence[str]) -> str:
    """Words with commas and an `and`."""
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])


def _ranges(places: list[int]) -> str:
    """Blocks as ranges: 31 to 36, 50."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return "blocks " + ", ".join(f"{r[0]} to {r[-1]}" if len(r) > 1 else f"{r[0]}" for r in runs)


SENTENCES = (
    _given,
    _failed,
    _gain,
    _staged,
    _gates,
    _shut,
    _estimates,
    _pruned,
    _discarded,
    _read,
    _lesions,
)
"""In the order of the page."""
