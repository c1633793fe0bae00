"""The nets that claims speak of, and small arithmetic per seed."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skipgate.judging.evidence import Part
from skipgate.judging.papers import Paper
from skipgate.results.by_image import redrawn
from skipgate.results.names import family
from skipgate.results.store import Result, StudyResults, Waiting
from skipgate.settings import Imagenet, Measure, Mlp, Resnet
from skipgate.specs import Spec

MILD = 1.0
"""An error that grows by fewer points has barely changed."""
MANY = 0.2
"""A fifth of things is many: the smallest share of layers that epsilon-ResNet reports dropping."""
SHORTCUTS = ("residual", "gated", "highway")
RESNETS = ("residual", "gated")
FEWEST = 5
"""In networks of fewer blocks one block is too much of the whole to speak of depth."""


@dataclass(frozen=True)
class Found:
    """The margins that decide a claim, their nets, and margins that are only shown."""

    parts: list[Part]
    results: list[Result]
    beside: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Test:
    """How a claim is tested."""

    sentence: str
    run: Callable[[StudyResults], Found | None]
    """None where the study lacks the nets."""
    stated: Callable[[Paper, Measure], dict[str, float]] | None = None
    """The margin of each part by its name, where the source's numbers give it."""
    measure: str = "error"
    """What it speaks of: it is not asked where networks are judged by something else."""


def by_depth(study: StudyResults, kind: str) -> dict[int, Result]:
    """The study's multilayer networks of a family by depth.

    Of several of the same depth the first is the main one.
    """
    names: dict[int, str] = {}
    for net, spec in study.specs.items():
        if family(spec) == kind and isinstance(spec.settings.body, Mlp):
            names.setdefault(spec.settings.body.depth, net)
    return {depth: result_of(study, names[depth]) for depth in sorted(names)}


def result_of(study: StudyResults, net: str) -> Result:
    """A net's results, or Waiting."""
    if net not in study.results:
        raise Waiting(net)
    return study.results[net]


def deepest(study: StudyResults, kind: str, *, learnt: bool = False) -> Result | None:
    """The network of a family with the most blocks, of five or more, the first of several such.

    `learnt` leaves out failed ones.
    """
    found = _candidates(study, (kind,), None)
    sound = [result for result in found if not learnt or has_learnt(result)]
    return max(sound, key=lambda result: blocks_of(result.spec), default=None)


def failed_at(measure: Measure) -> float:
    """The level from which on a network has not learnt."""
    return math.inf if measure.failed is None else measure.failed


def has_learnt(result: Result) -> bool:
    """Whether every seed has: a sentence on trained networks is not about one that has failed."""
    return all(e is not None and result.measure.has_learnt(e) for e in result.score())


def blocks_of(spec: Spec) -> int:
    """How many blocks a network has; 0 where its body is of a kind that no claim is about."""
    return spec.settings.body.count


def like(study: StudyResults, result: Result, kind: str) -> Result | None:
    """The network of another family that is set beside this one.

    That is the multilayer one of the same depth; of other bodies the deepest on the same data.
    """
    body = result.spec.settings.body
    if isinstance(body, Mlp):
        return by_depth(study, kind).get(body.depth)
    same = (net for net, spec in study.specs.items() if spec.dataset == result.spec.dataset)
    specs = {net: study.specs[net] for net in same}
    return deepest(replace(study, specs=specs), kind, learnt=True)


def trained(
    study: StudyResults,
    families: Sequence[str] = SHORTCUTS,
    admits: Callable[[Spec], bool] | None = None,
) -> list[Result]:
    """The deepest network that has learnt, of five blocks or more, of each family and body."""
    found: dict[tuple[str, str], Result] = {}
    for result in _candidates(study, families, admits):
        kind = family(result.spec), result.spec.settings.body.kind
        deeper = kind not in found or blocks_of(result.spec) > blocks_of(found[kind].spec)
        if deeper and has_learnt(result):
            found[kind] = result
    return list(found.values())


def _candidates(
    study: StudyResults, families: Sequence[str], admits: Callable[[Spec], bool] | None
) -> list[Result]:
    return [
        result_of(study, net)
        for net, spec in study.specs.items()
        if family(spec) in families
        and blocks_of(spec) >= FEWEST
        and (admits is None or admits(spec))
    ]


