"""Labelled images."""

from dataclasses import dataclass, replace
from typing import Literal, Self

from skipgate.files import sha256
from skipgate.reader import between, later, positive
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
    sha256: str = ""
    md5: dict[str, str] = later({})  # noqa: RUF009  each gets its own
    """Of the official files, where nobody could record the hash of what they decode to."""
    train: int = later(0)
    """How many examples the training set has; 0 where the hash says so."""
    streamed: bool = later(False)
    """Whether images stay in the user's folder, and are decoded as they are needed."""
    among: int = later(0)
    """Where above 1, mistakes are also counted by the first so many answers (top-5 error)."""

    def __post_init__(self) -> None:
        positive(classes=self.classes, top=self.top)
        between(0, self.classes, among=self.among)

    @property
    def identity(self) -> str:
        if self.sha256 or not self.md5:
            return self.sha256
        return sha256(
            "".join(f"{name} {found}\n" for name, found in sorted(self.md5.items())).encode()
        )

    @property
    def more(self) -> tuple[str, ...]:
        return (f"top{self.among}_error",) if self.among > 1 else ()

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
