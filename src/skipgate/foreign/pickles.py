"""Files that PyTorch has pickled, read without running anything that they name.

A pickle is a program: it names functions and calls them. Here a handful of names stand for code of
our own that builds tensors and plain containers. Every other name becomes an inert stub: an object
of it only keeps its state, and a file that would *call* one is refused by that name.
"""

import collections
import io
import math
import pickle
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import torch
from torch import Tensor

from skipgate.files import Problem

Calls = Mapping[tuple[str, str], Any]
"""What of ours stands for a name that a file may call, by module and name."""

DTYPES = {
    "FloatStorage": torch.float32,
    "DoubleStorage": torch.float64,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}
MAGIC = 0x1950A86A20F9469CFC6C
"""What files of PyTorch before 1.6 begin with."""
MOST = 2**32
"""Bytes of a storage; no layer of a network that is probed here comes near."""
LENGTH = 8
"""Bytes of the count before each of their storages."""


class _Uncallable(type):
    """A class whose objects come about without a call, and which nobody may call."""

    def __call__(cls, *_: Any, **__: Any) -> NoReturn:
        raise Problem(f"it would call {cls.__qualname__}, which is not done")


class Stub(metaclass=_Uncallable):
    """An object of a class that was named and never imported."""

    state: Any = None

    def __new__(cls, *_: Any) -> "Stub":
        return object.__new__(cls)

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Inert(pickle.Unpickler):
    """Resolves names to our own code or to stubs, and storages to the bytes they name."""

    def __init__(
        self, file: io.BytesIO, calls: Calls, storages: Callable[[str], bytes], encoding: str
    ) -> None:
        super().__init__(file, encoding=encoding)
        self._calls = calls
        self._storages = storages
        self._stubs: dict[str, type] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self._calls:
            return self._calls[module, name]
        if module == "torch" and name in DTYPES:
            return DTYPES[name]
        full = f"{module}.{name}"
        return self._stubs.setdefault(full, _Uncallable(full, (Stub,), {}))

    def persistent_load(self, pid: Any) -> Any:
        if pid[0] == "module":  # a class, which older files keep with its source
            return pid[1]
        kind, dtype, key, _, count = pid[:5]
        if kind != "storage" or not isinstance(dtype, torch.dtype):
            raise Problem(f"it names a storage of an unknown kind, {kind}")
        return self._storage(str(key), dtype, int(count))

    def _storage(self, key: str, dtype: torch.dtype, count: int) -> Tensor:
        return _numbers(self._storages(key), dtype, count)


def load(content: bytes, calls: Calls | None = None, *, encoding: str = "ASCII") -> Any:
    """What a file of PyTorch's, or any pickle, holds: tensors, containers and stubs.

    The formats of PyTorch from 1.6 on (an archive), of older ones, and bare pickles.
    """
    with _whole():
        return _loaded(content, {**_calls(0), **(calls or {})}, encoding)


@contextmanager
def _whole() -> Iterator[None]:
    """One sentence for a damaged pickle, which can fail in any way."""
    try:
        yield
    except Problem:
        raise
    except Exception as error:
        raise Problem(f"it is damaged or cut short ({error})") from error


def _loaded(content: bytes, calls: Calls, encoding: str) -> Any:
    if zipfile.is_zipfile(io.BytesIO(content)):
        return _from_archive(content, calls)
    return _from_stream(io.BytesIO(content), calls, encoding)


def _from_archive(content: bytes, calls: Calls) -> Any:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (main,) = (name for name in archive.namelist() if name.endswith("data.pkl"))
        folder = main.removesuffix("data.pkl")
        pickled = io.BytesIO(archive.read(main))

        def storage(key: str) -> bytes:
            name = f"{folder}data/{key}"
            if archive.getinfo(name).file_size > MOST:
                raise Problem(f"the storage {key} is larger than {MOST} bytes")
            return archive.read(name)

        return _Inert(pickled, calls, storage, "utf-8").load()


