"""Photographs with labels of ImageNet that lie in packages, as examples to try networks on."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from skipgate.data import raw
from skipgate.data.fetching import Arrays
from skipgate.data.photographs import as_test_set
from skipgate.files import Problem
from skipgate.settings import Source, TaskSettings

FOLDERS = ("foolbox/data/imagenet_", "/data/imagenet/")
"""Where they lie in their packages."""


def arrays(name: str, source: Source, _: TaskSettings) -> Arrays:
    """From a folder of the user's, or from packages of PyPI."""
    ways: dict[str, Callable[[], raw.Files]] = {
        "your folder": partial(_from_folder, name),
        "PyPI": partial(_from_packages, source.pypi),
    }
    files = raw.obtain(name, {}, ways)
    ordered = sorted(files)
    return as_test_set([files[n] for n in ordered], [_label(n) for n in ordered])


def _from_folder(name: str) -> raw.Files:
    if raw.FOLDER not in os.environ:
        raise raw.Unavailable(f"{raw.FOLDER} is not set")
    folder = Path(os.environ[raw.FOLDER]) / name
    found = {file.name: file.read_bytes() for file in folder.glob("*_*.*")}
    if not found:
        raise raw.Unavailable(f"{folder} has no pictures named NAME_CLASS.png or .jpg")
    return found


def _from_packages(packages: dict[str, str]) -> raw.Files:
    found = {}
    for package, sha256 in packages.items():
        for path, content in raw.pypi(package, sha256).items():
            if any(folder in path for folder in FOLDERS):
                found[Path(path).name] = content
    return found


def _label(name: str) -> int:
    """The class stands after the last underscore."""
    word = Path(name).stem.rpartition("_")[2]
    if not word.isdigit():
        raise Problem(f"the photograph {name} does not end in the number of its class")
    return int(word)
