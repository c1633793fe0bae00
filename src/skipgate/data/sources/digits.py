"""The 1,797 handwritten digits inside scikit-learn."""

import numpy as np

from skipgate.data.fetching import Arrays
from skipgate.data.images import NAMES
from skipgate.settings import Source, TaskSettings


def arrays(_: str, __: Source, ___: TaskSettings) -> Arrays:
    """Every third image is for testing.

    They stand in the order of their writers, so that each writer is in both parts.
    """
    from sklearn.datasets import load_digits  # slow to import, and only needed here

    pixels, classes = load_digits(return_X_y=True)
    images = pixels.astype(np.uint8).reshape(-1, 1, 8, 8)
    labels = classes.astype(np.uint8)
    test = np.arange(len(labels)) % 3 == 2
    parts = (images[~test], labels[~test], images[test], labels[test])
    return dict(zip(NAMES, parts, strict=True))
