"""Loss and error of a stack of replicas on labelled images."""

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


def losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross entropy of each replica: (replica, batch, class) and (replica, batch) to (replica,)."""
    each = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return each.view(labels.shape).mean(1)


@torch.no_grad()
def evaluate(network: nn.Module, images: Images, replicas: int, batch: int) -> tuple[Tensor, Tensor]:
    """Error in % and mean loss of each replica, in evaluation mode; the mode is restored."""
    was_training = network.training
    network.eval()
    wrong = torch.zeros(replicas, dtype=torch.long, device=images.y.device)
    total = torch.zeros(replicas, dtype=torch.float64, device=images.y.device)
    try:
        for x, y in zip(images.x.split(batch), images.y.split(batch), strict=True):
            logits = network(x.expand(replicas, *x.shape))
            labels = y.expand(replicas, -1)
            wrong += (logits.argmax(-1) != labels).sum(1)
            total += losses(logits, labels).double() * len(y)
    finally:
        network.train(was_training)
    # A network whose output is not a number has not answered: argmax would call that the first class.
    error = torch.where(total.isfinite(), 100.0 * wrong.double() / len(images), torch.nan)
    return error.cpu(), (total / len(images)).cpu()
