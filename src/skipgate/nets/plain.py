"""A network of one seed as a plain state dict, which other code can read without this project.

Names say what a tensor is: `stem.0.weight`, `blocks.7.transform.1.running_mean`. What a layer does
beyond its weights is a tensor too (`stride`, `eps`, `relu`), so that the file alone is enough.
`docs/compression.md` has the code that reads it.
"""

import io
from collections import OrderedDict
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from skipgate.files import Problem
from skipgate.nets.block import Block
from skipgate.nets.gate import Gate
from skipgate.nets.gates.constant import is_one
from skipgate.nets.gates.epsilon import Epsilon
from skipgate.nets.layers import BatchNorm, Conv, Linear, Unnormed
from skipgate.nets.network import Network
from skipgate.nets.parts import Flat, MaxPool, Pooled
from skipgate.nets.shortcuts import Pad, Pool
from skipgate.nets.transforms import Bare, Post, Pre

Tensors = dict[str, Tensor]
PARTS = ("before", "transform", "shortcut", "after")


def state_dict(network: Network) -> OrderedDict[str, Tensor]:
    """All tensors of a network of one replica, without the replica's axis; no side heads."""
    found: Tensors = {}
    found.update(_named("stem", network.stem))
    for block in network.blocks:
        found.update(_block(f"blocks.{block.site.index}", block))
    found.update(_named("head", network.head))
    return OrderedDict((name, t.detach().cpu().clone()) for name, t in found.items())


def to_bytes(state: OrderedDict[str, Tensor]) -> bytes:
    """The file's content; `torch.load` reads it with `weights_only=True`."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def _block(name: str, block: Block) -> Tensors:
    found: Tensors = {}
    shut = block.T.closed() is not None
    for part in PARTS:
        if part != "transform" or not shut:
            found.update(_named(f"{name}.{part}", getattr(block, part)))
    if not shut:
        found.update({f"{name}.{key}": t for key, t in _gate(block.T).items()})
        _check_one(block.C)
    return found


def _gate(gate: Gate) -> Tensors:
    """What is left of T; nothing if it is 1."""
    if isinstance(gate, Epsilon):
        by_sample = torch.tensor(gate.over == "sample")
        epsilon = torch.tensor(gate.epsilon, dtype=torch.float64)
        return {"epsilon": epsilon, "by_sample": by_sample}
    _check_one(gate)
    return {}


def _check_one(gate: Gate) -> None:
    if not is_one(gate):
        kind = type(gate).__name__.lower()
        raise Problem(
            f"a plain network has epsilon gates and 1, and a block of this one has '{kind}'; "
            "choose a residual or an epsilon net"
        )


def _named(part: str, module: nn.Module) -> Tensors:
    """The tensors of a part, its layers numbered; a ReLU belongs to the layer before it."""
    layers: list[Tensors] = []
    for step in _steps(module):
        if not isinstance(step, nn.ReLU):
            layers.append(_layer(step))
        elif layers:
            layers[-1]["relu"] = torch.tensor(data=True)
        else:
            layers.append({"relu": torch.tensor(data=True)})
    return {f"{part}.{i}.{key}": t for i, layer in enumerate(layers) for key, t in layer.items()}


def _steps(module: nn.Module) -> Iterator[nn.Module]:
    """What a part does to its input in evaluation, one step after the other."""
    if isinstance(module, nn.Identity | Unnormed):
        return
    if isinstance(module, nn.Sequential):
        for inner in module:
            yield from _steps(inner)
    elif isinstance(module, Post):
        yield from _post(module)
    elif isinstance(module, Pre):
        yield from _pre(module)
    elif isinstance(module, Bare):
        yield from module.affines
    else:
        yield module


def _post(transform: Post) -> Iterator[nn.Module]:
    count = len(transform.norms)
    for i, affine in enumerate(transform.affines, start=1):
        yield affine
        if i <= count:
            yield from _steps(transform.norms[i - 1])
            if transform.last_relu or i < count:
                yield nn.ReLU()


def _pre(transform: Pre) -> Iterator[nn.Module]:
    bare = len(transform.affines) - len(transform.norms)
    for i, affine in enumerate(transform.affines):
        if i >= bare:
            yield from _steps(transform.norms[i - bare])
            yield nn.ReLU()
        yield affine


def _layer(module: nn.Module) -> Tensors:
    """The tensors of one layer; exact types, because some kinds extend others."""
    if type(module) is Conv:
        return {**_map(module), "stride": torch.tensor(module.stride)}
    if type(module) is Linear:
        return _map(module)
    if isinstance(module, BatchNorm):
        names = ("weight", "bias", "running_mean", "running_var")
        found = {name: getattr(module, name)[0] for name in names}
        return {**found, "eps": torch.tensor(module.epsilon, dtype=torch.float64)}
    if isinstance(module, Pad | Pool):
        front = module.extra // 2 if isinstance(module, Pool) else 0
        kind = "pool" if isinstance(module, Pool) else "skip"
        channels = torch.tensor([front, module.extra - front])
        return {kind: torch.tensor(module.stride), "channels": channels}
    if isinstance(module, MaxPool):
        return {"largest": torch.tensor([module.window, module.stride])}
    if isinstance(module, Flat | Pooled):
        return {"flatten" if isinstance(module, Flat) else "mean": torch.tensor(data=True)}
    raise Problem(
        f"a plain network has no layer like {type(module).__name__}; choose a net of another body"
    )


def _map(module: Conv | Linear) -> Tensors:
    found = {"weight": module.weight[0]}
    if isinstance(module.bias, nn.Parameter):
        found["bias"] = module.bias[0]
    return found
