"""Photographs that stay in the user's folder and are decoded as they are needed.

Processes read and decode; what they are to read, in which order and which part of it, is drawn
before, so that nothing depends on how many there are. There is no copy of the data set: fetching
leaves an index, and a file that is no longer what it was then is refused by its name.
"""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from skipgate.data import photographs, raw
from skipgate.data.augmenting import Augmentation, cut
from skipgate.data.examples import Batch, Examples, Split, Streams, orders
from skipgate.data.fetching import read_arrays
from skipgate.data.pixels import Scaling, scaling_of
from skipgate.files import Problem, sha256
from skipgate.group import EVERYTHING, Share, processes_here
from skipgate.settings import Classify, FixedPixels, Pixels, Recipe, Window

USERS_FOLDER = "imagenet"
"""In the folder that SKIPGATE_DATA names."""
TRAIN = "train"
TEST = "val"
INDEX = (
    "train_files",
    "train_labels",
    "train_hashes",
    "test_files",
    "test_labels",
    "test_hashes",
)
"""The arrays of the index."""
WORKERS = "SKIPGATE_WORKERS"
"""How many processes decode for each that trains; by default these share out all cores.

It decides no number.
"""
CHUNK = 64
"""Files that a process checks before it asks for more."""

Wanted = tuple[int, npt.NDArray[np.float32] | None]
"""An image, and the draws that choose its window; without these, it is its middle."""


@dataclass(frozen=True)
class Files:
    """Images in a folder, by their names in it and the SHA-256 of each."""

    folder: Path
    names: npt.NDArray[np.bytes_]
    hashes: npt.NDArray[np.uint8]

    def __getitem__(self, chosen: slice) -> "Files":
        return replace(self, names=self.names[chosen], hashes=self.hashes[chosen])

    def read(self, place: int) -> bytes:
        """The content of one, which must be what it was when it was fetched."""
        path = self.folder / self.names[place].decode()
        content = _content(path)
        if sha256(content) != self.hashes[place].tobytes().hex():
            raise Problem(f"{path} is not what it was when it was fetched; put it back")
        return content


@dataclass(frozen=True)
class Photographs(Examples):
    """Images in files, cut to squares of `side` pixels, with their labels."""

    files: Files
    y: Tensor
    scaling: Scaling
    side: int

    def __len__(self) -> int:
        return len(self.y)

    def first(self, count: int) -> "Photographs":
        return self._part(slice(count or None))

    def held_out(self, count: int) -> tuple["Photographs", "Photographs"]:
        kept = len(self) - count
        return self.first(kept), self._part(slice(kept, None))

    def _part(self, chosen: slice) -> "Photographs":
        return replace(self, files=self.files[chosen], y=self.y[chosen])

    def in_turn(self, size: int, share: Share = EVERYTHING) -> Iterator[Batch]:
        batches = torch.arange(len(self)).split(size)[share.rank :: share.count]
        labels = self.y.split(size)[share.rank :: share.count]
        wanted = (_middles(chosen) for chosen in batches)
        for x, y in zip(self._decoded(wanted, Window()), labels, strict=True):
            yield self.scaling(x), y

    def epoch(self, recipe: Recipe, streams: Streams, share: Share = EVERYTHING) -> Iterator[Batch]:
        """The last batch may be smaller; none is left out."""
        augmentation = Augmentation(recipe.augment, streams, share)
        window = recipe.augment.window
        batches = orders(len(self), recipe, streams).split(recipe.batch, dim=1)
        wanted = (_wanted(chosen, window, augmentation) for chosen in batches)
        for images, chosen in zip(self._decoded(wanted, window), batches, strict=True):
            own = chosen[:, share.rows(chosen.shape[1])]
            x = augmentation.applied(images.unflatten(0, own.shape), self.scaling, chosen.shape[1])
            yield x, self.y[own.to(self.device)]

    @property
    def device(self) -> torch.device:
        return self.y.device

    def _decoded(self, wanted: Iterable[list[Wanted]], window: Window) -> Iterator[Tensor]:
        """Bytes of the wanted images, batch by batch, on the device."""
        loader: DataLoader[Any] = DataLoader(
            _Decoder(self.files, window, self.side),
            batch_sampler=wanted,
            num_workers=workers(),
            collate_fn=_together,
            pin_memory=self.device.type == "cuda",
            generator=torch.Generator(),  # else every epoch would draw from the global one
        )
        for found in _alive(loader):
            if isinstance(found, str):
                raise Problem(found)
            yield found.to(self.device, non_blocking=True)


