"""Compiles `native.cpp` once per machine, on first use, and keeps it in the user's cache folder.

Without a C++ compiler everything still runs, more slowly and to other last bits: the callers then
take the same steps one PyTorch operation at a time.
"""

import functools
import os
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from filelock import FileLock

from skipgate.files import sha256

SOURCE = Path(__file__).with_suffix(".cpp")
FLAGS = ("-std=c++20", "-O3", "-march=native", "-fopenmp-simd", "-fPIC", "-shared")
VECTORS = ("-fno-math-errno", "-fno-trapping-math")
"""Without these, roots and comparisons are not vectorised."""
STDIN = ("-x", "c++", "-")
"""The source comes through a pipe."""
LIBRARIES = ("c10", "torch_cpu", "torch")


_wanted = True


def available() -> bool:
    """Whether `torch.ops.skipgate` is to be used; compiles and loads it if need be."""
    return _wanted and loaded()


@contextmanager
def left_out() -> Iterator[None]:
    """Take the ordinary operations in here, to compare."""
    global _wanted  # noqa: PLW0603  compiled code asks for it at every call
    before = _wanted
    _wanted = False
    try:
        yield
    finally:
        _wanted = before


@functools.cache
def loaded() -> bool:
    """Whether the compiled file is there and could be loaded."""
    try:
        torch.ops.load_library(_built(_command()))
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        warnings.warn(
            f"training runs slower, as {SOURCE.name} did not compile: {said[:300].decode()}",
            stacklevel=2,
        )
        return False
    return True


def _command() -> list[str]:
    torch_folder = Path(torch.__file__).parent
    include = torch_folder / "include"
    libraries = torch_folder / "lib"
    abi = int(torch.compiled_with_cxx11_abi())
    return [
        *os.environ.get("CXX", "g++").split(),
        *FLAGS,
        f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
        *VECTORS,
        *(f"-I{folder}" for folder in (include, include / "torch" / "csrc" / "api" / "include")),
        *STDIN,
        f"-L{libraries}",
        f"-Wl,-rpath,{libraries}",
        *(f"-l{name}" for name in LIBRARIES),
    ]


def _built(command: list[str]) -> Path:
    """The compiled file, named by all that it depends on.

    Of several processes that need it one builds it.
    """
    parts = (
        SOURCE.read_bytes(),
        " ".join(command).encode(),
        torch.__version__.encode(),
        _processor(),
    )
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "skipgate"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"native-{sha256(*parts)[:16]}.so"
    with FileLock(file.with_suffix(".lock")):
        if not file.exists():
            with tempfile.TemporaryDirectory(dir=folder) as building:
                new = Path(building) / file.name
                subprocess.run(
                    [*command, "-o", str(new)],
                    input=SOURCE.read_bytes(),
                    check=True,
                    capture_output=True,
                )
                new.replace(file)
    return file


def _processor() -> bytes:
    """What instructions there are: several machines may share one home."""
    file = Path("/proc/cpuinfo")
    lines = file.read_bytes().splitlines() if file.exists() else []
    return next((line for line in lines if line.startswith((b"flags", b"Features"))), b"")
