"""The device a recipe asks for, set up so that the same seed gives the same bytes."""

import ctypes
import os
import sys

import torch
from torch.utils import deterministic

from skipgate.files import Problem
from skipgate.group import ALONE, Group
from skipgate.settings import Handling

TRIM_THRESHOLD = -1
MMAP_THRESHOLD = -3
"""glibc's names for what `mallopt` sets (malloc.h)."""
MOST = 2**31 - 1
MOST_OF_OLD = 2**25
"""Bytes that the thresholds are set to.

Older versions of glibc take no more than the second as the size from which a tensor is mapped by
itself.
"""


def lacks_gpu(recipe: Handling) -> bool:
    """Whether the recipe refuses to train without a GPU, and there is none."""
    return recipe.device == "cuda" and not torch.cuda.is_available()


def prepare(recipe: Handling, group: Group = ALONE) -> torch.device:
    """Choose the device, fix the number of threads and switch to deterministic kernels."""
    torch.set_num_threads(recipe.threads)
    keep_memory()
    torch.use_deterministic_algorithms(True)
    # A debugging aid that costs a write per tensor.
    deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    # Without it cuBLAS refuses to be deterministic.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    fast = getattr(recipe, "precision", "float32") != "float32"
    torch.set_float32_matmul_precision("high" if fast else "highest")
    torch.backends.cudnn.allow_tf32 = fast
    use_cuda = torch.cuda.is_available() and recipe.device != "cpu"
    if use_cuda and not group.alone:
        return _own_gpu(group)
    return torch.device("cuda" if use_cuda else "cpu")


def _own_gpu(group: Group) -> torch.device:
    """Of several processes on a machine, each has a GPU to itself."""
    if group.place >= torch.cuda.device_count():
        raise Problem(
            f"there are more processes on this machine than GPUs ({torch.cuda.device_count()}); "
            "start as many as there are"
        )
    torch.cuda.set_device(group.place)
    return torch.device("cuda", group.place)


def keep_memory() -> None:
    """Have malloc keep what is freed for the next tensor.

    By default glibc gives large tensors back to the system at once, which then clears every page of
    the next one: that took more than half of an evaluation's time.
    """
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(TRIM_THRESHOLD, MOST)
        libc.mallopt(MMAP_THRESHOLD, MOST) or libc.mallopt(MMAP_THRESHOLD, MOST_OF_OLD)
