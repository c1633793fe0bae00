"""How often `choices` finds a choice that was planted, and one that was not, on made-up nets.

A world has a default and `CHOICES` others. Each moves every number of the paper by a normal draw of
`EFFECT` deviations between seeds; ours are five seeds of each, and the paper is one more draw of
what it used.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from skipgate.judging.choices import Candidate, Prediction, Reported, Round, Row, predicted
from skipgate.settings import MEAN_GATE, Measure

CHOICES = 19
EFFECT = 4.0
SEEDS = 5
PAPERS = 1000
LEVEL = 10.0
"""Of all numbers, in deviations between seeds: spreads are compared as shares of it."""
SCORE = Measure("made_up", "made-up score", "")
Truth = Literal["default", "tried", "not tried"]
"""What the paper used: the default, the first choice, or a choice that nobody thought of."""


@dataclass(frozen=True)
class Rates:
    """What share of made-up papers is answered how."""

    found: float
    right: float
    """Found, and it is what the paper used."""
    nearer: float


def rates(truth: Truth, nets: int, worlds: int, seed: int) -> Rates:
    """The rates over so many worlds; a paper reports two numbers of each net."""
    generator = np.random.default_rng(seed)
    rounds = [world(truth, nets, generator) for _ in range(worlds)]
    answers = [one.answer for one in rounds]
    right = [one.answer == "found" and one.candidates[one.best].choices == ("1",) for one in rounds]
    return Rates(
        answers.count("found") / worlds,
        sum(right) / worlds if truth == "tried" else 0.0,
        answers.count("nearer") / worlds,
    )


def world(truth: Truth, nets: int, generator: np.random.Generator) -> Round:
    """One paper, and what was tried to find out what it did."""
    means = LEVEL + EFFECT * generator.normal(size=(CHOICES + 2, nets, 2))
    means[0] = LEVEL
    used = {"default": 0, "tried": 1, "not tried": CHOICES + 1}[truth]
    rows = []
    tried: list[dict[str, Prediction]] = [{} for _ in range(CHOICES + 1)]
    for net in range(nets):
        values = generator.normal(means[used, net])
        measures = zip(values.tolist(), (SCORE, MEAN_GATE), strict=True)
        row = Row(str(net), "", tuple(Reported(m.name, value, 0.0, m) for value, m in measures))
        samples = generator.normal(means[: CHOICES + 1, net, None], 1.0, (CHOICES + 1, SEEDS, 2))
        for place, prediction in enumerate(predicted(list(samples), row)):
            tried[place][row.net] = prediction
        rows.append(row)
    names: list[tuple[str, ...]] = [(), *((str(i),) for i in range(1, CHOICES + 1))]
    candidates = [Candidate(name, "last", made) for name, made in zip(names, tried, strict=True)]
    return Round(tuple(rows), tuple(candidates), PAPERS)
