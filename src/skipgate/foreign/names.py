"""The layers of this project's networks by torchvision's names, and what others call them."""

import re
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from skipgate.files import Problem, sha256
from skipgate.nets.block import Block
from skipgate.nets.layers import BatchNorm, Conv, Linear
from skipgate.nets.network import Network
from skipgate.settings import Names

Layer = Conv | Linear | BatchNorm
TENSORS = ("weight", "bias", "running_mean", "running_var")
"""Of a layer, in this order; a map has the first two at most."""
COUNTER = "num_batches_tracked"
"""What PyTorch keeps beside a batch normalisation, and nobody needs for a prediction."""
WRAPPER = "module."
BLOCK = re.compile(r"layer(\d+)\.(\d+)\.(conv|bn|downsample\.)(\d+)")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def layers(network: Network) -> dict[str, Layer]:
    """All maps and normalisations in the order of their use, under torchvision's names.

    This order is what the hash of a trained network's tensors is taken in.
    """
    found = dict(_numbered(network.stem, "conv", "bn"))
    first: dict[int, int] = {}
    for place, block in enumerate(network.blocks):
        stage = block.site.stage
        name = f"layer{stage + 1}.{place - first.setdefault(stage, place)}."
        found |= {f"{name}{key}": layer for key, layer in _of_block(block)}
    ending = dict(_numbered(network.head, "fc", "fc_bn"))
    single = {"fc1": "fc"} if "fc2" not in ending else {}
    return found | {single.get(key, key): layer for key, layer in ending.items()}


def _of_block(block: Block) -> Iterator[tuple[str, Layer]]:
    """A block's transform, each map before its normalisation, then its shortcut."""
    affines, norms = (block.transform.get_submodule(part) for part in ("affines", "norms"))
    for i, (affine, norm) in enumerate(
        zip(affines.children(), norms.children(), strict=True), start=1
    ):
        yield from ((f"conv{i}", affine), (f"bn{i}", norm))  # type: ignore[misc]
    for i, layer in enumerate(_inside(block.shortcut)):
        yield f"downsample.{i}", layer


def _numbered(part: nn.Module, affine: str, norm: str) -> Iterator[tuple[str, Layer]]:
    counts = {affine: 0, norm: 0}
    for layer in _inside(part):
        name = norm if isinstance(layer, BatchNorm) else affine
        counts[name] += 1
        yield f"{name}{counts[name]}", layer


def _inside(part: nn.Module) -> list[Layer]:
    return [layer for layer in part.modules() if isinstance(layer, Layer)]


def state(network: Network) -> dict[str, Tensor]:
    """Every tensor of the first replica, in order, by its layer's name and its own."""
    return {
        f"{name}.{key}": tensor[0]
        for name, layer in layers(network).items()
        for key in TENSORS
        if (tensor := getattr(layer, key, None)) is not None
    }


@torch.no_grad()
def fill(network: Network, tensors: Mapping[str, Tensor], names: Names) -> str:
    """Copy trained tensors into a network of one replica; gives the hash of what it has then.

    What does not fit is refused: a tensor that is missing, left over, or of another shape.
    """
    ours = state(network)
    theirs = _unwrapped({key: t for key, t in tensors.items() if not key.endswith(COUNTER)})
    called = dict(zip(ours, _called(list(ours), list(theirs), names), strict=True))
    for key, target in ours.items():
        source = theirs.pop(called[key], None)
        if source is None:
            raise Problem(f"it has no {called[key]}: these are the weights of another network")
        if source.shape != target.shape:
            raise Problem(
                f"its {called[key]} has the shape {tuple(source.shape)} instead of "
                f"{tuple(target.shape)}: these are the weights of another network"
            )
        target.copy_(source)
    if theirs:
        raise Problem(
            f"it has {len(theirs)} tensors more, such as {next(iter(theirs))}: these are the "
            "weights of another network"
        )
    return fingerprint(network)


def _unwrapped(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Without the prefix that PyTorch's data-parallel wrappers put before every name."""
    wrapped = all(key.startswith(WRAPPER) for key in tensors)
    return {key.removeprefix(WRAPPER): t for key, t in tensors.items()} if wrapped else tensors


def fingerprint(network: Network) -> str:
    """SHA-256 over shapes and numbers, in the order of use."""
    parts = (
        part
        for tensor in state(network).values()
        for part in (str(tuple(tensor.shape)).encode(), tensor.detach().float().numpy().tobytes())
    )
    return sha256(*parts)


def _called(ours: list[str], theirs: list[str], names: Names) -> list[str]:
    """What a file calls each of our tensors."""
    if names == "in-order":
        return [*theirs, *["further tensor"] * len(ours)][: len(ours)]
    if names == "torchvision":
        return ours
    if names == "short":
        turned = (key.replace(".downsample.", ".shortcut.") for key in ours)
        return [re.sub(r"^fc\.", "linear.", key) for key in turned]
    return [_as_he(*key.rsplit(".", 1)) for key in ours]


def _as_he(layer: str, tensor: str) -> str:
    """The names of He et al.'s release: res2a_branch2a, bn2a_branch2a, res2a_branch1."""
    found = BLOCK.fullmatch(layer)
    if found is None:
        known = {"conv1": "conv1", "bn1": "bn_conv1", "fc": "fc1000"}
        return f"{known.get(layer, layer)}.{tensor}"
    stage, block, kind, number = found.groups()
    place = f"{int(stage) + 1}{LETTERS[int(block)]}"
    if kind == "downsample.":
        return f"{'res' if number == '0' else 'bn'}{place}_branch1.{tensor}"
    branch = LETTERS[int(number) - 1]
    return f"{'res' if kind == 'conv' else 'bn'}{place}_branch2{branch}.{tensor}"
