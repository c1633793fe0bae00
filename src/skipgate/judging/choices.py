"""Which choice that a paper leaves open, if any, leads to its numbers.

Nets that differ from the default in a choice or two are set beside the numbers that the paper
reports of the default. A candidate is a choice, or several together, read at one epoch. It predicts
what a paper that made this choice would report: a draw as our seeds are, so that a net's numbers
follow a multivariate t distribution about their mean over seeds, with the seeds' covariance times
1 + 1/n. How: docs/decisions/0014-choices.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from skipgate.files import rounded
from skipgate.judging.papers import Choice, Paper
from skipgate.judging.statistics import Estimate, Spread, difference, estimate, spreads
from skipgate.params import Params
from skipgate.results.store import Result, Rule, StudyResults, Waiting, result_of
from skipgate.settings import MEAN_GATE, Measure

Numbers = npt.NDArray[np.float64]
READINGS: tuple[Rule, ...] = ("last", "best", "validation")
LEVEL = 0.05

Answer = Literal["found", "nearer", "none"]
Tried = dict[tuple[str, ...], dict[str, Result]]
"""By choices, and by the net that they change, what came out."""


@dataclass(frozen=True)
class Reported:
    """One number of a paper, and what of ours stands beside it."""

    metric: str
    value: float
    rounding: float
    measure: Measure
    images: int = 0

    def scale(self, level: float) -> float:
        """The spread between seeds to expect at a level, or what it is in proportion to."""
        return self.measure.deviation(level, self.images)


@dataclass(frozen=True)
class Row:
    """What a paper reports of one net of ours."""

    net: str
    title: str
    numbers: tuple[Reported, ...]

    @property
    def values(self) -> Numbers:
        """The paper's numbers."""
        return np.array([number.value for number in self.numbers])

    @property
    def has_gates(self) -> bool:
        """Whether the paper says how open its gates are."""
        return any(number.metric == MEAN_GATE.name for number in self.numbers)


@dataclass(frozen=True)
class Prediction:
    """What a paper would report of one net: a multivariate t distribution."""

    mean: Numbers
    scale: Numbers
    """The matrix that its deviations go by."""
    freedom: float

    def fit(self, values: Numbers) -> Numbers:
        """Log-likelihood of reported values [..., metric]."""
        # SciPy's stubs want whole degrees of freedom; the distribution does not.
        freedom: Any = self.freedom
        return np.asarray(stats.multivariate_t.logpdf(values, self.mean, self.scale, freedom))

    def chance(self, values: Numbers) -> float:
        """The chance of reported values that are at least as far away: Hotelling's test."""
        away = values - self.mean
        squares = float(away @ np.linalg.solve(self.scale, away))
        return float(special.fdtrc(len(away), self.freedom, squares / len(away)))

    def draws(self, count: int, generator: np.random.Generator) -> Numbers:
        """So many papers' values [paper, metric]."""
        normal = generator.multivariate_normal(np.zeros(len(self.mean)), self.scale, count)
        stretch = np.sqrt(self.freedom / generator.chisquare(self.freedom, (count, 1)))
        drawn: Numbers = self.mean + stretch * normal
        return drawn


@dataclass(frozen=True)
class Candidate:
    """Choices that a paper may have made, the epoch it may have read, and what follows."""

    choices: tuple[str, ...]
    reading: Rule
    predictions: Mapping[str, Prediction]
    """By the net that is varied."""

    @property
    def is_default(self) -> bool:
        """Whether it changes nothing."""
        return not self.choices

    def fit(self, reported: Mapping[str, Numbers]) -> Numbers:
        """Log-likelihood of what is reported of several nets together."""
        found: Numbers = np.sum(
            [self.predictions[net].fit(values) for net, values in reported.items()], axis=0
        )
        return found

    def chance(self, reported: Mapping[str, Numbers]) -> float:
        """The chance of such reports or worse if this is what was done; nets by Fisher."""
        chances = [self.predictions[net].chance(values) for net, values in reported.items()]
        surprise = -2 * sum(math.log(max(chance, 1e-300)) for chance in chances)
        return float(special.chdtrc(2 * len(chances), surprise))


