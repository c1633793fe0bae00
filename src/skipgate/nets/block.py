"""The one block of this project."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from skipgate.nets.dense import gated_sum
from skipgate.nets.gate import Gate, spread
from skipgate.nets.gates.constant import is_one
from skipgate.nets.transforms import Pre
from skipgate.reader import later


@dataclass(frozen=True)
class Site:
    """Where a block stands: blocks of one stage that keep the shape can be swapped or removed."""

    stage: int
    index: int
    """In the whole network, from 0."""
    keeps_shape: bool
    alone: bool = later(False)
    """Whether nothing can stand in for it: it changes the shape and has no shortcut."""


@dataclass(frozen=True)
class Gates:
    """The pair that makes a variant."""

    T: Gate
    C: Gate


@dataclass(frozen=True)
class Paths:
    """F and S, and what comes before and after them."""

    transform: nn.Module
    shortcut: nn.Module
    before: nn.Module
    after: nn.Module


class Block(nn.Module):
    """y = after( T(x, F(x)) * F(x) + C(x, F(x)) * S(x) ); where T is closed, y = after( S(x) ).

    What both paths begin with, if anything, is `before`: a projecting pre-activation block shares
    its first BN-ReLU.
    """

    def __init__(self, site: Site, paths: Paths, gates: Gates) -> None:
        super().__init__()
        self.site = site
        self.before = paths.before
        self.after = paths.after
        self.transform = paths.transform
        self.shortcut = paths.shortcut
        self.T = gates.T
        self.C = gates.C

    def forward(self, x: Tensor) -> Tensor:
        x = self.before(x)
        s: Tensor = self.shortcut(x)
        closed = self.T.closed()
        if closed is not None and all(closed):
            bypassed: Tensor = self.after(s)
            return bypassed
        whole = self._sum(x, s) if closed is None else None
        if whole is not None:
            summed: Tensor = self.after(whole)
            return summed
        shut = None if closed is None else torch.tensor(closed, device=x.device)
        f = self.transform(x, shut)
        t = self.T(x, f)
        c = self.C(x, f, t)
        y: Tensor = self.after(_mixed(t, f, c, s))
        return y if shut is None else torch.where(spread(shut, y), self.after(s), y)

    def _sum(self, x: Tensor, s: Tensor) -> Tensor | None:
        """F(x) + S(x) where both gates are 1 and one step does it all; else None."""
        if is_one(self.T) and is_one(self.C) and isinstance(self.transform, Pre):
            return self.transform.fused(x, s)
        return None


def _mixed(t: Tensor | float, f: Tensor, c: Tensor | float, s: Tensor) -> Tensor | float:
    """The sum t f + c s, in one step where there is one."""
    whole = gated_sum(t, f, c, s) if isinstance(t, Tensor) else None
    return _times(t, f) + _times(c, s) if whole is None else whole


def _times(gate: Tensor | float, value: Tensor) -> Tensor | float:
    """The product gate * value, without work for the constants 0 and 1."""
    if isinstance(gate, float) and gate in (0.0, 1.0):
        return value if gate else 0.0
    return gate * value
