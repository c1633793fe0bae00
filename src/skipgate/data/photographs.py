"""Photographs as networks for ImageNet want them: the short side 256 pixels, 224 of the middle."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from skipgate.data.fetching import Arrays
from skipgate.data.images import NAMES
from skipgate.files import Problem

MIDDLE = 224
MARGIN = 256 / 224
"""The short side by that of the middle."""

Picture = npt.NDArray[np.uint8]
"""(channel, height, width)"""


def as_test_set(pictures: Sequence[bytes], labels: Sequence[int]) -> Arrays:
    """All of them as a test set; there is nothing to train on."""
    images = np.zeros((len(pictures), 3, MIDDLE, MIDDLE), np.uint8)
    for place, picture in enumerate(pictures):
        images[place] = middle(picture, MIDDLE)
    parts = (images[:0], np.zeros(0, np.int16), images, np.array(labels, np.int16))
    return dict(zip(NAMES, parts, strict=True))


def middle(picture: bytes, side: int) -> Picture:
    """A square of the middle, after the short side is made a little longer than it."""
    from torchvision.transforms import functional  # slow to import, and only needed here

    resized = functional.resize(_opened(picture), round(side * MARGIN))
    return _array(functional.center_crop(resized, side))


def whole(picture: bytes) -> Picture:
    """A photograph of whatever size."""
    return _array(_opened(picture))


def check(picture: bytes) -> None:
    """Refuse what does not decode to its end; an eighth of the size is enough to tell."""
    _opened(picture, (1, 1))


def _array(picture: Any) -> Picture:
    return np.array(picture).transpose(2, 0, 1)


def _opened(picture: bytes, least: tuple[int, int] | None = None) -> Any:
    """A picture in red, green and blue; decoders that can do so make it smaller, to `least`."""
    from PIL import Image  # slow to import, and only needed here

    try:
        with Image.open(io.BytesIO(picture)) as opened:
            if least:
                opened.draft("RGB", least)
            return opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise Problem(f"it does not decode ({error})") from error
