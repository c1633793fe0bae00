"""A network: a stem, one flat list of blocks, a head."""

from collections.abc import Sequence
from typing import cast

from torch import Tensor, nn

from skipgate.nets.block import Block
from skipgate.nets.gate import Gate


class Network(nn.Module):
    """Maps images (replica, batch, channel, height, width) to logits (replica, batch, class).

    The list of blocks is the whole structure: a lesion, a shuffle and a pruning order are
    operations on it.
    """

    def __init__(
        self, replicas: int, stem: nn.Module, blocks: Sequence[Block], head: nn.Module
    ) -> None:
        super().__init__()
        self.replicas = replicas
        self.stem = stem
        self.head = head
        self.chain = nn.ModuleList(blocks)

    @property
    def blocks(self) -> list[Block]:
        """The blocks in order."""
        return [cast(Block, block) for block in self.chain]

    @property
    def gates(self) -> list[Gate]:
        """All gates, T and C."""
        return [module for module in self.modules() if isinstance(module, Gate)]

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.chain:
            x = block(x)
        y: Tensor = self.head(x)
        return y


def parameter_count(network: Network) -> int:
    """Trainable numbers of one replica."""
    return sum(p.numel() for p in network.parameters()) // network.replicas
