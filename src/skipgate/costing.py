"""Counts what a training step takes on the real network, without memory for it and without a GPU.

Under fake tensors every operation says which shapes come out and computes nothing.
"""

import dataclasses
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from skipgate.results.costs import Cost
from skipgate.settings import Resnet
from skipgate.specs import Settings, Spec
from skipgate.tasks import task_of
from skipgate.training.loop import build_for

BYTES = 4
MOMENTS = {"sgd": 1, "nadam": 2}
"""Numbers that an optimiser keeps for each parameter."""
DEEP = 8
"""Blocks a stage up to which a network is counted whole."""
FEW = 3
"""Blocks a stage of the shallower of two networks that stand for a deep one."""


class Launches(TorchDispatchMode):
    """Counts operations that compute something; views of a tensor do not."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func.namespace == "aten" and not func.is_view
        return func(*args, **(kwargs or {}))


@dataclass(frozen=True)
class Step:
    """What forward and back of one batch take, for one seed."""

    operations: float
    launches: float
    memory: float
    batch: int


def cost_of(spec: Spec, examples: int) -> Cost:
    """What one step of a net takes, and how many of them a seed's training has."""
    recipe = spec.settings.training
    step = _step_of(spec.settings)
    return Cost(
        digest=spec.digest,
        operations=step.operations / step.batch,
        launches=round(step.launches),
        memory=round(step.memory) + BYTES * spec.parameters * MOMENTS[recipe.optimiser.kind],
        batch=step.batch,
        steps=recipe.epochs * math.ceil(examples / step.batch),
        seeds=spec.seeds,
    )


def _step_of(settings: Settings) -> Step:
    """Counted on the network itself, or, if that is deep, at two depths.

    In a staged network every block beyond the first two of a stage takes what the one before it
    does; counting 752 layers would take minutes.
    """
    body = settings.body
    if not isinstance(body, Resnet) or body.blocks <= DEEP:
        return _counted(settings)
    few, more = (
        _counted(dataclasses.replace(settings, body=dataclasses.replace(body, blocks=blocks)))
        for blocks in (FEW, FEW + 1)
    )
    rest = body.blocks - FEW
    return Step(
        few.operations + rest * (more.operations - few.operations),
        few.launches + rest * (more.launches - few.launches),
        few.memory + rest * (more.memory - few.memory),
        few.batch,
    )


def _counted(settings: Settings) -> Step:
    reads = settings.body.reads_text
    with _in_products() if reads else nullcontext(), FakeTensorMode():
        launches = Launches()
        memory = MemTracker()
        with FlopCounterMode(display=False) as counted:
            batch = _through(settings, launches, memory)
        peak = max(sum(kinds.values()) for kinds in _by_device(memory))
    return Step(counted.get_total_flops(), launches.count, peak, batch)


@contextmanager
def _in_products() -> Iterator[None]:
    """An LSTM by its matrix products: as the one operation of oneDNN it would count for nothing.

    Convolutions stay with oneDNN: others leave the layout that a GPU keeps, and copy what they get.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "TF32 acceleration")  # that there is none to switch
        with torch.backends.mkldnn.flags(enabled=False):
            yield


def _through(settings: Settings, launches: Launches, memory: MemTracker) -> int:
    """Forward and back for one seed; nothing is drawn, so that no block is dropped.

    Gives how many examples that takes.
    """
    task = task_of(settings.data)
    network = build_for(settings, 1).train()
    network.recomputes = settings.training.checkpointed
    x, y = task.blank(settings.training)
    memory.track_external(network, x, y)
    with memory, launches:
        task.losses(network(x), y).sum().backward()
    return y.numel()


def _by_device(memory: MemTracker) -> list[dict[Any, int]]:
    peak = memory.get_tracker_snapshot("peak")
    return [
        {kind: size for kind, size in kinds.items() if kind != "Total"} for kinds in peak.values()
    ]
