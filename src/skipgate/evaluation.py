"""Loss and error of a stack of replicas on labelled images."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Images:
    """Images (image, channel, height, width), ready for a network, with their labels."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)

    def first(self, count: int) -> "Images":
        """The first so many; 0 means all."""
        return Images(self.x[: count or None], self.y[: count or None])


@dataclass
class Tally:
    """Mistakes and summed loss of each replica so far."""

    wrong: Tensor
    total: Tensor
    images: int = 0

    @classmethod
    def empty(cls, replicas: int, device: torch.device) -> "Tally":
        """Nothing counted yet."""
        counts, sums = (
            torch.zeros(replicas, dtype=kind, device=device) for kind in (torch.long, torch.float64)
        )
        return cls(counts, sums)

    def add(self, logits: Tensor, labels: Tensor) -> None:
        """Count a batch."""
        self.wrong += (logits.argmax(-1) != labels).sum(1)
        self.total += losses(logits, labels).double() * labels.shape[1]
        self.images += labels.shape[1]

    def errors(self) -> Tensor:
        """Error in %. A network whose output is not a number has not answered: argmax would call that the first class."""
        return torch.where(
            self.total.isfinite(), 100.0 * self.wrong.double() / self.images, torch.nan
        ).cpu()

    def mean_loss(self) -> Tensor:
        """Loss an image."""
        return (self.total / self.images).cpu()


def losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross entropy of each replica: (replica, batch, class) and (replica, batch) to (replica,)."""
    each = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return each.view(labels.shape).mean(1)


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Evaluation mode; the mode of every part is restored."""
    training = [module for module in network.modules() if module.training]
    try:
        network.eval()
        yield
    finally:
        for module in training:
            module.training = True


@torch.no_grad()
def evaluate(
    network: nn.Module, images: Images, replicas: int, batch: int
) -> tuple[Tensor, Tensor]:
    """Error in % and mean loss of each replica."""
    tally = Tally.empty(replicas, images.y.device)
    with evaluating(network):
        for x, y in zip(images.x.split(batch), images.y.split(batch), strict=True):
            tally.add(network(x.expand(replicas, *x.shape)), y.expand(replicas, -1))
    return tally.errors(), tally.mean_loss()
