"""The values of the gates over the test set, block by block."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from skipgate.nets.gates.scalar import Scalar
from skipgate.probes.subject import Subject
from skipgate.settings import Probes

BINS = 20
LOW = 0.1
"""A gate below this lets next to nothing through."""


def probe(subject: Subject, _: Probes) -> dict[str, Any]:
    """Mean of T and of C over examples and units, as [block][seed].

    Where they depend on the sample they have a `spread`: `bins` as [block][bin][seed] are shares of
    all values between 0 and 1, `low` is the share of values below a tenth, and `quiet` the share of
    units whose mean over examples is. Gates that are sparse for a sample need not be so on average
    (unrolled section 2, "Staying close to the inputs").
    """
    blocks = subject.network.blocks
    gates = [block.T for block in blocks] + [block.C for block in blocks]
    watched = watch(subject, gates)
    means = [w.mean().tolist() for w in watched]
    count = len(blocks)
    spreads = {
        "T": [w.spread() for w in watched[:count]],
        "C": [w.spread() for w in watched[count:]],
    }
    spread = {
        name: {key: [found[key].tolist() for found in each] for key in ("bins", "low", "quiet")}
        for name, found_or_not in spreads.items()
        if (each := [found for found in found_or_not if found is not None])
    }
    return {"T": means[:count], "C": means[count:], "spread": spread, **_scalars(subject)}


def _scalars(subject: Subject) -> dict[str, Any]:
    """The k of scalar gates itself, as [block][seed], which may be negative where T is 0."""
    ks = [block.T.k.tolist() for block in subject.network.blocks if isinstance(block.T, Scalar)]
    return {"k": ks} if ks else {}


def gate_means(subject: Subject, gates: Sequence[nn.Module]) -> Tensor:
    """Mean value of each gate, (gate, replica)."""
    return torch.stack([w.mean() for w in watch(subject, gates)])


@dataclass
class Watched:
    """The values of one gate so far."""

    replicas: int
    examples: int = 0
    total: Tensor | float = 0.0
    """By replica and unit."""
    bins: Tensor | float = 0.0
    low: Tensor | float = 0.0
    by_sample: bool = False

    def add(self, examples: int, value: Tensor | float) -> None:
        """Take up the values for a batch."""
        values = torch.as_tensor(value, dtype=torch.float64).cpu()
        values = values.expand(self.replicas, 1, 1) if values.ndim == 0 else values.flatten(2)
        self.by_sample = self.by_sample or values.shape[1] > 1
        self.total = self.total + examples * values.mean(1)
        self.examples += examples
        if self.by_sample:
            places = (values * BINS).long().clamp(0, BINS - 1)
            shares = torch.stack([(places == place).double().mean((1, 2)) for place in range(BINS)])
            self.bins = self.bins + examples * shares
            self.low = self.low + examples * (values < LOW).double().mean((1, 2))

    def mean(self) -> Tensor:
        """Over examples and units, by replica."""
        return torch.as_tensor(self.total).mean(1) / self.examples

    def spread(self) -> dict[str, Tensor] | None:
        """Shares by replica; None for a gate that is the same for all samples."""
        if not self.by_sample:
            return None
        mean = self.mean()
        quiet = (torch.as_tensor(self.total) / self.examples < LOW).double().mean(1)
        bins, low = (torch.as_tensor(shares) / self.examples for shares in (self.bins, self.low))
        # A seed that has failed has no shares.
        return {
            name: torch.where(mean.isfinite(), found, torch.nan)
            for name, found in (("bins", bins), ("low", low), ("quiet", quiet))
        }


def watch(subject: Subject, gates: Sequence[nn.Module]) -> list[Watched]:
    """The values of each gate, watched during an ordinary evaluation."""
    watched = [Watched(subject.network.replicas) for _ in gates]

    def hook(mine: Watched) -> Callable[[nn.Module, Any, Tensor | float], None]:
        return lambda _, inputs, value: mine.add(inputs[0].shape[1], value)

    hooks = [
        gate.register_forward_hook(hook(mine)) for gate, mine in zip(gates, watched, strict=True)
    ]
    try:
        subject.scores()
    finally:
        for handle in hooks:
            handle.remove()
    return watched
