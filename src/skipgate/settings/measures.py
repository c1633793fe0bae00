"""What a network is judged by. Whatever shows, compares or freezes a number asks its measure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from skipgate.settings.probing import LAYOUTS

Law = Literal["binomial", "proportional"]
RESERVED = ("loss", "training", "rules", *LAYOUTS)
"""Names of curves and figures that every study has."""


@dataclass(frozen=True)
class Measure:
    """A number per seed: what it is called, which way is better, and how far seeds spread."""

    name: str
    label: str
    """In words, as on an axis and in a table's head."""
    unit: str
    lower_is_better: bool = True
    points: str = ""
    """The unit of a difference between two values."""
    guessing: float = math.nan
    """What a network gets that has learnt nothing."""
    failed: float | None = None
    """A network at or beyond this level has not learnt; None where that is not known."""
    bounds: tuple[float, float] = (-math.inf, math.inf)
    """Values that are possible at all."""
    law: Law = "proportional"
    """How the spread between seeds follows from the level."""
    logarithmic: bool = False
    """Whether values are positive and best seen on a logarithmic axis."""

    def __post_init__(self) -> None:
        if self.name in RESERVED:
            raise ValueError(f"a measure cannot be called {self.name!r}: a curve or figure is")

    @property
    def key(self) -> str:
        """Its name among the metrics of a training."""
        return f"test_{self.name}"

    @property
    def validation_key(self) -> str:
        """The same on examples that are held out of training."""
        return f"validation_{self.name}"

    @property
    def training_key(self) -> str:
        """The same on the batches of an epoch, each before its step."""
        return f"train_{self.name}"

    @property
    def axis(self) -> str:
        """Label and unit, for an axis or a column."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def is_known(self) -> bool:
        """Whether `deviation` says how far seeds spread, or only in what proportion they do."""
        return self.law == "binomial"

    def text(self, value: float) -> str:
        """The value with its unit."""
        space = "" if self.unit in ("", "%") else " "
        return f"{value:.2f}{space}{self.unit}"

    def best(self, values: Iterable[float]) -> float | None:
        """The best of the values; None where there is none."""
        return (min if self.lower_is_better else max)(values, default=None)

    def worst(self, values: Iterable[float]) -> float:
        """The worst of the values."""
        return (max if self.lower_is_better else min)(values)

    def has_learnt(self, value: float) -> bool:
        """Whether a network at this level does better than one that fails to train."""
        if self.failed is None:
            return True
        return value < self.failed if self.lower_is_better else value > self.failed

    def deviation(self, level: float, examples: int) -> float:
        """The spread between seeds to expect at a level, over `examples` test examples.

        Binomial, in %: sqrt(e (1 - e) / 2n), half the variance of n answers being shared by all
        seeds. Proportional: the level itself, so that spreads are compared as shares of it.
        """
        if self.law == "proportional":
            return abs(level)
        share = min(max(level / 100, 0.5 / examples), 1 - 0.5 / examples)
        return 100 * math.sqrt(share * (1 - share) / (2 * examples))


def error_rate(classes: int) -> Measure:
    """Mistakes in %; a network that mistakes every second example has not learnt."""
    return Measure(
        name="error",
        label="test error",
        unit="%",
        points="points",
        guessing=100 * (1 - 1 / classes),
        failed=50.0,
        bounds=(0.0, 100.0),
        law="binomial",
        logarithmic=True,
    )


MEAN_GATE = Measure("mean_gate", "mean of T", "k", points="k")
"""The transform gate, averaged over blocks, units and examples."""
COMPRESSION = Measure(
    "compression", "layers before and after", "times", lower_is_better=False, points="times"
)
"""Layers of a network over those that are left without its strict identities."""
DISCARDED = Measure(
    "discarded_share",
    "blocks discarded",
    "%",
    lower_is_better=False,
    points="points",
    bounds=(0.0, 100.0),
)
"""The share of a network's blocks that are strict identities."""
SAVED = Measure(
    "parameters_saved", "parameters saved", "", lower_is_better=False, bounds=(0.0, 1.0)
)
"""The share of a network's parameters that it can do without."""
PROBED = {
    MEAN_GATE: "gates",
    COMPRESSION: "identity",
    DISCARDED: "identity",
    SAVED: "identity",
}
"""Measures that are read at no epoch, and the probe that each is taken from."""
