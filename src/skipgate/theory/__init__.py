"""What the papers derive, in closed form and checked by sampling. Nothing here is trained."""

from collections.abc import Callable
from typing import Any

import torch

from skipgate.theory import counts, epsilon, linear, mixes, paths, sdi, shattered, slices

STUDIES: dict[str, Callable[[], dict[str, Any]]] = {
    "sdi": sdi.study,
    "mixes": mixes.study,
    "slices": slices.study,
    "linear": linear.study,
    "epsilon": epsilon.study,
    "paths": paths.study,
    "counts": counts.study,
    "shattered": shattered.study,
}
"""Each result is plain, and keyed by what the numbers are."""


def results() -> dict[str, dict[str, Any]]:
    """All studies, on one thread: sums over more threads round differently."""
    torch.set_num_threads(1)
    return {name: study() for name, study in STUDIES.items()}