@dataclass(frozen=True)
class Round:
    """Candidates that were all tried on the same rows, against the default at the last epoch."""

    rows: tuple[Row, ...]
    candidates: tuple[Candidate, ...]
    """The first is that default."""
    papers: int = 20000
    """How many are made up to see how far ahead the best of all candidates is by chance."""

    @cached_property
    def reported(self) -> dict[str, Numbers]:
        """The paper's values by net."""
        return {row.net: row.values for row in self.rows}

    @cached_property
    def gains(self) -> list[float]:
        """By what power of ten each candidate makes the paper's rows likelier."""
        fits = np.array([float(one.fit(self.reported)) for one in self.candidates])
        found: list[float] = ((fits - fits[0]) / math.log(10)).tolist()
        return found

    @cached_property
    def best(self) -> int:
        """The candidate that makes the paper's rows likeliest."""
        return int(np.argmax(self.gains))

    @cached_property
    def chance(self) -> float:
        """How often the best of as many candidates is so far ahead if the default was used.

        Papers are drawn from what the default predicts, and all candidates are tried on each:
        this corrects for how many there are, and for how alike they are.
        """
        generator = np.random.default_rng(len(self.candidates))
        default = self.candidates[0]
        drawn = {
            row.net: default.predictions[row.net].draws(self.papers, generator) for row in self.rows
        }
        base = default.fit(drawn)
        ahead = np.max([one.fit(drawn) - base for one in self.candidates], axis=0) / math.log(10)
        reached = int(np.sum(ahead >= self.gains[self.best]))
        return (1 + reached) / (1 + self.papers)

    @cached_property
    def shares(self) -> list[float]:
        """How probable each candidate is, if one of them is right and all were equally likely."""
        found: list[float] = special.softmax(np.array(self.gains) * math.log(10)).tolist()
        return found

    def plain(self) -> dict[str, Any]:
        """What is recorded of it."""
        best = self.candidates[self.best]
        return {
            "nets": [row.net for row in self.rows],
            "candidates": len(self.candidates),
            "answer": self.answer,
            "likeliest": [*best.choices, best.reading],
            "times 10 to": self.gains[self.best],
            "chance": self.chance,
            "chance of the paper by it": best.chance(self.reported),
            "chance of the paper by the default": self.candidates[0].chance(self.reported),
        }

    @property
    def answer(self) -> Answer:
        """Found: clearly likelier than the default, and what is reported may well follow from it.

        Nearer: clearly likelier, and yet the reported numbers do not follow from it.
        """
        if self.chance >= LEVEL or not self.best:
            return "none"
        fits = self.candidates[self.best].chance(self.reported) >= LEVEL
        return "found" if fits else "nearer"


def predicted(samples: Sequence[Numbers], row: Row) -> list[Prediction]:
    """What each of several nets predicts for a row, from its seeds [seed, number].

    A net's own spread is shrunk towards that of the others; how numbers go together is pooled.
    """
    columns = [_spreads([s[:, i] for s in samples], n) for i, n in enumerate(row.numbers)]
    deviations = np.array([[spread.deviation for spread in column] for column in columns]).T
    together = _correlation(samples, deviations)
    printed = np.diag([number.rounding**2 / 12 for number in row.numbers])
    found = []
    for place, sample in enumerate(samples):
        own = deviations[place]
        scale = together * np.outer(own, own) * (1 + 1 / len(sample)) + printed
        freedom = min(column[place].freedom for column in columns)
        found.append(Prediction(sample.mean(0), scale, freedom))
    return found


def _spreads(samples: Sequence[Numbers], number: Reported) -> list[Spread]:
    """How far the seeds of each net spread in one number."""
    groups = [found for sample in samples if (found := estimate(sample.tolist()))]
    scales = [number.scale(group.mean) for group in groups]
    return spreads(groups, scales, scales_are_prior=number.measure.is_known)


