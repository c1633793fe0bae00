"""Weights that blocks have in common, which makes a stage an unrolled loop (unrolled 4.3)."""

from collections.abc import Sequence

from torch import nn

from skipgate.nets.block import Block
from skipgate.nets.layers import BatchNorm
from skipgate.settings import Shared


def share(blocks: Sequence[Block], what: Sequence[Shared]) -> Sequence[Block]:
    """Give the blocks of a stage the maps or the gates of its first; gives the blocks back.

    Those that change the shape keep their own. A gate stays a block's own in all but its numbers,
    so that blocks can still be closed, dropped and watched one at a time.
    """
    first: dict[int, Block] = {}
    for block in blocks:
        if not block.site.keeps_shape:
            continue
        like = first.setdefault(block.site.stage, block)
        if "maps" in what:
            _tie(block.transform, like.transform)
        if "gates" in what:
            _tie(block.T, like.T)
            _tie(block.C, like.C)
    return blocks


def _tie(part: nn.Module, like: nn.Module) -> None:
    """Put the parameters of `like` into a part that is built alike.

    Each block keeps its batch normalisation, as each step of the loop has statistics of its own
    (Liao and Poggio 2016).
    """
    for name, module in part.named_modules():
        if not isinstance(module, BatchNorm):
            for key, parameter in like.get_submodule(name).named_parameters(recurse=False):
                module.register_parameter(key, parameter)
