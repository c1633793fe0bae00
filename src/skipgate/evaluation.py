"""Loss and measure of a stack of replicas on examples."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from skipgate.data.examples import Examples
from skipgate.group import ALONE, Group
from skipgate.nets.network import Network
from skipgate.tasks.task import Tally, Task

ROUNDS = 5
"""How often a time is taken; the best counts."""


def now(device: torch.device) -> float:
    """The clock, once a GPU has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


@contextmanager
def evaluating(network: nn.Module) -> Iterator[None]:
    """Evaluation mode; the mode of every part is restored."""
    training = [module for module in network.modules() if module.training]
    try:
        network.eval()
        yield
    finally:
        for module in training:
            module.training = True


@torch.no_grad()
def evaluate(
    network: Network, task: Task, examples: Examples, batch: int, group: Group = ALONE
) -> Tally:
    """Go through all examples in turn; a state is carried from batch to batch.

    Processes take batches by turns, and have the same tally in the end.
    """
    replicas = network.replicas
    tally = task.tally(replicas, examples.device)
    state = None
    with evaluating(network):
        for x, y in examples.in_turn(batch, group.share):
            output = network.run(x.expand(replicas, *x.shape), state)
            state = output.state
            tally.add(output.main, y.expand(replicas, *y.shape))
    tally.join(group)
    return tally