def _from_stream(file: io.BytesIO, calls: Calls, encoding: str) -> Any:
    first = _Inert(file, calls, _no_storage, encoding).load()
    if first != MAGIC:
        return first
    for _ in range(2):  # the version, and what machine wrote it
        _Inert(file, calls, _no_storage, encoding).load()
    # Storages come after the objects that name them, so these are read twice.
    start = file.tell()
    sizes: dict[str, int] = {}
    _Sizes(file, calls, sizes).load()
    keys = _Inert(file, calls, _no_storage, encoding).load()
    contents = {}
    for key in keys:
        file.seek(LENGTH, io.SEEK_CUR)
        contents[str(key)] = file.read(sizes[str(key)])
    file.seek(start)
    return _Inert(file, calls, contents.__getitem__, encoding).load()


class _Sizes(_Inert):
    """Notes how many bytes each storage has."""

    def __init__(self, file: io.BytesIO, calls: Calls, sizes: dict[str, int]) -> None:
        super().__init__(file, calls, _no_storage, "utf-8")
        self._sizes = sizes

    def _storage(self, key: str, dtype: torch.dtype, count: int) -> Tensor:
        self._sizes[key] = dtype.itemsize * count
        return torch.zeros(count, dtype=dtype, device="meta")


def _no_storage(key: str) -> bytes:
    raise Problem(f"it names the storage {key}, which it does not have")


def _numbers(content: bytes, dtype: torch.dtype, count: int) -> Tensor:
    if len(content) != count * dtype.itemsize:
        raise Problem(f"a storage has {len(content)} bytes instead of {count * dtype.itemsize}")
    return torch.frombuffer(bytearray(content), dtype=dtype) if count else torch.empty(0)


def _calls(depth: int) -> dict[tuple[str, str], Any]:
    """What of ours stands for the names that PyTorch's files call.

    Made anew for every file, since a pickle can set attributes of what it names. A file within a
    file holds no further one.
    """

    def tensor(storage: Tensor, offset: int, size: Any, stride: Any, *_: Any) -> Tensor:
        return _strided(storage, offset, tuple(size), tuple(stride))

    def parameter(data: Tensor, *_: Any) -> Tensor:
        return data

    def nested(content: bytes) -> Any:
        return _loaded(content, _calls(depth + 1), "ASCII")

    found: dict[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): collections.OrderedDict,
        ("builtins", "set"): set,
        ("__builtin__", "set"): set,
        ("torch._utils", "_rebuild_tensor_v2"): tensor,
        ("torch._utils", "_rebuild_parameter"): parameter,
    }
    return found if depth else {**found, ("torch.storage", "_load_from_bytes"): nested}


def _strided(
    storage: Tensor, offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> Tensor:
    """A tensor of a storage; one with more numbers than that would fill the memory from nothing."""
    if storage.is_meta:
        return storage
    if math.prod(size) > storage.numel():
        raise Problem(f"a tensor of {size} has more numbers than its storage")
    return torch.as_strided(storage, size, stride, offset).clone()


def tensors(content: bytes) -> dict[str, Tensor]:
    """The tensors of a state dict or of a pickled module, by their dotted names."""
    with _whole():
        found = _flat(_unwrapped(load(content)))
    if not found:
        raise Problem("it holds neither a state dict nor a module")
    return found


def _unwrapped(found: Any) -> Any:
    """The state dict inside a checkpoint that has other things beside it."""
    if isinstance(found, Mapping):
        for key in ("state_dict", "model_state_dict", "model"):
            if key in found and isinstance(found[key], Mapping | Stub):
                return found[key]
    return found


def _flat(found: Any, prefix: str = "") -> dict[str, Tensor]:
    if isinstance(found, Stub):
        state = found.state if isinstance(found.state, dict) else {}
        parts = [state.get(key) for key in ("_parameters", "_buffers", "_modules")]
        return {
            name: tensor
            for part in parts
            if isinstance(part, Mapping)
            for name, tensor in _flat(part, prefix).items()
        }
    flat: dict[str, Tensor] = {}
    for key, value in found.items() if isinstance(found, Mapping) else ():
        if isinstance(value, Tensor):
            flat[f"{prefix}{key}"] = value
        elif isinstance(value, Stub):
            flat |= _flat(value, f"{prefix}{key}.")
    return flat
