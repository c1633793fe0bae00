"""The 60,000 images of 100 classes of Krizhevsky 2009."""

from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath

from skipgate.data import raw
from skipgate.data.fetching import Arrays
from skipgate.data.images import NAMES
from skipgate.data.labels import check_labels
from skipgate.data.sources.cifar10 import unpickled
from skipgate.settings import Classify, Source

FOLDER = "cifar-100-python"
ARCHIVE = f"{FOLDER}.tar.gz"


def arrays(name: str, _: Source, content: Classify) -> Arrays:
    """From a folder of the user's, as torchvision keeps it or as the archive, or the mirror."""
    ways: dict[str, Callable[[], raw.Files]] = {
        "your folder": partial(_from_folder, name, content),
        "mirror": lambda: _members(raw.archive_at(mirror())),
    }
    files = raw.obtain(name, content.md5, ways)
    train, test = (unpickled(files[part], b"fine_labels") for part in ("train", "test"))
    check_labels(f"data.{name}: train", train[1], content.train, content)
    check_labels(f"data.{name}: test", test[1], content.test, content)
    return dict(zip(NAMES, (*train, *test), strict=True))


def mirror() -> str:
    """Where torchvision has the archive from."""
    from torchvision.datasets import CIFAR100  # slow to import, and only needed here

    return str(CIFAR100.url)


def _from_folder(name: str, content: Classify) -> raw.Files:
    folder = raw.users_folder(name)
    if (folder / ARCHIVE).exists():
        try:
            return _members(raw.unpacked((folder / ARCHIVE).read_bytes()))
        except raw.Unavailable as reason:
            raise raw.Unavailable(f"{folder / ARCHIVE}: {reason}") from reason
    return raw.from_folder(f"{name}/{FOLDER}", content.md5)


def _members(files: raw.Files) -> raw.Files:
    return {PurePosixPath(path).name: content for path, content in files.items()}
