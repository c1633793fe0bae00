"""Labelled images as examples: scaling, batches and augmentation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from skipgate.data.examples import Batch, Examples, Split, Streams
from skipgate.files import Problem
from skipgate.settings import Augment, FixedPixels, Pixels, Recipe

NAMES = ("train_images", "train_labels", "test_images", "test_labels")
"""The arrays of a data set of images."""


@dataclass(frozen=True)
class Images(Examples):
    """Images (image, channel, height, width), ready for a network, with their labels."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)

    def first(self, count: int) -> "Images":
        return Images(self.x[: count or None], self.y[: count or None])

    def held_out(self, count: int) -> tuple["Images", "Images"]:
        kept = len(self) - count
        return self.first(kept), Images(self.x[kept:], self.y[kept:])

    def in_turn(self, size: int) -> Iterator[Batch]:
        yield from zip(self.x.split(size), self.y.split(size), strict=True)

    def epoch(self, recipe: Recipe, streams: Streams) -> Iterator[Batch]:
        """The last batch may be smaller; none is left out."""
        orders = [_order(len(self), g, shuffle=recipe.shuffle) for g in streams("order")]
        generators = streams("augment")
        for chosen in torch.stack(orders).split(recipe.batch, dim=1):
            index = chosen.to(self.y.device)
            # Twice as fast as self.x[index].
            x = self.x.index_select(0, index.flatten()).unflatten(0, index.shape)
            yield augmented(x, recipe.augment, generators), self.y[index]

    @property
    def device(self) -> torch.device:
        return self.y.device


def _order(count: int, generator: torch.Generator, *, shuffle: bool) -> Tensor:
    return torch.randperm(count, generator=generator) if shuffle else torch.arange(count)


def load(folder: Path, top: int, pixels: Pixels | FixedPixels, device: torch.device) -> Split:
    """Read a fetched data set and scale it."""
    arrays = []
    for name in NAMES:
        try:
            arrays.append(torch.from_numpy(np.load(folder / f"{name}.npy")))
        except (OSError, ValueError, EOFError) as error:
            raise Problem(
                f"{folder / name}.npy is missing or damaged; "
                f"run: dvc repro -f -s fetch@{folder.name}"
            ) from error
    train_x, train_y, test_x, test_y = arrays
    train, test = scaled([train_x, test_x], top, pixels, torch.float32)
    return Split(
        Images(train.to(device), train_y.long().to(device)),
        Images(test.to(device), test_y.long().to(device)),
    )


def scaled(
    images: list[Tensor], top: int, pixels: Pixels | FixedPixels, dtype: torch.dtype
) -> list[Tensor]:
    """Bytes to numbers, by what the first of `images`, the training set, has.

    unit: divided by the largest value, `top`. centred: moreover less the mean image, pixel by
    pixel, as He et al. do. standardised: less each channel's mean, divided by its standard
    deviation, as Zagoruyko and Komodakis do. Fixed ones go by numbers that are given.
    """
    if isinstance(pixels, FixedPixels):
        return [_fixed(x.to(dtype), top, pixels) for x in images]
    unit = [x.to(dtype) / top for x in images]
    if pixels == "unit":
        return unit
    train = unit[0]
    if pixels == "centred":
        return [x - train.mean(0) for x in unit]
    mean = train.mean((0, 2, 3), keepdim=True)
    deviation = train.std((0, 2, 3), keepdim=True)
    return [(x - mean) / deviation for x in unit]


def _fixed(x: Tensor, top: int, pixels: FixedPixels) -> Tensor:
    mean, deviation = (torch.tensor(v, dtype=x.dtype) for v in (pixels.mean, pixels.deviation))
    x = x.flip(1) if pixels.order == "bgr" else x
    shifted = x * (pixels.brightest / top) - mean.view(-1, 1, 1)
    return shifted / deviation.view(-1, 1, 1)


def unscaled(x: Tensor, pixels: Pixels | FixedPixels) -> Tensor:
    """Inputs as colours from 0 to 1 again; where it is not known how, from darkest to brightest."""
    if not isinstance(pixels, FixedPixels):
        return (x - x.amin()) / (x.amax() - x.amin()).clamp(min=1e-12)
    mean, deviation = (torch.tensor(v, dtype=x.dtype) for v in (pixels.mean, pixels.deviation))
    x = (x * deviation.view(-1, 1, 1) + mean.view(-1, 1, 1)) / pixels.brightest
    return x.flip(1) if pixels.order == "bgr" else x


def augmented(x: Tensor, augment: Augment, generators: Sequence[torch.Generator]) -> Tensor:
    """Crops and flips of (replica, batch, ...) images, each replica by its own generator."""
    if augment.pad:
        replicas = zip(x, generators, strict=True)
        x = torch.stack([_cropped(images, augment.pad, g) for images, g in replicas])
    if augment.flip:
        draws = [torch.rand(x.shape[1], generator=g) < 0.5 for g in generators]
        turned = torch.stack(draws).to(x.device)
        x = torch.where(turned.view(*turned.shape, 1, 1, 1), x.flip(-1), x)
    return x


def _cropped(x: Tensor, pad: int, generator: torch.Generator) -> Tensor:
    """A random window of the original size out of each zero-padded image."""
    count, _, height, width = x.shape
    shifts = torch.randint(2 * pad + 1, (2, count), generator=generator).to(x.device)
    rows = shifts[0].view(-1, 1) + torch.arange(height, device=x.device)
    columns = shifts[1].view(-1, 1) + torch.arange(width, device=x.device)
    image = torch.arange(count, device=x.device).view(-1, 1, 1)
    padded = F.pad(x, (pad, pad, pad, pad)).permute(0, 2, 3, 1)
    return padded[image, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2)
