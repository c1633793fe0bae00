"""Images of ImageNet (Russakovsky et al. 2015), from a folder in torchvision's layout.

That is train/CLASS/NAME.JPEG and val/CLASS/NAME.JPEG; classes are numbered by their names.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from skipgate.data import raw
from skipgate.data.fetching import Arrays
from skipgate.data.labels import check_labels
from skipgate.data.photographs import as_test_set
from skipgate.data.streamed import INDEX, TEST, TRAIN, USERS_FOLDER, folder_of, hashes_of
from skipgate.files import Problem
from skipgate.settings import Classify, Source

REMEDY = (
    f"set {raw.FOLDER} to a folder with {USERS_FOLDER}/{TRAIN} and {USERS_FOLDER}/{TEST} as "
    "torchvision's ImageNet lays them out"
)


def arrays(name: str, source: Source, content: Classify) -> Arrays:
    """The first validation images by their names; or, to be streamed, where all images are."""
    if content.streamed:
        return _index(name, content)
    folder = folder_of(TEST)
    classes = _classes(name, folder, content)
    files = sorted(folder.glob("*/*.JPEG"), key=lambda file: file.name)
    chosen = files[: source.images or None]
    labels = [classes.index(file.parent.name) for file in chosen]
    return as_test_set([file.read_bytes() for file in chosen], labels)


def _index(name: str, content: Classify) -> Arrays:
    """Names, labels and hashes of all images, each of which must decode.

    Training images come in the order of their hashes: by their names the first thousand would be of
    one class.
    """
    listed = {}
    for part, count in ((TRAIN, content.train), (TEST, content.test)):
        folder = folder_of(part)
        names, labels = _listed(folder, _classes(name, folder, content))
        check_labels(f"data.{name}: {folder}", labels, count, content, REMEDY)
        listed[part] = (names, labels)
    columns = []
    for part, (names, labels) in listed.items():
        hashes = hashes_of(folder_of(part), names)
        order = np.lexsort(hashes.T[::-1]) if part == TRAIN else np.arange(len(names))
        columns += [names[order], labels[order], hashes[order]]
    return dict(zip(INDEX, columns, strict=True))


def _classes(name: str, folder: Path, content: Classify) -> list[str]:
    classes = _folders_in(folder)
    known = {word for part in (TRAIN, TEST) for word in _folders_in(folder_of(part))}
    missing = sorted(known - set(classes))
    if classes and missing:
        raise Problem(f"data.{name}: {folder} has no folder of the class {missing[0]}; {REMEDY}")
    if len(classes) != content.classes:
        raise Problem(
            f"data.{name}: {folder} has {len(classes)} folders of classes instead of "
            f"{content.classes}, and without them images have no labels; {REMEDY}"
        )
    return classes


def _folders_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.glob("*") if entry.is_dir())


def _listed(
    folder: Path, classes: list[str]
) -> tuple[npt.NDArray[np.bytes_], npt.NDArray[np.int16]]:
    """CLASS/NAME.JPEG of all images, by their names, with their labels."""
    pairs = [
        (f"{word}/{file}", label)
        for label, word in enumerate(classes)
        for file in sorted(entry.name for entry in (folder / word).iterdir())
        if file.endswith(".JPEG")
    ]
    names = np.array([name for name, _ in pairs], np.bytes_)
    return names, np.array([label for _, label in pairs], np.int16)
