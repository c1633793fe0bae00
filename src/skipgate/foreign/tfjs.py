"""Models of TensorFlow.js: `model.json` lists tensors that lie in shards one after another."""

import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from skipgate.files import Problem

SUFFIXES = {
    "kernel": "weight",
    "bias": "bias",
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}
"""PyTorch's words for Keras's."""


def tensors(manifest: bytes, shards: Mapping[str, bytes]) -> dict[str, Tensor]:
    """The tensors by PyTorch's names and in its order of axes.

    `shards` has the files beside `model.json`.
    """
    found: dict[str, Tensor] = {}
    try:
        for group in json.loads(manifest)["weightsManifest"]:
            missing = [path for path in group["paths"] if path not in shards]
            if missing:
                raise Problem(f"its shard {missing[0]} is not there")
            content = b"".join(shards[path] for path in group["paths"])
            found |= _cut(content, group["weights"])
    except (ValueError, KeyError, TypeError) as error:
        raise Problem(f"it is no model of TensorFlow.js ({error!r})") from error
    return found


def _cut(content: bytes, entries: list[dict[str, Any]]) -> dict[str, Tensor]:
    """The tensors of one group of shards."""
    found = {}
    start = 0
    for entry in entries:
        if entry["dtype"] != "float32" or "quantization" in entry:
            raise Problem(f"{entry['name']} is no float32")
        shape = torch.Size(entry["shape"])
        end = start + 4 * shape.numel()
        if end > len(content):
            raise Problem(f"its shards end within {entry['name']}: one of them is cut or missing")
        numbers = torch.frombuffer(bytearray(content[start:end]), dtype=torch.float32).view(shape)
        layer, _, word = entry["name"].rpartition("/")
        found[f"{layer}.{SUFFIXES.get(word, word)}"] = _turned(numbers)
        start = end
    if start != len(content):
        raise Problem(f"its shards have {len(content) - start} bytes more than it lists")
    return found


def _turned(kernel: Tensor) -> Tensor:
    """Kernels (height, width, in, out) and matrices (in, out) as PyTorch has them."""
    if kernel.ndim == 4:
        return kernel.permute(3, 2, 0, 1).contiguous()
    return kernel.T.contiguous() if kernel.ndim == 2 else kernel
