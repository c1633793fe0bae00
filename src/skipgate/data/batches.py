"""Mini-batches for a stack of replicas: each seed has its own order and its own augmentation."""

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from skipgate.evaluation import Images
from skipgate.settings import Augment


def batches(
    images: Images,
    size: int,
    augment: Augment,
    order: Sequence[torch.Generator],
    dice: Sequence[torch.Generator],
) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch as (replica, batch, ...) images and labels; the last batch may be smaller, none is left out."""
    permutations = torch.stack([torch.randperm(len(images), generator=die) for die in order])
    for chosen in permutations.split(size, dim=1):
        index = chosen.to(images.y.device)
        x = images.x.index_select(0, index.flatten()).unflatten(
            0, index.shape
        )  # twice as fast as images.x[index]
        yield _augmented(x, augment, dice), images.y[index]


def _augmented(x: Tensor, augment: Augment, dice: Sequence[torch.Generator]) -> Tensor:
    if augment.pad:
        x = torch.stack(
            [_cropped(images, augment.pad, die) for images, die in zip(x, dice, strict=True)]
        )
    if augment.flip:
        turned = torch.stack([torch.rand(x.shape[1], generator=die) < 0.5 for die in dice]).to(
            x.device
        )
        x = torch.where(turned.view(*turned.shape, 1, 1, 1), x.flip(-1), x)
    return x


def _cropped(x: Tensor, pad: int, die: torch.Generator) -> Tensor:
    """A random window of the original size out of each zero-padded image (image, channel, height, width)."""
    count, _, height, width = x.shape
    shifts = torch.randint(2 * pad + 1, (2, count), generator=die).to(x.device)
    rows = shifts[0].view(-1, 1) + torch.arange(height, device=x.device)
    columns = shifts[1].view(-1, 1) + torch.arange(width, device=x.device)
    image = torch.arange(count, device=x.device).view(-1, 1, 1)
    padded = F.pad(x, (pad, pad, pad, pad)).permute(0, 2, 3, 1)
    return padded[image, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2)
