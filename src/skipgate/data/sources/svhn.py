"""Street View House Numbers (Netzer et al. 2011), cropped digits."""

import io
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from skipgate.data import raw
from skipgate.data.fetching import Arrays
from skipgate.data.images import NAMES
from skipgate.data.labels import check_labels
from skipgate.settings import Classify, Source

Bytes = npt.NDArray[np.uint8]
PARTS = ("train", "extra", "test")
"""The second is added to the first, as all papers do that are regenerated here."""


def arrays(name: str, _: Source, content: Classify) -> Arrays:
    """From a folder of the user's, or torchvision's mirror."""
    ways: dict[str, Callable[[], raw.Files]] = {
        "your folder": partial(raw.from_folder, name, content.md5),
        "mirror": lambda: {f"{part}_32x32.mat": raw.downloaded(mirror(part)) for part in PARTS},
    }
    files = raw.obtain(name, content.md5, ways)
    train, extra, test = (_read(files.pop(f"{part}_32x32.mat")) for part in PARTS)
    images, labels = (np.concatenate(pair) for pair in zip(train, extra, strict=True))
    check_labels(f"data.{name}: train and extra", labels, content.train, content)
    check_labels(f"data.{name}: test", test[1], content.test, content)
    return dict(zip(NAMES, (images, labels, *test), strict=True))


def mirror(part: str) -> str:
    """Where torchvision has a part from."""
    from torchvision.datasets import SVHN  # slow to import, and only needed here

    return str(SVHN.split_list[part][0])


def _read(content: bytes) -> tuple[Bytes, Bytes]:
    """Images stand as (row, column, channel, image); the label of the digit 0 is 10."""
    from scipy.io import loadmat  # slow to import, and only needed here

    found = loadmat(io.BytesIO(content))  # type: ignore[arg-type]  # open
    images = np.ascontiguousarray(found["X"].transpose(3, 2, 0, 1))
    return images, (found["y"].ravel() % 10).astype(np.uint8)
