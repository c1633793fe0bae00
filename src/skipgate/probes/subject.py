"""What a probe is given."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from skipgate.data.examples import Batch, Examples
from skipgate.evaluation import evaluate, evaluating
from skipgate.nets.network import Network
from skipgate.probes.walk import Walk, outputs
from skipgate.settings import Classify
from skipgate.streams import stream
from skipgate.tasks.classify import Classification
from skipgate.tasks.task import Tally, Task


def _any_classes() -> Task:
    """Classification of whatever there is: losses and mistakes need no settings."""
    return Classification(Classify("classify", (1, 1, 1), 2, 1, 0, ""))


@dataclass(frozen=True)
class Subject:
    """A trained network, and the examples to test it on, in batches as its recipe has them."""

    network: Network
    examples: Examples
    batch: int
    training: Examples | None = None
    """Examples that it was trained on, for probes that choose by them."""
    task: Task = field(default_factory=_any_classes)
    seeds: Sequence[int] = ()
    """Which seed each replica is; 0, 1, ... where nothing else is said."""
    resamples: int = 0
    """How often the examples of a single network are drawn again.

    Scores then have more columns than seeds: the examples as they are, then each resample.
    """
    picture: Callable[[Tensor], Tensor] = lambda x: x
    """Turns inputs back into what a person can look at, with values from 0 to 1."""

    @property
    def names(self) -> Sequence[int]:
        """The seeds of the replicas, by whose numbers a probe draws for them."""
        return self.seeds or range(self.network.replicas)

    @cached_property
    def counts(self) -> Tensor:
        """How often each resample has each example, (resample, example); the first has all once.

        They depend on nothing but the number of examples, so that networks can be compared.
        """
        number = len(self.examples)
        drawn = [
            torch.randint(number, (number,), generator=stream(draw, "resample"))
            for draw in range(self.resamples)
        ]
        rows = [torch.bincount(each, minlength=number) for each in drawn]
        return torch.stack([torch.ones(number, dtype=torch.long), *rows]).double()

    def averages(self, values: Tensor) -> Tensor:
        """The mean over examples of values (replica, example), by replica or by resample."""
        if not self.resamples:
            return values.mean(1)
        return self.counts @ values[0].double().cpu() / values.shape[1]

    def batches(self) -> Iterator[Batch]:
        """All examples as (replica, batch, ...) with their targets."""
        replicas = self.network.replicas
        for x, y in self.examples.in_turn(self.batch):
            yield x.expand(replicas, *x.shape), y.expand(replicas, *y.shape)

    @torch.no_grad()
    def scores_of(self, walks: Sequence[Walk]) -> list[list[float]]:
        """The measure of each variant, per seed or per resample."""
        if not self.resamples:
            return [tally.values().tolist() for tally in self.tallies_of(walks)]
        found: list[list[Tensor]] = [[] for _ in walks]
        with evaluating(self.network):
            for x, y in self.batches():
                for number, output in outputs(self.network, walks, x):
                    found[number].append(self.task.outcomes(output.main, y))
        return [self.averages(torch.cat(each, 1)).tolist() for each in found]

    @torch.no_grad()
    def tallies_of(self, walks: Sequence[Walk]) -> list[Tally]:
        """Measure and loss of each variant; each carries a state of its own."""
        device = self.examples.device
        tallies = [self.task.tally(self.network.replicas, device) for _ in walks]
        states: list[Any] = [None] * len(walks)
        with evaluating(self.network):
            for x, y in self.batches():
                for number, output in outputs(self.network, walks, x, states):
                    states[number] = output.state
                    tallies[number].add(output.main, y)
        return tallies

    def scores(self) -> list[float]:
        """The measure per seed, of the network as it is now."""
        tally = evaluate(self.network, self.task, self.examples, self.batch)
        values: list[float] = tally.values().tolist()
        return values

    def losses(self, h: Tensor, y: Tensor) -> Tensor:
        """The loss of each replica, given the last block's output."""
        return self.task.losses(self.network.finish(h).main, y)
