"""A text as examples: the whole of it on the device, read in several places side by side."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from skipgate.data.examples import Batch, Examples, Split, Streams
from skipgate.data.fetching import read_arrays
from skipgate.data.words import END, NAMES, PARTS, spellings
from skipgate.files import Problem
from skipgate.group import EVERYTHING, Share
from skipgate.settings import Recipe


@dataclass(frozen=True)
class Vocabulary:
    """The words, and how they are spelt: (word, character)."""

    words: tuple[str, ...]
    spelling: Tensor

    @property
    def end(self) -> int:
        """The number of the word that ends a line."""
        return self.words.index(END)


@dataclass(frozen=True)
class Text(Examples):
    """Words by their numbers; an example is a word to be told from those before it.

    A batch has rows that go on where those of the batch before have ended. Each row is a stretch of
    the text; words that are left over when all rows are equally long, fewer than there are rows,
    are not read. Inputs are (row, step, 1 + characters), a word's number and its spelling, and
    targets (row, step) are the words after them.
    """

    tokens: Tensor
    vocabulary: Vocabulary
    steps: int
    """Words of a row in one batch."""
    before: int
    """The word before the first."""

    def __len__(self) -> int:
        return len(self.tokens)

    def first(self, count: int) -> "Text":
        return replace(self, tokens=self.tokens[: count or None])

    def held_out(self, count: int) -> tuple["Text", "Text"]:
        kept = self.first(len(self) - count)
        last = replace(self, tokens=self.tokens[-count:], before=int(kept.tokens[-1]))
        return kept, last

    def in_turn(self, size: int, share: Share = EVERYTHING) -> Iterator[Batch]:
        if share.count > 1:
            raise Problem("a text that is read with a state takes one process")
        length = len(self) // size
        if not length:
            raise Problem(f"a text of {len(self)} words does not fill a batch of {size}; cut it")
        first = self.tokens.new_tensor([self.before])
        inputs, targets = (
            words[: size * length].view(size, length).split(self.steps, dim=1)
            for words in (torch.cat([first, self.tokens[:-1]]), self.tokens)
        )
        for x, y in zip(inputs, targets, strict=True):
            yield torch.cat([x.unsqueeze(-1), self.vocabulary.spelling[x]], -1), y

    def epoch(self, recipe: Recipe, streams: Streams, share: Share = EVERYTHING) -> Iterator[Batch]:
        """The same for every replica, in the text's own order: a state is carried through it."""
        replicas = len(streams("order"))
        for x, y in self.in_turn(recipe.batch, share):
            yield x.expand(replicas, *x.shape), y.expand(replicas, *y.shape)

    @property
    def device(self) -> torch.device:
        return self.tokens.device


def load(folder: Path, longest: int, steps: int, device: torch.device) -> Split:
    """Read a fetched text; each part begins at the beginning of a line."""
    *parts, letters = read_arrays(folder, NAMES)
    words = tuple(letters.tobytes().decode().split("\n"))
    spelling = torch.from_numpy(spellings(words, longest)).to(device)
    vocabulary = Vocabulary(words, spelling)
    found = {
        part: Text(torch.from_numpy(array).long().to(device), vocabulary, steps, vocabulary.end)
        for part, array in zip(PARTS, parts, strict=True)
    }
    return Split(found["train"], found["test"], found["validation"])
