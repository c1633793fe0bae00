"""What is learnt from: inputs with their targets, in batches."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from skipgate.files import Problem
from skipgate.group import EVERYTHING, Share
from skipgate.settings import Handling, Recipe

Batch = tuple[Tensor, Tensor]
"""Inputs and targets."""
Streams = Callable[[str], Sequence[torch.Generator]]
"""One generator per replica for each purpose."""


class Examples(ABC):
    """A set of examples, resident on a device, streamed, or text."""

    @abstractmethod
    def __len__(self) -> int:
        """How many there are."""

    @abstractmethod
    def first(self, count: int) -> Self:
        """The first `count` of them; 0 means all."""

    @abstractmethod
    def held_out(self, count: int) -> tuple[Self, Self]:
        """All but the last `count` of them, and these."""

    @abstractmethod
    def in_turn(self, size: int, share: Share = EVERYTHING) -> Iterator[Batch]:
        """All of them in their order, as (batch, ...); of several processes, batches by turns."""

    @abstractmethod
    def epoch(self, recipe: Recipe, streams: Streams, share: Share = EVERYTHING) -> Iterator[Batch]:
        """All of them once, as (replica, batch, ...); each replica in an order of its own.

        One of several processes has its rows of every batch.
        """

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where targets lie."""


@dataclass(frozen=True)
class Split:
    """What is trained on and what is tested on."""

    train: Examples
    test: Examples
    validation: Examples | None = None
    """What is held out of training, to choose by."""

    def used_by(self, recipe: Handling) -> "Split":
        """The examples that a recipe trains on and holds out; all, where it does not train."""
        if not isinstance(recipe, Recipe):
            return self
        train = self.train.first(recipe.images)
        if not recipe.validation:
            return Split(train, self.test, self.validation)
        if recipe.validation >= len(train):
            raise Problem(
                f"validation: {recipe.validation} held-out examples leave none of {len(train)} to "
                "train on; hold out fewer"
            )
        kept, held_out = train.held_out(recipe.validation)
        return Split(kept, self.test, held_out)


def firsts(count: int, size: int, share: Share) -> Iterator[int]:
    """Where in each batch of an epoch the rows of a share begin."""
    for start in range(0, count, size):
        yield share.rows(min(size, count - start)).start


def orders(count: int, recipe: Recipe, streams: Streams) -> Tensor:
    """The order in which each replica has its examples in an epoch, (replica, example)."""
    if not recipe.shuffle:
        return torch.arange(count).expand(len(streams("order")), -1)
    return torch.stack([torch.randperm(count, generator=g) for g in streams("order")])
