"""Labelled images as examples, all of them in memory."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from skipgate.data.augmenting import Augmentation, cut
from skipgate.data.examples import Batch, Examples, Split, Streams, orders
from skipgate.data.fetching import read_arrays
from skipgate.data.pixels import AS_IS, Scaling, scaling_of
from skipgate.group import EVERYTHING, Share
from skipgate.settings import FixedPixels, Pixels, Recipe, Window

NAMES = ("train_images", "train_labels", "test_images", "test_labels")
"""The arrays of a data set of images."""


@dataclass(frozen=True)
class Images(Examples):
    """Images (image, channel, height, width) in memory, scaled as they are needed, with labels."""

    x: Tensor
    y: Tensor
    scaling: Scaling = AS_IS

    def __len__(self) -> int:
        return len(self.y)

    def first(self, count: int) -> "Images":
        return replace(self, x=self.x[: count or None], y=self.y[: count or None])

    def held_out(self, count: int) -> tuple["Images", "Images"]:
        kept = len(self) - count
        return self.first(kept), replace(self, x=self.x[kept:], y=self.y[kept:])

    def in_turn(self, size: int, share: Share = EVERYTHING) -> Iterator[Batch]:
        batches = zip(self.x.split(size), self.y.split(size), strict=True)
        for x, y in itertools.islice(batches, share.rank, None, share.count):
            yield self.scaling(x), y

    def epoch(self, recipe: Recipe, streams: Streams, share: Share = EVERYTHING) -> Iterator[Batch]:
        """The last batch may be smaller; none is left out."""
        augmentation = Augmentation(recipe.augment, streams, share)
        for chosen in orders(len(self), recipe, streams).split(recipe.batch, dim=1):
            whole = chosen.shape[1]
            index = chosen[:, share.rows(whole)].to(self.y.device)
            # Twice as fast as self.x[index].
            x = self.x.index_select(0, index.flatten()).unflatten(0, index.shape)
            if not recipe.augment.window.is_whole:
                x = _windows(x, recipe.augment.window, augmentation.windows(whole))
            yield augmentation.applied(x, self.scaling, whole), self.y[index]

    @property
    def device(self) -> torch.device:
        return self.y.device


def _windows(x: Tensor, window: Window, draws: Tensor) -> Tensor:
    """Parts of (replica, batch, ...) images, resized to what the images were."""
    pairs = zip(x.flatten(0, 1), draws.flatten(0, 1), strict=True)
    parts = [cut(image, window, own, x.shape[-1]) for image, own in pairs]
    return torch.stack(parts).view(x.shape)


def load(folder: Path, top: int, pixels: Pixels | FixedPixels, device: torch.device) -> Split:
    """Read a fetched data set; it lies on the device as bytes."""
    arrays = [torch.from_numpy(array) for array in read_arrays(folder, NAMES)]
    scaling = scaling_of(arrays[0], top, pixels, torch.float32).to(device)
    train_x, train_y, test_x, test_y = (array.to(device) for array in arrays)
    return Split(Images(train_x, train_y.long(), scaling), Images(test_x, test_y.long(), scaling))
