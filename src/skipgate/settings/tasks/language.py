"""Text, word by word."""

import math
from dataclasses import dataclass, replace
from typing import Literal, Self

from skipgate.reader import positive
from skipgate.settings.measures import Measure
from skipgate.settings.task import TaskSettings

TWIN_CHARACTERS = 6
MARKS = 3
"""What a word's characters are counted beside: nothing, its beginning and its end."""


@dataclass(frozen=True)
class Language(TaskSettings):
    """Which word comes next. A word is its number and its characters, which a body may read.

    `shape` has one number: 1 for the word's own, and as many as the longest word has characters,
    with a mark at its beginning and one at its end. A longer word is cut.
    """

    kind: Literal["language"]
    shape: tuple[int]
    vocabulary: int
    """Words, those at the lines' ends and the unknown among them; others count as unknown."""
    characters: int
    """Different ones in all those words, with the marks."""
    train: int
    """Words that are trained on, from the first; `validation` and `test` are words too."""
    validation: int
    test: int
    sha256: str

    def __post_init__(self) -> None:
        positive(train=self.train, validation=self.validation, test=self.test)
        if self.vocabulary < 2:
            raise ValueError(f"vocabulary must be at least 2, found {self.vocabulary}")
        if self.shape[0] <= MARKS:
            raise ValueError(f"shape must be above {MARKS}, or words have no characters")

    @property
    def symbols(self) -> int:
        return self.characters

    @property
    def outputs(self) -> int:
        return self.vocabulary

    def small(self, side: int) -> Self:
        """So many words of a few characters."""
        return replace(
            self,
            shape=(min(self.shape[0], TWIN_CHARACTERS + MARKS),),
            vocabulary=min(self.vocabulary, side),
            characters=min(self.characters, TWIN_CHARACTERS + MARKS),
        )

    @property
    def measure(self) -> Measure:
        """Perplexity, exp of the mean loss of a word: to guess is to choose among all words."""
        return Measure(
            name="perplexity",
            label="test perplexity",
            unit="",
            guessing=float(self.vocabulary),
            failed=float(self.vocabulary),
            bounds=(1.0, math.inf),
            logarithmic=True,
        )
