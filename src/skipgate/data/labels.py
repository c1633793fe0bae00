"""Labels of data that no hash tells right from wrong."""

from typing import Any

import numpy as np
import numpy.typing as npt

from skipgate.files import Problem
from skipgate.settings import Classify

SETTINGS = "compare `train`, `test` and `classes` of it under data in params.yaml"


def check_labels(
    where: str, labels: npt.NDArray[Any], count: int, content: Classify, remedy: str = SETTINGS
) -> None:
    """Refuse labels that are too few or too many, or that lack a class."""
    if len(labels) != count:
        other = {content.train: "training", content.test: "test"}.get(len(labels))
        hint = f", as many as the {other} set" if other else ""
        raise Problem(f"{where} has {len(labels):,} images instead of {count:,}{hint}; {remedy}")
    found = np.bincount(labels, minlength=content.classes)
    if len(found) > content.classes:
        raise Problem(
            f"{where} has a label {labels.max()}, beyond {content.classes} classes; {remedy}"
        )
    if not found.all():
        raise Problem(f"{where} has no image of class {found.argmin()}; {remedy}")
