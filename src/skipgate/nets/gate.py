"""What a gate is. The gates themselves are the files of `gates/`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from skipgate.nets.layers import Affine


class Layers(nn.Module):
    """Maps in order, and what normalises each."""

    affines: nn.ModuleList
    norms: nn.ModuleList


@dataclass(frozen=True)
class Slot:
    """The place of a gate in its network: all that a gate may want to know when it is built."""

    replicas: int
    index: int
    """Of its block, from 0."""
    count: int
    """Blocks in the network."""
    affine: Callable[[], Affine]
    """A fresh map with the stride and widths of the transform; 3x3 if that is convolutional."""
    layers: Callable[[], "Layers"] | None = None
    """Fresh maps, each normalised, like those of the transform, with ReLUs between them."""


Closed = tuple[bool, ...]
"""By replica. Plain values: to ask a tensor on a GPU would wait for all that comes before it."""


class Draws:
    """A part that draws at random for each mini-batch, from generators that it is given.

    They are one per replica, so that replica i of a stack draws what seed i would draw alone.
    """

    purpose: ClassVar[str] = "gates"
    """Which random stream it draws from: parts of other purposes do not move its draws."""
    first: int = 0
    """Where in the mini-batch the examples that it sees begin, if other processes see others."""

    def draw(self, generators: Sequence[torch.Generator]) -> None:
        """Draw for the coming mini-batch; most parts are not random."""


class Gate(nn.Module, Draws, ABC):
    """T or C of the block equation: a factor that broadcasts over (replica, batch, ...).

    A block whose transform gate is closed in a replica *is* its shortcut there. Surgery closes
    blocks by writing `shut`; a gate that closes of its own accord (stochastic depth) extends
    `closed`. Gates that reach 0 by arithmetic (k = 0, all responses below epsilon) need neither: 0
    * F + S is S.
    """

    places: ClassVar[tuple[str, ...]] = ("T", "C")
    """Where in the equation the gate can stand."""

    opened: Tensor | None
    """Whether it was open, by replica, since this was last cleared; of gates that are watched."""

    def __init__(self) -> None:
        super().__init__()
        self.shut: Closed | None = None
        self.opened = None

    @abstractmethod
    def forward(self, x: Tensor, f: Tensor, t: Tensor | float | None = None) -> Tensor | float:
        """The gate's value for the block's input x and F(x).

        A carry gate is also given t, the value of T.
        """

    def closed(self) -> Closed | None:
        """Whether the block is its shortcut in each replica; None means in none."""
        return self.shut

    def watch(self, replicas: int) -> None:
        """Called by the constructor of a gate that may stay at 0 for good: training records it."""
        del self.opened
        self.register_buffer("opened", torch.zeros(replicas, dtype=torch.bool), persistent=False)

    @torch.no_grad()
    def note(self, value: Tensor) -> None:
        """Remember, in training, in which replicas a value (replica, batch, ...) is not 0.

        It stays on the device, where nobody waits for it. NaN counts as open.
        """
        if self.training and self.opened is not None:
            self.opened.logical_or_((value != 0).flatten(1).any(1))

    def start(self) -> None:
        """Set what the network's initialiser must not decide, such as a bias of -2."""


def spread(per_replica: Tensor, like: Tensor) -> Tensor:
    """A vector over replicas, shaped to broadcast over `like`."""
    return per_replica.view(-1, *[1] * (like.ndim - 1))
