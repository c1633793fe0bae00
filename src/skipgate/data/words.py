"""Text as numbers: a vocabulary by frequency, and how its words are spelt."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from skipgate.data.fetching import Arrays
from skipgate.files import Problem
from skipgate.settings import MARKS, Language

END = "<eos>"
UNKNOWN = "<unk>"
BEGINS = 1
ENDS = 2
"""Marks around the characters of a word; what follows the second is 0."""
PARTS = ("train", "validation", "test")
NAMES = (*PARTS, "words")
"""The arrays of a text."""


def encoded(name: str, texts: Mapping[str, str], content: Language) -> Arrays:
    """The numbers of the words of each part, from the first, and the vocabulary as one text.

    Every line, an empty one too, ends in a word of its own. The vocabulary has the most frequent
    words of the whole training text; every other word is the unknown one.
    """
    parts = {part: _words(texts[part]) for part in PARTS}
    words = _vocabulary(name, parts["train"], content.vocabulary)
    numbers = {word: number for number, word in enumerate(words)}
    unknown = numbers[UNKNOWN]
    found: Arrays = {}
    for part, read in parts.items():
        wanted = getattr(content, part)
        if len(read) < wanted:
            raise Problem(
                f"data.{name}: the {part} text has {len(read):,} words, fewer than {wanted:,}"
            )
        found[part] = np.array([numbers.get(word, unknown) for word in read[:wanted]], np.int32)
    found["words"] = np.frombuffer("\n".join(words).encode(), np.uint8)
    _check_characters(name, words, content.characters)
    return found


def _words(text: str) -> list[str]:
    return [word for line in text.splitlines() for word in (*line.split(), END)]


def _vocabulary(name: str, read: Sequence[str], size: int) -> list[str]:
    """The most frequent words; of equally frequent ones, the first by their letters."""
    counts = Counter(read)
    counts[END] += len(read)  # neither can be left out
    counts[UNKNOWN] += len(read)
    words = sorted(counts, key=lambda word: (-counts[word], word))[:size]
    if len(words) < size:
        raise Problem(
            f"data.{name}: the training text has {len(words):,} different words, fewer than the "
            f"vocabulary of {size:,}; set vocabulary to that or less"
        )
    return words


def _check_characters(name: str, words: Sequence[str], wanted: int) -> None:
    found = len(alphabet(words)) + MARKS
    if found != wanted:
        raise Problem(
            f"data.{name}: the words are spelt with {found} characters and marks, not {wanted}; "
            "set characters to that"
        )


def alphabet(words: Sequence[str]) -> list[str]:
    """All characters in order; the two words that are signs are one character each."""
    return sorted({character for word in words for character in _spelt(word)})


def spellings(words: Sequence[str], longest: int) -> npt.NDArray[np.int64]:
    """The characters of each word between their marks, (word, character), by number.

    Of a word that is too long the last characters are left out (Kim et al.'s code).
    """
    numbers = {character: MARKS + i for i, character in enumerate(alphabet(words))}
    found = np.zeros((len(words), longest), np.int64)
    for row, word in zip(found, words, strict=True):
        inside = [numbers[character] for character in _spelt(word)][: longest - 2]
        row[: len(inside) + 2] = [BEGINS, *inside, ENDS]
    return found


def _spelt(word: str) -> list[str]:
    return [word] if word in (END, UNKNOWN) else list(word)
