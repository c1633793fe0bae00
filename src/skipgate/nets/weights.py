"""How weights start, and how they are stored."""

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from skipgate.files import Problem
from skipgate.nets.crelu import CHANNELS, CreluConv, CreluLinear, looking_linear
from skipgate.nets.layers import Affine, BatchNorm, Conv, Linear
from skipgate.nets.network import Network

Draw = Callable[[Affine, torch.Size, torch.Generator], Tensor]


def _uniform(bound: float, shape: torch.Size, generator: torch.Generator) -> Tensor:
    return (2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1) * bound


def _normal(deviation: float, shape: torch.Size, generator: torch.Generator) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64) * deviation


def _orthogonal(shape: torch.Size, generator: torch.Generator) -> Tensor:
    """Orthonormal rows, or columns where there are fewer of those.

    A row is all that leads to one unit.
    """
    rows = shape[0]
    columns = math.prod(shape[1:])
    square: tuple[Tensor, Tensor] = torch.linalg.qr(
        _normal(1, torch.Size(sorted((rows, columns), reverse=True)), generator)
    )
    return (square[0] if rows >= columns else square[0].T).reshape(shape)


def _looks_linear(a: Affine, shape: torch.Size, generator: torch.Generator) -> Tensor:
    if not isinstance(a, CreluLinear | CreluConv):
        return _orthogonal(shape, generator)
    half = torch.Size((shape[0], shape[1] // 2, *shape[2:]))
    axis = CHANNELS if isinstance(a, CreluConv) else -1
    return looking_linear(_orthogonal(half, generator), axis)


WEIGHTS: dict[str, Draw] = {
    # Glorot and Bengio 2010; Keras's default.
    "glorot-uniform": lambda a, shape, generator: _uniform(
        math.sqrt(6 / (a.fan_in + a.fan_out)), shape, generator
    ),
    # He et al. 2015, by the inputs or the outputs of a unit.
    "he-normal": lambda a, shape, generator: _normal(math.sqrt(2 / a.fan_in), shape, generator),
    # A classifier has few outputs, so the latter would start it far too large: it starts as
    # Torch's, without bias.
    "he-normal-out": lambda a, shape, generator: (
        _normal(math.sqrt(2 / a.fan_out), shape, generator)
        if isinstance(a, Conv)
        else _uniform(1 / math.sqrt(a.fan_in), shape, generator)
    ),
    # What epsilon-ResNet's text says.
    "gaussian": lambda _, shape, generator: _normal(0.01, shape, generator),
    # Keras's "uniform" of 2016.
    "uniform": lambda _, shape, generator: _uniform(0.05, shape, generator),
    # Kim et al. 2015, for biases too.
    "uniform-all": lambda _, shape, generator: _uniform(0.05, shape, generator),
    # PyTorch's default, which the lecture's network has, for biases too.
    "torch": lambda a, shape, generator: _uniform(1 / math.sqrt(a.fan_in), shape, generator),
    # Balduzzi et al. 2017: orthogonal maps, mirrored where they follow CReLU.
    "looks-linear": _looks_linear,
}

BIASES_TOO = ("torch", "uniform-all")
"""Starts whose biases are drawn like weights, instead of being 0."""


@torch.no_grad()
def initialise(network: Network, init: str, generators: Sequence[torch.Generator]) -> None:
    """Draw all affine maps, one generator per replica, so that each starts as it would alone.

    Draws are made in float64 on the CPU and then cast: they depend neither on the type nor on the
    device.
    """
    for module in _apart(network):
        if isinstance(module, Linear | Conv):
            for replica, generator in enumerate(generators):
                module.weight[replica].copy_(
                    WEIGHTS[init](module, module.weight.shape[1:], generator)
                )
                if isinstance(module.bias, nn.Parameter):
                    shape = module.bias.shape[1:]
                    module.bias[replica].copy_(
                        WEIGHTS[init](module, shape, generator)
                        if init in BIASES_TOO
                        else torch.zeros(shape)
                    )
        elif isinstance(module, BatchNorm) and module.start == "uniform":
            for scale, generator in zip(module.weight, generators, strict=True):
                scale.copy_(torch.rand(scale.shape, generator=generator, dtype=torch.float64))
    for gate in network.gates:
        gate.start()


def _apart(network: Network) -> Iterator[nn.Module]:
    """All modules; of those that share a weight, the first."""
    seen: set[int] = set()
    for module in network.modules():
        weight = id(getattr(module, "weight", module))
        if weight not in seen:
            seen.add(weight)
            yield module


def tensors(network: Network) -> list[Tensor]:
    """All tensors of the state in order, those that blocks share once."""
    by_identity = {id(tensor): tensor for tensor in network.state_dict(keep_vars=True).values()}
    return [tensor.detach() for tensor in by_identity.values()]


def to_list(network: Network) -> list[Tensor]:
    """All tensors of the state by position.

    So renaming an attribute leaves stored models readable.
    """
    return [tensor.cpu().clone() for tensor in tensors(network)]


@torch.no_grad()
def from_list(network: Network, stored: Sequence[Tensor]) -> None:
    """The inverse of `to_list`."""
    state = tensors(network)
    if [t.shape for t in state] != [t.shape for t in stored]:
        raise Problem("the stored weights do not fit the network; train it again")
    for target, source in zip(state, stored, strict=True):
        target.copy_(source)
