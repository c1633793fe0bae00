"""Validation images of ImageNet, from a folder in torchvision's layout."""

import os
from pathlib import Path

from skipgate.data import raw
from skipgate.data.fetching import Arrays
from skipgate.data.photographs import as_test_set
from skipgate.files import Problem
from skipgate.settings import Source

CLASSES = 1000


def arrays(name: str, source: Source) -> Arrays:
    """The first images by their names, out of val/CLASS/NAME.JPEG; classes by theirs."""
    folder = Path(os.environ.get(raw.FOLDER, ".")) / "imagenet" / "val"
    classes = sorted(entry.name for entry in folder.glob("*") if entry.is_dir())
    if len(classes) != CLASSES:
        raise Problem(
            f"data.{name}: {folder} has {len(classes)} folders of classes instead of {CLASSES}, "
            f"and without them images have no labels; set {raw.FOLDER} to a folder with "
            "imagenet/val as torchvision's ImageNet lays it out"
        )
    files = sorted(folder.glob("*/*.JPEG"), key=lambda file: file.name)
    chosen = files[: source.images or None]
    labels = [classes.index(file.parent.name) for file in chosen]
    return as_test_set([file.read_bytes() for file in chosen], labels)
