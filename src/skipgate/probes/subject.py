"""What a probe is given."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from skipgate.evaluation import Images, Tally, evaluate, evaluating
from skipgate.nets.network import Network
from skipgate.probes.walk import Walk, outputs


@dataclass(frozen=True)
class Subject:
    """A trained network, and the images to test it on in batches of the size its recipe names."""

    network: Network
    images: Images
    batch: int
    held: Images | None = None
    """Images to choose by, which are not those of the test."""

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """All images as (replica, batch, ...) with their labels (replica, batch)."""
        replicas = self.network.replicas
        for x, y in zip(
            self.images.x.split(self.batch), self.images.y.split(self.batch), strict=True
        ):
            yield x.expand(replicas, *x.shape), y.expand(replicas, -1)

    def errors_of(self, walks: Sequence[Walk]) -> list[list[float]]:
        """Test error in % of each variant, by seed."""
        return [tally.errors().tolist() for tally in self.tallies_of(walks)]

    @torch.no_grad()
    def tallies_of(self, walks: Sequence[Walk]) -> list[Tally]:
        """Mistakes and loss of each variant."""
        tallies = [Tally.empty(self.network.replicas, self.images.y.device) for _ in walks]
        with evaluating(self.network):
            for x, y in self.batches():
                for number, logits in outputs(self.network, walks, x):
                    tallies[number].add(logits, y)
        return tallies

    def errors(self) -> list[float]:
        """Test error in % by seed, of the network as it is now."""
        return evaluate(self.network, self.images, self.network.replicas, self.batch)[0].tolist()
