"""What is learnt from: inputs with their targets, in batches."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from skipgate.settings import Recipe

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
    def in_turn(self, size: int) -> Iterator[Batch]:
        """All of them in their order, as (batch, ...)."""

    @abstractmethod
    def epoch(self, recipe: Recipe, streams: Streams) -> Iterator[Batch]:
        """All of them once, as (replica, batch, ...); each replica in an order of its own."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where targets lie."""


@dataclass(frozen=True)
class Split:
    """What is trained on and what is tested on."""

    train: Examples
    test: Examples