def of_each(results: Sequence[Result], parts: Callable[[Result], list[Part]]) -> Found | None:
    """The parts that each of these nets gives."""
    made = [part for result in results for part in parts(result)]
    return Found(made, list(results)) if made else None


def of_trained(
    study: StudyResults,
    parts: Callable[[Result], list[Part]],
    families: Sequence[str] = SHORTCUTS,
    admits: Callable[[Spec], bool] | None = None,
) -> Found | None:
    """The parts of trained networks; of such as have learnt but for a seed or two, beside them."""
    found = of_each(trained(study, families, admits), parts)
    doubtful = [
        result
        for result in _candidates(study, families, admits)
        if result.has_learnt and not has_learnt(result)
    ]
    return found and Found(found.parts, found.results, aside(doubtful, parts, "a seed failed"))


def of_resnets(
    study: StudyResults,
    parts: Callable[[Result], list[Part]],
    admits: Callable[[Spec], bool] | None = None,
) -> Found | None:
    """Of residual networks, which a sentence speaks of; of highway networks beside them."""
    found = of_trained(study, parts, RESNETS, admits)
    highway = aside(trained(study, ("highway",), admits), parts, "not a ResNet")
    return found and Found(found.parts, found.results, (*found.beside, *highway))


def aside(
    results: Sequence[Result], parts: Callable[[Result], list[Part]], why: str
) -> tuple[Part, ...]:
    """Parts that decide nothing, each with the reason."""
    made = (part for result in results for part in parts(result))
    return tuple(replace(part, name=f"{part.name}; {why}") for part in made)


def pairs(
    study: StudyResults, first: str = "residual", second: str = "gated"
) -> dict[int, tuple[Result, Result]]:
    """Multilayer networks of two families that have the same depth."""
    one = by_depth(study, first)
    other = by_depth(study, second)
    return {depth: (one[depth], other[depth]) for depth in one if depth in other}


def is_staged(spec: Spec) -> bool:
    """Whether a network is a convolutional one in stages."""
    return isinstance(spec.settings.body, Imagenet | Resnet)


def twins(study: StudyResults, alike: Callable[[Spec, Spec], bool]) -> list[tuple[Result, Result]]:
    """Convolutional networks on the same data and by the same recipe, of which `alike` is true."""
    staged = [spec for spec in study.specs.values() if is_staged(spec)]
    return [
        (result_of(study, one.net), result_of(study, other.net))
        for one in staged
        for other in staged
        if one.dataset == other.dataset
        and one.settings.recipe == other.settings.recipe
        and alike(one, other)
    ]


def varied(
    study: StudyResults, changes: Callable[[Spec, Spec], bool]
) -> list[tuple[Result, Result]]:
    """Nets and their variations in a single choice, of which `changes` is true."""
    return [
        (result_of(study, change.base), result_of(study, net))
        for net, change in study.changes.items()
        if {net, change.base} <= study.specs.keys()
        and len(change.choices) == 1
        and changes(study.specs[change.base], study.specs[net])
    ]


def flat(pairs: dict[int, tuple[Result, Result]]) -> list[Result]:
    """All nets of these pairs."""
    return [result for pair in pairs.values() for result in pair]


def slope(depths: Sequence[int], rows: Sequence[Sequence[float | None]]) -> tuple[float, ...]:
    """By seed, how a number [depth][seed] changes when the depth doubles."""
    columns = [column for column in zip(*rows, strict=False) if None not in column]
    return tuple(
        float(np.polyfit(np.log2(depths), np.array(column, dtype=float), 1)[0])
        for column in columns
    )


def mean_of(rows: Sequence[Sequence[float | None]]) -> tuple[float, ...]:
    """By seed, the mean over rows [row][seed], in the seeds that all rows have."""
    columns = [column for column in zip(*rows, strict=False) if None not in column]
    return tuple(float(np.mean(np.array(column, dtype=float))) for column in columns)


def pruned(result: Result, share: float) -> list[float]:
    """Error per seed after a share of the blocks is removed at random, averaged over orders."""
    random = np.array(result.part("prune")["random"], dtype=float)
    columns = random[:, round(share * (random.shape[1] - 1))].T
    chosen = redrawn(result, len(random), len(columns))
    return [float(column[own].mean()) for own, column in zip(chosen, columns, strict=True)]