def _correlation(samples: Sequence[Numbers], deviations: Numbers) -> Numbers:
    """How numbers vary together from seed to seed, over all nets in units of their deviations."""
    pairs = zip(samples, deviations, strict=True)
    residuals = np.concatenate([(s - s.mean(0)) / d for s, d in pairs])
    products = residuals.T @ residuals
    size = np.sqrt(np.diag(products))
    found: Numbers = products / np.outer(size, size)
    return found


@dataclass(frozen=True)
class Effect:
    """What a choice does to one net, paired by seed."""

    choices: tuple[str, ...]
    row: Row
    base: Result
    result: Result

    def on_score(self, reading: Rule) -> Estimate | None:
        """By how much the measure moves."""
        return self._moved(self.result.measure.key, reading)

    @property
    def on_gates(self) -> Estimate | None:
        """By how much the mean gate moves."""
        return self._moved(MEAN_GATE.name, "last")

    def _moved(self, metric: str, reading: Rule) -> Estimate | None:
        values = (one.metric(metric, reading) for one in (self.result, self.base))
        return estimate(difference(*values))


@dataclass(frozen=True)
class Choices:
    """All that was tried on the nets that a study varies."""

    rounds: list[Round]
    """Fewest rows first."""
    effects: list[Effect]
    """The most telling choice first."""
    words: dict[str, Choice]
    """What the papers say that leaves each choice open."""
    gated: list[tuple[Row, Result]]
    """The default of every size of which the papers report gates, varied or not."""
    deepest: dict[tuple[str, ...], Result]
    """By choices, what was tried on the varied net with most gates; the default first."""

    def plain(self) -> list[dict[str, Any]]:
        """As `reports/verdicts/STUDY.json` records it."""
        found: list[dict[str, Any]] = rounded([one.plain() for one in self.rounds])
        return found


def gather(params: Params, study: StudyResults, papers: Mapping[str, Paper]) -> Choices | None:
    """What was tried on the nets that a study varies.

    All their variations count, in whichever study they stand. None where the study varies only
    nets of its own: it is about something else then.
    """
    if not study.bases.keys() - study.specs.keys():
        return None
    rows = [row for base in study.bases.values() if (row := _row(base, papers))]
    tried = _tried(params, study, rows)
    rounds = _rounds(rows, _candidates(rows, _completed(tried)), tried)
    words = {name: choice for paper in papers.values() for name, choice in paper.choices.items()}
    effects = _effects(rows, tried, rounds)
    return Choices(rounds, effects, words, _gated(params, study, papers), _deepest(effects))


def _gated(
    params: Params, study: StudyResults, papers: Mapping[str, Paper]
) -> list[tuple[Row, Result]]:
    """Nets of the varied ones' studies that stand beside a paper's gates."""
    studies = {base.spec.study for base in study.bases.values()}
    nets = [
        net
        for paper in papers.values()
        for table in paper.tables.values()
        if table.metric == MEAN_GATE.name
        for cell in table.cells
        for net in cell.nets
        if params.nets[net].study in studies
    ]
    results = {net: result_of(net) for net in nets}
    found = ((_row(result, papers), result) for result in results.values() if result.has("gates"))
    return [(row, result) for row, result in found if row]


def _deepest(effects: Sequence[Effect]) -> dict[tuple[str, ...], Result]:
    """What was tried on the net with most gates that learn, if there is one."""
    varied = [one for one in effects if one.row.has_gates]
    if not varied:
        return {}
    base = max((one.base for one in varied), key=lambda base: len(base.part("gates")["T"]))
    return {(): base} | {one.choices: one.result for one in varied if one.base is base}


def _effects(rows: Sequence[Row], tried: Tried, rounds: Sequence[Round]) -> list[Effect]:
    """Of every variation that was run, in the order of how much likelier they make the paper."""
    ranks: dict[tuple[str, ...], float] = {}
    for one in reversed(rounds):
        for candidate, gain in zip(one.candidates, one.gains, strict=True):
            ranks[candidate.choices] = max(gain, ranks.get(candidate.choices, -math.inf))
    found = [
        Effect(choices, row, tried[()][row.net], by_net[row.net])
        for choices, by_net in tried.items()
        for row in rows
        if choices in ranks and choices and _is_run(by_net.get(row.net))
    ]
    return sorted(found, key=lambda effect: -ranks[effect.choices])