def load(
    folder: Path, content: Classify, pixels: Pixels | FixedPixels, device: torch.device
) -> Split:
    """Read the index of a data set whose images are in the user's folder."""
    arrays = read_arrays(folder, INDEX)
    scaling = scaling_of(torch.empty(0), content.top, pixels, torch.float32).to(device)
    parts = []
    for part, (names, labels, hashes) in ((TRAIN, arrays[:3]), (TEST, arrays[3:])):
        root = folder_of(part)
        if not root.is_dir():
            raise Problem(
                f"there is no folder {root}, whose images data.{folder.name} is made of; set "
                f"{raw.FOLDER} to the folder that they were fetched from"
            )
        y = torch.from_numpy(labels).long().to(device)
        parts.append(Photographs(Files(root, names, hashes), y, scaling, content.shape[-1]))
    return Split(*parts)


def folder_of(part: str) -> Path:
    """Where the user has the images of a part."""
    return Path(os.environ.get(raw.FOLDER, ".")) / USERS_FOLDER / part


def workers() -> int:
    """How many processes decode; 0 does it in this one."""
    word = os.environ.get(WORKERS, str(max(1, _cores() // processes_here())))
    if not word.isdigit():
        raise Problem(f"{WORKERS} must be a whole number, found {word!r}")
    return int(word)


def _cores() -> int:
    """Those that this process may use, where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def hashes_of(folder: Path, names: npt.NDArray[np.bytes_]) -> npt.NDArray[np.uint8]:
    """The SHA-256 of every file, (file, byte), all of which must decode."""
    paths = [folder / name.decode() for name in names]
    if not workers():
        return np.stack([_checked(path) for path in paths])
    with ProcessPoolExecutor(workers()) as pool:
        try:
            return np.stack(list(pool.map(_checked, paths, chunksize=CHUNK)))
        except Problem:
            pool.shutdown(cancel_futures=True)
            raise


def _checked(path: Path) -> npt.NDArray[np.uint8]:
    content = _content(path)
    try:
        photographs.check(content)
    except Problem as problem:
        raise Problem(f"{path}: {problem}; put a whole one there") from problem
    return np.frombuffer(bytes.fromhex(sha256(content)), np.uint8)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Problem(f"{path} cannot be read ({error.strerror}); put it back") from error


def _wanted(chosen: Tensor, window: Window, augmentation: Augmentation) -> list[Wanted]:
    """What this process's share of a batch of all replicas, (replica, image), is made of."""
    own = chosen[:, augmentation.share.rows(chosen.shape[1])]
    if window.is_whole:
        return _middles(own)
    draws = augmentation.windows(chosen.shape[1]).flatten(0, 1).numpy()
    return list(zip(own.flatten().tolist(), draws, strict=True))


def _middles(chosen: Tensor) -> list[Wanted]:
    return [(place, None) for place in chosen.flatten().tolist()]


@dataclass(frozen=True)
class _Decoder(Dataset[Any]):
    """What runs in the processes: an image as bytes, or why there is none."""

    files: Files
    window: Window
    side: int

    def __getitem__(self, wanted: Wanted) -> Tensor | str:
        place, draws = wanted
        try:
            content = self.files.read(place)
            if draws is None:
                return torch.from_numpy(photographs.middle(content, self.side))
            whole = torch.from_numpy(photographs.whole(content))
            return cut(whole, self.window, torch.from_numpy(draws), self.side)
        except Problem as problem:
            return str(problem)


def _together(images: list[Tensor | str]) -> Tensor | str:
    """A batch, or the first thing that is wrong with it."""
    wrong = [found for found in images if isinstance(found, str)]
    return wrong[0] if wrong else torch.stack(cast(list[Tensor], images))


def _alive(loader: Iterable[Any]) -> Iterator[Any]:
    """What the processes give, as long as they live."""
    batches = iter(loader)
    while True:
        try:
            found = next(batches, None)
        except RuntimeError as error:
            raise Problem(
                f"a process that decodes images has ended ({error}); give it more memory, shared "
                f"memory too, or set {WORKERS} to fewer"
            ) from error
        if found is None:
            return
        yield found
