"""Loading images as tensors, with the recipe's scaling of pixels."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from skipgate.data.sources import NAMES
from skipgate.evaluation import Images
from skipgate.files import Problem
from skipgate.settings import Dataset


@dataclass(frozen=True)
class Split:
    """What is trained on and what is tested on."""

    train: Images
    test: Images


def load(folder: Path, dataset: Dataset, pixels: str, device: torch.device) -> Split:
    """Read a fetched data set; scaling constants come from the training images."""
    arrays = []
    for name in NAMES:
        try:
            arrays.append(torch.from_numpy(np.load(folder / f"{name}.npy")))
        except (OSError, ValueError, EOFError) as error:
            raise Problem(f"{folder / name}.npy is missing or damaged; run: dvc repro -f -s fetch@{folder.name}") from error
    train_x, train_y, test_x, test_y = arrays
    train_x, test_x = train_x.float() / dataset.top, test_x.float() / dataset.top
    mean, deviation = _constants(train_x, pixels)
    split = [((x - mean) / deviation, y.long()) for x, y in ((train_x, train_y), (test_x, test_y))]
    return Split(*(Images(x.to(device), y.to(device)) for x, y in split))


def _constants(x: Tensor, pixels: str) -> tuple[Tensor, Tensor]:
    """What to subtract and to divide by, per channel."""
    per_channel = (1, -1, 1, 1)
    mean, deviation = x.mean((0, 2, 3)), x.std((0, 2, 3))
    if pixels == "unit":
        mean = torch.zeros_like(mean)
    if pixels != "standardised":
        deviation = torch.ones_like(deviation)
    return mean.view(per_channel), deviation.view(per_channel)
