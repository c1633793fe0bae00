"""Where data sets come from. Whatever the source, the decoded arrays must match one recorded hash."""

import io
from pathlib import Path

import numpy as np
import numpy.typing as npt

from skipgate.files import Problem, sha256, write_atomically
from skipgate.settings import Dataset

Arrays = dict[str, npt.NDArray[np.uint8]]

NAMES = ("train_images", "train_labels", "test_images", "test_labels")


def fetch(name: str, dataset: Dataset, folder: Path) -> None:
    """Decode the data set, compare it with its hash and write one .npy file an array."""
    arrays = {"digits": _digits}[dataset.kind]()
    found = content_hash(arrays)
    if found != dataset.sha256:
        raise Problem(f"data.{name}: the decoded content hashes to {found}, not to the recorded {dataset.sha256}")
    for array_name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        write_atomically(folder / f"{array_name}.npy", buffer.getvalue())


def content_hash(arrays: Arrays) -> str:
    """SHA-256 over names, shapes and bytes."""
    parts = [part for name in NAMES for part in (f"{name}{arrays[name].shape}".encode(), arrays[name].tobytes())]
    return sha256(*parts)


def _digits() -> Arrays:
    """The 1,797 handwritten digits inside scikit-learn; every third one is for testing.

    They stand in the order of their writers, so that each writer is in both parts.
    """
    from sklearn.datasets import load_digits  # slow to import, and only needed here

    images, labels = load_digits(return_X_y=True)
    images, labels = images.astype(np.uint8).reshape(-1, 1, 8, 8), labels.astype(np.uint8)
    test = np.arange(len(labels)) % 3 == 2
    return dict(zip(NAMES, (images[~test], labels[~test], images[test], labels[test]), strict=True))
