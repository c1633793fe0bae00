"""Counts what a training step takes on the real network, without memory for it and without a GPU.

Under fake tensors every operation says which shapes come out and computes nothing.
"""

import math
from typing import Any

from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from skipgate.results.costs import Cost
from skipgate.specs import Spec
from skipgate.tasks import task_of
from skipgate.training.loop import build_for

BYTES = 4
MOMENTS = {"sgd": 1, "nadam": 2}
"""Numbers that an optimiser keeps for each parameter."""


class Launches(TorchDispatchMode):
    """Counts operations that compute something; views of a tensor do not."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func.namespace == "aten" and not func.is_view
        return func(*args, **(kwargs or {}))


def cost_of(spec: Spec, examples: int) -> Cost:
    """What one step of a net takes, and how many of them a seed's training has."""
    recipe = spec.settings.training
    with FakeTensorMode():
        launches = Launches()
        memory = MemTracker()
        with FlopCounterMode(display=False) as counted:
            batch = _step(spec, launches, memory)
        peak = max(sum(kinds.values()) for kinds in _by_device(memory))
    return Cost(
        digest=spec.digest,
        operations=counted.get_total_flops() / batch,
        launches=launches.count,
        memory=peak + BYTES * spec.parameters * MOMENTS[recipe.optimiser.kind],
        batch=batch,
        steps=recipe.epochs * math.ceil(examples / batch),
        seeds=spec.seeds,
    )


def _step(spec: Spec, launches: Launches, memory: MemTracker) -> int:
    """Forward and back for one seed; nothing is drawn, so that no block is dropped.

    Gives how many examples that takes.
    """
    settings = spec.settings
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
