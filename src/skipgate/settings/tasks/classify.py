"""Labelled images."""

from dataclasses import dataclass, replace
from typing import Literal, Self

from skipgate.reader import positive
from skipgate.settings.measures import Measure, error_rate
from skipgate.settings.task import TaskSettings


@dataclass(frozen=True)
class Classify(TaskSettings):
    """Which of `classes` an image of (channel, height, width) belongs to."""

    kind: Literal["classify"]
    shape: tuple[int, int, int]
    classes: int
    top: int
    """The largest pixel value; `unit` pixels are divided by it."""
    test: int
    sha256: str

    def __post_init__(self) -> None:
        positive(classes=self.classes, top=self.top)

    def small(self, side: int) -> Self:
        channels, *sides = self.shape
        height, width = (min(full, side) for full in sides)
        return replace(self, shape=(channels, height, width))

    @property
    def outputs(self) -> int:
        return self.classes

    @property
    def measure(self) -> Measure:
        return error_rate(self.classes)
