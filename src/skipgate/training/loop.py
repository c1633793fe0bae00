"""The training loop: all seeds of a net, as replicas of one network."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from skipgate.data.batches import batches
from skipgate.data.images import Split
from skipgate.evaluation import evaluate, losses
from skipgate.files import write_atomically
from skipgate.nets.bodies import Plan, build
from skipgate.nets.network import Network
from skipgate.nets.weights import from_list, initialise, to_list
from skipgate.specs import Settings
from skipgate.streams import streams
from skipgate.training import checkpoints
from skipgate.training.schedules import learning_rate
from skipgate.training.stack import optimiser

History = dict[str, list[list[float]]]
"""A metric's values as [epoch][seed]; a loss that is no number is kept as such."""


@dataclass
class State:
    """A training under way."""

    settings: Settings
    seeds: range
    network: Network
    optimiser: torch.optim.Optimizer
    seconds: float = 0.0
    """Spent in epochs so far, before an interruption too."""
    history: History = field(
        default_factory=lambda: {"train_loss": [], "test_error": [], "test_loss": []}
    )


def begin(
    settings: Settings, seeds: range, device: torch.device, dtype: torch.dtype = torch.float32
) -> State:
    """Initialised replicas, one a seed, and their optimiser."""
    network = build(settings.body, Plan(settings.T, settings.C, settings.data, len(seeds)))
    initialise(network, settings.body.init, streams(seeds, "init"))
    network.to(device, dtype)
    return State(
        settings,
        seeds,
        network,
        optimiser(network, settings.recipe.optimiser, settings.recipe.decay),
    )


def run_epoch(state: State, split: Split, epoch: int) -> None:
    """Train one epoch, test, and add both to the history."""
    train_loss = train_batches(state, split, epoch)
    error, test_loss = evaluate(
        state.network, split.test, len(state.seeds), state.settings.recipe.evaluation_batch
    )
    for name, values in (
        ("train_loss", train_loss),
        ("test_error", error),
        ("test_loss", test_loss),
    ):
        state.history[name].append(values.tolist())


def train_batches(state: State, split: Split, epoch: int, most: int | None = None) -> Tensor:
    """Take a step for every mini-batch of the epoch, or for the first few; gives the mean training loss of each seed."""
    recipe = state.settings.recipe
    seeds = state.seeds
    network = state.network
    for group in state.optimiser.param_groups:
        group["lr"] = learning_rate(recipe, epoch)
    order = streams(seeds, "order", epoch)
    dice = streams(seeds, "augment", epoch)
    coins = streams(seeds, "gates", epoch)
    gates = network.gates
    network.train()
    total = torch.zeros(len(seeds), dtype=torch.float64, device=split.train.y.device)
    for x, y in itertools.islice(
        batches(split.train, recipe.batch, recipe.augment, order, dice), most
    ):
        for gate in gates:
            gate.draw(coins)
        state.optimiser.zero_grad(
            set_to_none=False
        )  # the gradients are slices of one tensor and must stay so
        loss = losses(network(x), y)
        loss.sum().backward()
        state.optimiser.step()
        total += loss.detach().double() * y.shape[1]
    return total / len(split.train)


def fit(state: State, split: Split, checkpoint: Path, watch: Callable[[History], None]) -> None:
    """Train to the end from the checkpoint, or from the start; `watch` is called after every epoch."""
    saved = checkpoints.resume(checkpoint)
    if saved is not None:
        _restore(state, saved)
        watch(state.history)
    for epoch in range(len(state.history["test_error"]), state.settings.recipe.epochs):
        start = time.monotonic()
        run_epoch(state, split, epoch)
        state.seconds += time.monotonic() - start
        write_atomically(checkpoint, checkpoints.to_bytes(_snapshot(state)))
        watch(state.history)


def _snapshot(state: State) -> dict[str, Any]:
    # Random streams depend on the epoch alone, so they need no place here.
    tensors = to_list(state.network)
    steps = state.optimiser.state_dict()
    return {
        "tensors": tensors,
        "optimiser": steps,
        "history": state.history,
        "seconds": state.seconds,
    }


def _restore(state: State, saved: dict[str, Any]) -> None:
    from_list(state.network, saved["tensors"])
    state.optimiser.load_state_dict(saved["optimiser"])
    state.history.update(saved["history"])
    state.seconds = saved["seconds"]
