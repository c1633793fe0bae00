"""Random numbers: one stream per purpose, so that using more of one changes no other."""

from collections.abc import Sequence

import torch

from skipgate.files import sha256


def stream(seed: int, purpose: str, epoch: int = 0) -> torch.Generator:
    """A CPU generator that depends on these words alone.

    A resumed run continues it without a stored state.
    """
    key = sha256(f"{seed}/{purpose}/{epoch}".encode())
    return torch.Generator().manual_seed(int(key[:15], 16))


def streams(seeds: Sequence[int], purpose: str, epoch: int = 0) -> list[torch.Generator]:
    """One stream per seed."""
    return [stream(seed, purpose, epoch) for seed in seeds]