def _is_run(result: Result | None) -> bool:
    return result is not None and result.has("train", "gates")


def _row(base: Result, papers: Mapping[str, Paper]) -> Row | None:
    """What the papers report of a net."""
    net = base.spec.net
    numbers = []
    title = ""
    for paper in papers.values():
        for table in paper.tables.values():
            for cell in (cell for cell in table.cells if net in cell.nets):
                measure = MEAN_GATE if table.metric == MEAN_GATE.name else base.measure
                title = title or f"{cell.column}, {cell.row}"
                numbers.append(
                    Reported(table.metric, cell.value, table.rounding, measure, table.images)
                )
    return Row(net, title, tuple(numbers)) if numbers else None


def _tried(params: Params, study: StudyResults, rows: Sequence[Row]) -> Tried:
    """The default, and all variations of the rows' nets."""
    nets = {row.net for row in rows}
    found: Tried = {(): {net: study.bases[net] for net in nets}}
    for name, line in params.nets.items():
        if line.base in nets:
            found.setdefault(line.choices, {})[line.base] = result_of(name)
    return found


def _completed(tried: Tried) -> Tried:
    """With nets that a choice about gates leaves as they are: those whose gates are constants."""
    about_gates = {
        choice
        for choices, by_net in tried.items()
        for net, result in by_net.items()
        if _same_but_for_gates(result, tried[()][net])
        for choice in choices
    }
    found = {}
    for choices, by_net in tried.items():
        rest = tuple(choice for choice in choices if choice not in about_gates)
        same = {n: r for n, r in tried.get(rest, {}).items() if _is_constant(r)}
        found[choices] = {**same, **by_net}
    return found


def _same_but_for_gates(result: Result, base: Result) -> bool:
    ours = result.spec.settings
    theirs = base.spec.settings
    return (ours.body, ours.recipe) == (theirs.body, theirs.recipe)


def _is_constant(result: Result) -> bool:
    return result.spec.settings.T.gate == "constant"


def _sample(result: Result, row: Row, reading: Rule) -> Numbers | None:
    """A net's seeds [seed, number], as far as they have all numbers; None for fewer than two."""
    try:
        columns = [result.metric(number.metric, reading) for number in row.numbers]
    except Waiting:
        return None
    seeds = [seed for seed in zip(*columns, strict=True) if None not in seed]
    return np.array(seeds, dtype=float) if len(seeds) > 1 else None


def _candidates(rows: Sequence[Row], tried: Tried) -> list[Candidate]:
    """Every choice at every epoch that its nets can be read at, the default first."""
    found: dict[tuple[tuple[str, ...], Rule], dict[str, Prediction]] = {}
    for reading in READINGS:
        for row in rows:
            samples = {
                choices: sample
                for choices, by_net in tried.items()
                if row.net in by_net
                and (sample := _sample(by_net[row.net], row, reading)) is not None
            }
            predictions = predicted(list(samples.values()), row) if samples else []
            for choices, prediction in zip(samples, predictions, strict=True):
                found.setdefault((choices, reading), {})[row.net] = prediction
    return [Candidate(*key, predictions) for key, predictions in found.items()]


def _rounds(rows: Sequence[Row], candidates: Sequence[Candidate], tried: Tried) -> list[Round]:
    """One for each set of nets that some choice was tried on, with all that were tried on it."""
    found = []
    own = [one.predictions.keys() & tried[one.choices].keys() for one in candidates if one.choices]
    sets = {frozenset(nets) for nets in own if nets}
    for nets in sorted(sets, key=lambda nets: (len(nets), sorted(nets))):
        common = tuple(row for row in rows if row.net in nets)
        able = tuple(one for one in candidates if nets <= one.predictions.keys())
        if able and able[0].is_default and able[0].reading == "last":
            found.append(Round(common, able))
    return found
