"""Made-up data in the official form, and their hashes and counts in the place of the recorded ones.

Nobody could make up images with the recorded hashes; all else of a data set's settings stays.
"""

import struct
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

from skipgate.data import raw
from skipgate.data.images import NAMES
from skipgate.data.sources import cifar10
from skipgate.files import sha256
from skipgate.settings import MARKS, Source
from tests import archives

CIFAR10 = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
MNIST = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
Made = tuple[Any, Source]
"""The settings by which made-up files are known."""


def some(count: int, classes: int, seed: int, shape: tuple[int, ...] = (3, 32, 32)):
    """Random images, and labels that have every class in turn."""
    generator = np.random.default_rng(seed)
    images = generator.integers(0, 256, (count, *shape), np.uint8)
    return images, (np.arange(count) % classes).astype(np.uint8)


def put(root: Path, monkeypatch, folder: str, files: Mapping[str, bytes]) -> None:
    """Into a folder of the folder that the user names."""
    monkeypatch.setenv(raw.FOLDER, str(root))
    (root / folder).mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (root / folder / name).write_bytes(content)


def idx(array: np.ndarray) -> bytes:
    """The form of MNIST's files."""
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def binary_batches(count: int) -> dict[str, bytes]:
    """CIFAR-10's six batches in the official binary layout, of `count` images each."""
    rows = np.random.default_rng(0).integers(0, 256, (6, count, cifar10.ROW), np.uint8)
    rows[:, :, 0] %= 10
    return dict(zip(CIFAR10, (batch.tobytes() for batch in rows), strict=True))


def hundred(classes: int, counts: tuple[int, int]):
    """CIFAR-100's files with so many images to train and to test on, and the arrays in them."""
    parts = (*some(counts[0], classes, 1), *some(counts[1], classes, 2))
    files = {
        "train": archives.cifar_batch(*parts[:2], b"fine_labels"),
        "test": archives.cifar_batch(*parts[2:], b"fine_labels"),
    }
    return files, dict(zip(NAMES, parts, strict=True))


def make_cifar10(root: Path, monkeypatch, known: Made) -> Made:
    """4 images a batch."""
    count = 4
    monkeypatch.setattr(cifar10, "BATCH", count)
    files = binary_batches(count)
    put(root, monkeypatch, "cifar10", files)
    return replace(known[0], sha256="", test=count), _with_hashes(known[1], files)


def make_cifar100(root: Path, monkeypatch, known: Made) -> Made:
    """An image of each of the 100 classes, twice."""
    files, _ = hundred(100, (100, 100))
    put(root, monkeypatch, "cifar100/cifar-100-python", files)
    hashes = {name: archives.md5(content) for name, content in files.items()}
    return replace(known[0], md5=hashes, train=100, test=100), known[1]


def make_svhn(root: Path, monkeypatch, known: Made) -> Made:
    """Each digit once in every part."""
    parts = {"train": some(10, 10, 5), "extra": some(10, 10, 6), "test": some(10, 10, 7)}
    files = {f"{part}_32x32.mat": archives.svhn_part(*made) for part, made in parts.items()}
    put(root, monkeypatch, "svhn", files)
    hashes = {name: archives.md5(content) for name, content in files.items()}
    return replace(known[0], md5=hashes, train=20, test=10), known[1]


def make_mnist(root: Path, monkeypatch, known: Made) -> Made:
    """8 images and 4."""
    arrays = (*some(8, 10, 3, (28, 28)), *some(4, 10, 4, (28, 28)))
    files = dict(zip(MNIST, map(idx, arrays), strict=True))
    put(root, monkeypatch, "mnist", files)
    return replace(known[0], sha256="", test=4), _with_hashes(known[1], files)


def make_imagenet(root: Path, monkeypatch, known: Made) -> Made:
    """A photograph of each of the 1,000 classes, twice."""
    monkeypatch.setenv(raw.FOLDER, str(archives.imagenet(root, 1000, 1, 1)))
    return replace(known[0], train=1000, test=1000), known[1]


def make_ptb(root: Path, monkeypatch, known: Made) -> Made:
    """Each word of a vocabulary of the recorded size once, of as many letters as it has."""
    signs = 2
    letters = [chr(ord("A") + i) for i in range(known[0].characters - MARKS - signs)]
    names = islice(product(letters, repeat=3), known[0].vocabulary - signs)
    words = ["".join(letters), *("".join(name) for name in names)][: known[0].vocabulary - signs]
    files = dict.fromkeys(known[1].files, " ".join(words).encode() + b"\n")
    put(root, monkeypatch, "ptb", files)
    counts = dict.fromkeys(("train", "validation", "test"), len(words) + 1)
    return replace(known[0], sha256="", **counts), _with_hashes(known[1], files)


MAKERS = {
    "cifar10": make_cifar10,
    "cifar100": make_cifar100,
    "svhn": make_svhn,
    "mnist": make_mnist,
    "imagenet": make_imagenet,
    "ptb": make_ptb,
}
"""By data set: puts files into the user's folder, and gives the settings that they are known by."""


def _with_hashes(source: Source, files: Mapping[str, bytes]) -> Source:
    return replace(source, files={name: sha256(content) for name, content in files.items()})
