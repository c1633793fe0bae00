"""A network: a stem, one flat list of blocks, heads."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from skipgate.nets.block import Block
from skipgate.nets.gate import Draws, Gate
from skipgate.nets.recomputing import recomputed

Visit = Callable[[int, Block, Tensor], Tensor]
"""What to do at a block, given its place and its input: returns the input of the next."""


@dataclass(frozen=True)
class Output:
    """What a network gives for one batch."""

    main: Tensor
    sides: tuple[tuple[float, Tensor], ...] = ()
    """Outputs of the side heads, each with the weight of its loss; in training only."""
    state: Any = None
    """What the head carries to the next batch, if it carries anything."""


class StatefulHead(nn.Module):
    """A head that carries a state from batch to batch: `forward(h, state)` gives both.

    The state that it gives must be detached: the graph behind it is gone with its batch.
    """


@dataclass(frozen=True)
class Side:
    """A head at a block, by whose loss the blocks up to there are trained too."""

    head: nn.Module
    weight: float = 1.0


class Network(nn.Module):
    """Maps inputs (replica, batch, ...) to outputs (replica, batch, ...).

    The list of blocks is the whole structure: a lesion, a shuffle and a pruning order are
    operations on it. `sides` has heads by the index of the block that they stand at.
    """

    def __init__(
        self,
        replicas: int,
        stem: nn.Module,
        blocks: Sequence[Block],
        head: nn.Module,
        sides: Mapping[int, Side] | None = None,
    ) -> None:
        super().__init__()
        self.replicas = replicas
        self.recomputes = False
        """Whether blocks are computed again for their gradients, to save memory."""
        self.stem = stem
        self.head = head
        self.chain = nn.ModuleList(blocks)
        self.sides = nn.ModuleDict({str(i): side.head for i, side in (sides or {}).items()})
        self.side_weights = {i: side.weight for i, side in (sides or {}).items()}

    @property
    def blocks(self) -> list[Block]:
        """The blocks in order."""
        return [cast(Block, block) for block in self.chain]

    @property
    def gates(self) -> list[Gate]:
        """All gates, T and C."""
        return [module for module in self.modules() if isinstance(module, Gate)]

    @property
    def drawing(self) -> list[Draws]:
        """All parts that may draw at random for a batch."""
        return [module for module in self.modules() if isinstance(module, Draws)]

    def forward(self, x: Tensor) -> Tensor:
        return self.run(x).main

    def run(self, x: Tensor, state: Any = None) -> Output:
        """The whole network on a batch, with the state that the batch before has left."""
        sides: list[tuple[float, Tensor]] = []

        def visit(_: int, block: Block, h: Tensor) -> Tensor:
            y = self.through(block, h)
            if self.training and block.site.index in self.side_weights:
                index = block.site.index
                sides.append((self.side_weights[index], self.sides[str(index)](y)))
            return y

        h = self.follow(self.stem(x), visit if self.side_weights else None)
        output = self.finish(h, state)
        return Output(output.main, tuple(sides), output.state) if sides else output

    def follow(
        self, h: Tensor, visit: Visit | None = None, order: Sequence[int] | None = None
    ) -> Tensor:
        """From the stem's output to the head's input: the one walk through the blocks.

        Training and every probe go through here: `visit` says what is done at a block, and `order`
        which blocks there are.
        """
        blocks = self.blocks
        for place in range(len(blocks)) if order is None else order:
            block = blocks[place]
            h = self.through(block, h) if visit is None else visit(place, block, h)
        return h

    def through(self, block: Block, h: Tensor) -> Tensor:
        """What a block gives."""
        again = self.recomputes and self.training and torch.is_grad_enabled()
        y: Tensor = recomputed(block, h) if again else block(h)
        return y

    def finish(self, h: Tensor, state: Any = None) -> Output:
        """The head, given the last block's output."""
        if isinstance(self.head, StatefulHead):
            main, carried = self.head(h, state)
            return Output(main, state=carried)
        return Output(self.head(h))


def parameter_count(network: Network) -> int:
    """Trainable numbers of one replica."""
    return sum(p.numel() for p in network.parameters()) // network.replicas


@torch.no_grad()
def alone(network: Network, replica: int) -> Network:
    """A copy of one replica, as a network of its own."""
    made = copy.deepcopy(network)
    # In place: blocks may share their weights.
    for tensor in {id(t): t for t in (*made.parameters(), *made.buffers())}.values():
        tensor.data = tensor.data[replica : replica + 1].clone()
    made.replicas = 1
    return made
