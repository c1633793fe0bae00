"""From settings to networks: one body per file, named as its settings are."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from skipgate.nets import gates
from skipgate.nets.block import Gates
from skipgate.nets.gate import Layers, Slot
from skipgate.nets.layers import Affine
from skipgate.nets.network import Network
from skipgate.settings import Body, GateChoice


@dataclass(frozen=True)
class Plan:
    """What a body is built for: the pair of gates, inputs and outputs, and how many replicas."""

    T: GateChoice
    C: GateChoice
    shape: tuple[int, ...]
    """Of one input."""
    outputs: int
    replicas: int
    path: str = "net"
    """Where the gates were set, for messages."""
    symbols: int = 0
    """How many different characters inputs are spelt with, if they are text."""

    @property
    def plain(self) -> bool:
        """Whether blocks have no shortcut at all: C is 0."""
        return self.C.gate == "constant" and self.C.settings.get("value") == 0

    def gates(
        self,
        index: int,
        count: int,
        affine: Callable[[], Affine],
        layers: Callable[[], Layers] | None = None,
    ) -> Gates:
        """The pair for one block."""
        slot = Slot(self.replicas, index, count, affine, layers)
        transform = gates.make(self.T, slot, "T", self.path)
        return Gates(transform, gates.make(self.C, slot, "C", self.path))


def build(body: Body, plan: Plan) -> Network:
    """A network of this body, its weights not yet drawn."""
    module = importlib.import_module(f"{__name__}.{body.kind}")
    network: Network = module.build(body, plan)
    return network
