"""Operations on trained networks, as context managers that leave the network as they found it."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from skipgate.nets.block import Block
from skipgate.nets.network import Network


@contextmanager
def closed(network: Network, masks: Tensor) -> Iterator[Network]:
    """Close blocks: `masks` (block, replica) is true where a block shall be its shortcut."""
    with ExitStack() as stack:
        for block, mask in zip(network.blocks, masks.tolist(), strict=True):
            stack.enter_context(shut(block, mask))
        yield network


@contextmanager
def shut(block: Block, mask: Sequence[bool]) -> Iterator[None]:
    """Close one block in the replicas of `mask`."""
    before = block.T.shut
    try:
        block.T.shut = tuple(mask) if any(mask) else None
        yield
    finally:
        block.T.shut = before


def bypass(block: Block, x: Tensor) -> Tensor:
    """What the block gives when it is closed."""
    with shut(block, [True] * len(x)):
        y: Tensor = block(x)
    return y


def removable(network: Network) -> list[int]:
    """Places of the blocks that something can stand in for."""
    return [place for place, block in enumerate(network.blocks) if not block.site.alone]


def none_closed(network: Network) -> Tensor:
    """The mask (block, replica) that closes nothing."""
    return torch.zeros(len(network.blocks), network.replicas, dtype=torch.bool)


def one_closed(network: Network, index: int) -> Tensor:
    """The mask that closes one block in every replica."""
    masks = none_closed(network)
    masks[index] = True
    return masks


@contextmanager
def arranged(network: Network, order: Sequence[int]) -> Iterator[Network]:
    """Put the blocks of `order`, in that order, in place of all; a block left out is deleted.

    The network must stay whole: a block that changes the shape keeps its place among the others of
    its kind, and blocks stay in their stage.
    """
    before = network.chain
    blocks = [network.blocks[i] for i in order]
    _check_whole(network.blocks, blocks)
    try:
        network.chain = nn.ModuleList(blocks)
        yield network
    finally:
        network.chain = before


def _check_whole(before: Sequence[Block], after: Sequence[Block]) -> None:
    fixed = [[b.site for b in blocks if not b.site.keeps_shape] for blocks in (before, after)]
    stages = [block.site.stage for block in after]
    first = [i for i, block in enumerate(after) if not block.site.keeps_shape]
    led = all(i == 0 or stages[i - 1] < stages[i] for i in first)
    if fixed[0] != fixed[1] or stages != sorted(stages) or not led:
        raise ValueError(
            "blocks move only within their stage, and those that change the shape stay where they "
            "are"
        )
