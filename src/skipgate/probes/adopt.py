"""A network from elsewhere, in the form that probes take.

It may be any module, given the list of its blocks.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from skipgate.evaluation import evaluating
from skipgate.nets.block import Block, Gates, Paths, Site
from skipgate.nets.gate import Slot
from skipgate.nets.gates.constant import Constant
from skipgate.nets.layers import Linear
from skipgate.nets.network import Network

Shapes = list[tuple[torch.Size, torch.Size]]
"""Of the input and output of each block."""


def adopt(
    module: nn.Module,
    blocks: Sequence[nn.Module],
    example: Tensor,
    shortcuts: Mapping[int, nn.Module] | None = None,
) -> Network:
    """The module as a network of one replica, without a copy.

    Its weights stay where they are, and no probe changes them. Each block must take the output of
    the one before it and nothing else, which is tried on `example`, a small batch. A closed block
    is its shortcut: the identity, or what `shortcuts` has for its place, which a block that changes
    the shape needs.
    """
    given = shortcuts or {}
    shapes = _shapes(module, blocks, example)
    adopted = _adopted(blocks, shapes, given)
    stem = Stem(module, blocks[0])
    network = Network(1, stem, adopted, Head(stem, blocks))
    theirs = {id(part) for whole in (module, *given.values()) for part in whole.modules()}
    for part in network.modules():
        # A part of the module may be in another mode than the rest, and stays so.
        if id(part) not in theirs:
            part.training = module.training
    _check_outputs(network, module, example)
    return network


def _adopted(
    blocks: Sequence[nn.Module], shapes: Shapes, shortcuts: Mapping[int, nn.Module]
) -> list[Block]:
    """The modules as blocks with T = 1 and C = 0: an open one is itself, whatever it adds up."""
    slot = Slot(1, 0, len(blocks), functools.partial(Linear, 1, 1, 1))
    adopted = []
    stage = 0
    for place, (block, (before, after)) in enumerate(zip(blocks, shapes, strict=True)):
        if before != after and place not in shortcuts:
            raise ValueError(
                f"block {place} turns {tuple(before)} into {tuple(after)}; say in "
                f"shortcuts[{place}] what it is when closed"
            )
        stage += before != after and place > 0
        shortcut = _One(shortcuts[place]) if place in shortcuts else nn.Identity()
        paths = Paths(_One(block), shortcut, nn.Identity(), nn.Identity())
        site = Site(stage, place, keeps_shape=before == after and place not in shortcuts)
        adopted.append(Block(site, paths, Gates(Constant(slot), Constant(slot, 0.0))))
    return adopted


def _check_outputs(network: Network, module: nn.Module, example: Tensor) -> None:
    """Refuse blocks whose chain does not give what the module gives."""
    with evaluating(network), torch.no_grad():
        ours = network(example.unsqueeze(0))[0]
        expected = module(example)
    if not expected.isfinite().all():
        raise ValueError(
            "the module's output for the example is not finite, so nothing can be told from it"
        )
    if not torch.allclose(ours, expected, rtol=0.0001, atol=0.00001):
        raise ValueError(
            "the blocks do not follow one another: their chain gives other outputs than the module"
        )


def _shapes(module: nn.Module, blocks: Sequence[nn.Module], example: Tensor) -> Shapes:
    """Watch the blocks at work on the example."""
    if not blocks:
        raise ValueError(
            "blocks is empty: name the modules that shall be probed, in the order in which they run"
        )
    order: list[int] = []
    shapes: dict[int, tuple[torch.Size, torch.Size]] = {}

    def watch(place: int, inputs: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:
        _check_call(place, inputs, named, output)
        order.append(place)
        shapes[place] = (inputs[0].shape, output.shape)

    handles = [
        block.register_forward_hook(
            lambda _, inputs, named, output, place=place: watch(place, inputs, named, output),
            with_kwargs=True,
        )
        for place, block in enumerate(blocks)
    ]
    try:
        with evaluating(module), torch.no_grad():
            module(example)
    finally:
        for handle in handles:
            handle.remove()
    if order != list(range(len(blocks))):
        raise ValueError(
            f"the module runs the {len(blocks)} blocks in the order {order}; each must run once, "
            "in the order given"
        )
    return [shapes[place] for place in order]


def _check_call(place: int, inputs: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:
    """Refuse a block that takes or gives anything but one tensor."""
    given = [value for value in (*inputs, *named.values()) if isinstance(value, Tensor)]
    takes_one = len(given) == 1 and bool(inputs) and inputs[0] is given[0]
    if not takes_one or not isinstance(output, Tensor):
        raise ValueError(
            f"block {place} must take one tensor, as its first argument, and give one; wrap it in "
            "a module that does"
        )


class _One(nn.Module):
    """A module that knows no replicas, for the one there is."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor, _shut: Tensor | None = None) -> Tensor:
        # A copy, as the module may work in place on what others still need.
        y: Tensor = self.module(x[0].clone()).unsqueeze(0)
        return y


class _Reached(Exception):
    """The first block was reached."""


class Stem(nn.Module):
    """All that the module does before its first block."""

    def __init__(self, module: nn.Module, first: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.first = first
        self.batch: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        found: list[Tensor] = []

        def stop(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            found.append(inputs[0])
            raise _Reached

        handle = self.first.register_forward_pre_hook(stop)
        try:
            self.module(x[0])
        except _Reached:
            self.batch = x[0]
        finally:
            handle.remove()
        return found[0].unsqueeze(0)


class Head(nn.Module):
    """All that the module does after its last block, on the batch that its stem saw last.

    The stem runs again on the way.
    """

    def __init__(self, stem: Stem, blocks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.stem = stem
        self.blocks = nn.ModuleList(blocks)

    def forward(self, h: Tensor) -> Tensor:
        with _replaced(list(self.blocks), h[0].clone()):
            y: Tensor = self.stem.module(self.stem.batch).unsqueeze(0)
        return y


@contextmanager
def _replaced(blocks: Sequence[nn.Module], h: Tensor) -> Iterator[None]:
    """Let all blocks do nothing and the last give h."""
    before = [vars(block).get("forward") for block in blocks]
    try:
        for block in blocks:
            block.forward = lambda x, *_, **__: x
        blocks[-1].forward = lambda *_, **__: h
        yield
    finally:
        for block, forward in zip(blocks, before, strict=True):
            if forward is None:
                del block.forward
            else:
                block.forward = forward
