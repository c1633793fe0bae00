"""Loading images as tensors, with the recipe's scaling of pixels."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from skipgate.data.sources import NAMES
from skipgate.evaluation import Images
from skipgate.files import Problem
from skipgate.settings import Dataset, Pixels


@dataclass(frozen=True)
class Split:
    """What is trained on and what is tested on."""

    train: Images
    test: Images


def load(folder: Path, dataset: Dataset, pixels: Pixels, device: torch.device) -> Split:
    """Read a fetched data set and scale it."""
    arrays = []
    for name in NAMES:
        try:
            arrays.append(torch.from_numpy(np.load(folder / f"{name}.npy")))
        except (OSError, ValueError, EOFError) as error:
            raise Problem(
                f"{folder / name}.npy is missing or damaged; run: dvc repro -f -s fetch@{folder.name}"
            ) from error
    train_x, train_y, test_x, test_y = arrays
    x = scaled([train_x, test_x], dataset, pixels, torch.float32)
    y = [train_y.long(), test_y.long()]
    return Split(*(Images(a.to(device), b.to(device)) for a, b in zip(x, y, strict=True)))


def scaled(
    images: list[Tensor], dataset: Dataset, pixels: Pixels, dtype: torch.dtype
) -> list[Tensor]:
    """Bytes to numbers; what to subtract and to divide by comes from the first of `images`, the training set.

    unit: divided by the largest value. centred: moreover less the mean image, pixel by pixel, as He et al. do.
    standardised: less each channel's mean, divided by its standard deviation, as Zagoruyko and Komodakis do.
    """
    unit = [x.to(dtype) / dataset.top for x in images]
    if pixels == "unit":
        return unit
    train = unit[0]
    if pixels == "centred":
        return [x - train.mean(0) for x in unit]
    mean = train.mean((0, 2, 3), keepdim=True)
    deviation = train.std((0, 2, 3), keepdim=True)
    return [(x - mean) / deviation for x in unit]
