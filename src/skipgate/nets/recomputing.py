"""Blocks that are computed again for their gradients, not kept (Chen et al. 2016)."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from skipgate.nets.layers import BatchNorm

RUNNING = ("running_mean", "running_var")


def recomputed(block: nn.Module, h: Tensor) -> Tensor:
    """What the block gives; of all that it computes its input alone is kept.

    Parts that draw at random have drawn before, so they do the same the second time.
    """

    def contexts() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        return nullcontext(), _statistics_kept(block)

    y: Tensor = checkpoint(
        block, h, use_reentrant=False, preserve_rng_state=False, context_fn=contexts
    )
    return y


@contextmanager
def _statistics_kept(block: nn.Module) -> Iterator[None]:
    """Running statistics have seen the batch already: others move in their place."""
    norms = [module for module in block.modules() if isinstance(module, BatchNorm)]
    before = [{name: getattr(norm, name) for name in RUNNING} for norm in norms]
    try:
        for norm in norms:
            for name in RUNNING:
                setattr(norm, name, getattr(norm, name).clone())
        yield
    finally:
        for norm, kept in zip(norms, before, strict=True):
            for name, tensor in kept.items():
                setattr(norm, name, tensor)
