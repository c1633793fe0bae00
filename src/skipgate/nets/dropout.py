"""Dropout whose units are drawn for each seed apart, the same on every device."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from skipgate.nets.gate import Draws

WORD = 64
STEP = 0x9E3779B97F4A7C15 - (1 << WORD)
FACTORS = ((30, 0xBF58476D1CE4E5B9 - (1 << WORD)), (27, 0x94D049BB133111EB - (1 << WORD)))
LAST = 31
"""The constants of SplitMix64; less 2^64, because PyTorch's whole numbers are signed."""
BITS = 53


class Dropout(nn.Module, Draws):
    """In training each unit is 0 with probability `share`, and else divided by 1 - share.

    Srivastava et al. 2014. A batch takes one number from a replica's generator; the units follow
    from it by counting (SplitMix64, Steele et al. 2014), with ordinary operations that compile and
    need no generator on the device.
    """

    purpose = "dropout"

    def __init__(self, replicas: int, share: float) -> None:
        super().__init__()
        self.share = share
        self.key: Tensor
        self.register_buffer("key", torch.zeros(replicas, dtype=torch.long), persistent=False)

    def draw(self, generators: Sequence[torch.Generator]) -> None:
        low = -(1 << (WORD - 1))
        drawn = [torch.randint(low, -low - 1, (1,), generator=g) for g in generators]
        self.key.copy_(torch.cat(drawn))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        before = self.first * x[0, 0].numel()
        words = random_words(self.key, x[0].numel(), before)
        kept = _right(words, WORD - BITS) >= self.share * 2**BITS
        return torch.where(kept.view(x.shape), x / (1 - self.share), 0)


def random_words(keys: Tensor, count: int, after: int = 0) -> Tensor:
    """`count` outputs of SplitMix64 for each key, (key, output), as signed numbers.

    They are the first, or those after so many.
    """
    places = torch.arange(after + 1, after + count + 1, device=keys.device)
    z = keys.unsqueeze(1) + STEP * places
    for shift, factor in FACTORS:
        z = (z ^ _right(z, shift)) * factor
    return z ^ _right(z, LAST)


def _right(z: Tensor, shift: int) -> Tensor:
    """Bits shifted to the right, zeros filled in on the left."""
    return (z >> shift) & ((1 << (WORD - shift)) - 1)
