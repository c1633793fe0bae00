"""The training loop: some seeds of a net, as replicas of one network."""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from skipgate.data.examples import Split, Streams, firsts
from skipgate.evaluation import evaluate
from skipgate.files import Problem, sha256, write_atomically
from skipgate.group import ALONE, Group
from skipgate.nets.bodies import Plan, build
from skipgate.nets.gate import spread
from skipgate.nets.network import Network, Output
from skipgate.nets.weights import from_list, initialise, to_list
from skipgate.settings import History, Moment
from skipgate.specs import Settings
from skipgate.streams import streams
from skipgate.tasks import task_of
from skipgate.tasks.task import Task
from skipgate.training import checkpoints
from skipgate.training.lives import Lives, clear, lives_of, restored
from skipgate.training.stack import optimiser


@dataclass
class State:
    """A training under way."""

    settings: Settings
    seeds: tuple[int, ...]
    task: Task
    network: Network
    optimiser: torch.optim.Optimizer
    group: Group = ALONE
    """The processes that train it together."""
    history: History = field(default_factory=dict)
    decays: tuple[float, ...] = field(init=False)
    """The weight decay that each group of parameters begins with."""
    lives: Lives | None = None
    """Of the blocks of a network whose gates may stay shut."""
    epoch: int = 0
    """Epochs that are behind it."""
    step: int = 0
    """Steps that are behind it."""
    seconds: float = field(default=0.0)
    """Spent in epochs so far, before an interruption too."""

    def __post_init__(self) -> None:
        self.decays = tuple(group["weight_decay"] for group in self.optimiser.param_groups)

    @property
    def moment(self) -> Moment:
        """Where the training stands, for its schedule."""
        known = self.history if self.lives is None else {**self.history, **self.lives.history}
        return Moment(self.epoch, self.settings.training.epochs, self.step, known)


def begin(
    settings: Settings,
    seeds: Sequence[int],
    device: torch.device,
    dtype: torch.dtype = torch.float32,
) -> State:
    """Initialised replicas, one per seed, and their optimiser."""
    task = task_of(settings.data)
    network = build_for(settings, len(seeds))
    initialise(network, settings.body.init, streams(seeds, "init"))
    network.to(device, dtype)
    if settings.training.compiled:
        for block in network.blocks:
            block.compile(mode="reduce-overhead" if device.type == "cuda" else "default")
    stepper = optimiser(network, settings.training.optimiser, settings.training.decay)
    network.recomputes = settings.training.checkpointed
    state = State(settings, tuple(seeds), task, network, stepper, lives=lives_of(network))
    _check_schedule(state)
    return state


def _check_schedule(state: State) -> None:
    schedule = state.settings.training.schedule
    if schedule.counts_blocks and state.lives is None:
        raise Problem(
            f"the schedule '{schedule.kind}' counts the blocks that gates discard, and the gate "
            f"'{state.settings.T.gate}' discards none; take the gate 'epsilon' or another schedule"
        )


def build_for(settings: Settings, replicas: int, path: str = "net") -> Network:
    """The network that these settings describe."""
    data = settings.data
    plan = Plan(
        settings.T, settings.C, data.shape, data.outputs, replicas, path, symbols=data.symbols
    )
    return build(settings.body, plan)


def run_epoch(state: State, split: Split, epoch: int) -> None:
    """Train one epoch, test, and add both to the history."""
    state.epoch = epoch
    measure = state.settings.data.measure
    found = train_batches(state, split)
    _record_blocks(state)
    # Each process has normalised its own shares; what is tested and kept is the leader's.
    state.group.follow(list(state.network.buffers()))
    batch = state.settings.recipe.evaluation_batch
    tally = evaluate(state.network, state.task, split.test, batch, state.group)
    found |= {measure.key: tally.values(), "test_loss": tally.mean_loss()}
    found |= {f"test_{name}": values for name, values in tally.more().items()}
    if split.validation is not None:
        tally = evaluate(state.network, state.task, split.validation, batch, state.group)
        found[measure.validation_key] = tally.values()
    for name, values in found.items():
        state.history.setdefault(name, []).append(values.tolist())
    state.epoch = epoch + 1


def _record_blocks(state: State) -> None:
    if state.lives is not None:
        epochs = state.settings.training.epochs
        rate = state.optimiser.param_groups[0]["lr"]
        state.lives.add(state.network, state.group, state.epoch, epochs, rate)


def train_batches(state: State, split: Split, most: int | None = None) -> dict[str, Tensor]:
    """Take a step for every batch of an epoch, or for the first few.

    Gives the mean training loss of each seed, and its measure where the recipe asks for it.
    """
    recipe = state.settings.training
    network = state.network
    share = state.group.share
    draw: Streams = partial(streams, state.seeds, epoch=state.epoch)
    parts = network.drawing
    generators = {purpose: draw(purpose) for purpose in {part.purpose for part in parts}}
    network.train()
    clear(network)
    total = torch.zeros(len(state.seeds), dtype=torch.float64, device=split.train.device)
    count = 0
    tally = state.task.tally(len(state.seeds), total.device) if recipe.score_training else None
    carried = None
    batches = itertools.islice(split.train.epoch(recipe, draw, share), most)
    places = firsts(len(split.train), recipe.batch, share)
    for (x, y), first in zip(batches, places, strict=False):
        for part in parts:
            part.first = first
            part.draw(generators[part.purpose])
        output, loss = _step(state, x, y, carried)
        carried = output.state
        total += loss.detach().double() * y[0].numel()
        count += y[0].numel()
        if tally:
            tally.add(output.main.detach(), y)
    state.group.add_up([total])
    found = {"train_loss": total / state.group.total(count)}
    if tally:
        tally.join(state.group)
        found[state.settings.data.measure.training_key] = tally.values()
    return found


def _step(state: State, x: Tensor, y: Tensor, carried: Any) -> tuple[Output, Tensor]:
    """One step by a batch; gives what the network said before it, and the loss of each seed."""
    _set_rate(state)
    # The gradients are slices of one tensor and must stay so.
    state.optimiser.zero_grad(set_to_none=False)
    precision = state.settings.training.precision
    with torch.autocast(x.device.type, torch.bfloat16, precision == "bfloat16"):
        output = state.network.run(x, carried)
    loss = state.task.losses(_exact(output.main), y)
    (_with_sides(state, loss, output, y) * state.task.weight(y)).sum().backward()
    flat = [p.grad for group in state.optimiser.param_groups for p in group["params"]]
    state.group.average(flat, y[0].numel())
    clip(state.network, state.settings.training.clip)
    state.optimiser.step()
    state.step += 1
    return output, loss


@torch.no_grad()
def clip(network: Network, most: float) -> None:
    """Shorten each replica's gradient to the norm `most` where it is longer; 0 means never."""
    if not most:
        return
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    parts = torch.stack([gradient.flatten(1).norm(dim=1) for gradient in gradients])
    factor = (most / parts.norm(dim=0)).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(spread(factor, gradient))


def _exact(output: Tensor) -> Tensor:
    """Losses are never taken in half precision."""
    return output.float() if output.dtype == torch.bfloat16 else output


def _set_rate(state: State) -> None:
    recipe = state.settings.training
    rate = recipe.schedule.rate(recipe.optimiser.rate, state.moment)
    left = recipe.decay.left(state.step)
    for group, decay in zip(state.optimiser.param_groups, state.decays, strict=True):
        group["lr"] = rate
        group["weight_decay"] = decay * left


def _with_sides(state: State, loss: Tensor, output: Output, y: Tensor) -> Tensor:
    """The loss that is trained by: the main one, and those of the side heads by their weights."""
    for weight, side in output.sides:
        loss = loss + weight * state.task.losses(_exact(side), y)
    return loss


def fit(state: State, split: Split, checkpoint: Path, watch: Callable[[History], None]) -> None:
    """Train to the end from the checkpoint, or from the start; `watch` is called every epoch.

    Of several processes the leader reads and writes it.
    """
    group = state.group
    saved = group.decided(lambda: checkpoints.resume(checkpoint))
    if saved is not None:
        _check_processes(saved.get("processes", 1), group.share.count, checkpoint)
        _restore(state, saved)
        watch(state.history)
    while not state.settings.training.schedule.is_over(state.moment):
        start = time.monotonic()
        run_epoch(state, split, state.epoch)
        state.seconds += time.monotonic() - start
        if not group.alone:
            group.agree({"weights": _fingerprint(state)})
        if group.leads:
            write_atomically(checkpoint, checkpoints.to_bytes(_snapshot(state)))
        watch(state.history)


def _check_processes(then: int, now: int, checkpoint: Path) -> None:
    if then != now:
        raise Problem(
            f"{checkpoint} is of a training by {then} process(es), which cannot go on with {now}, "
            f"because batches would be shared out otherwise; start {then}, or delete it to begin "
            "again"
        )


def _fingerprint(state: State) -> str:
    """A name for the weights: processes that came apart would each train a net of its own."""
    numbers = [tensor.numpy().tobytes() for tensor in to_list(state.network)]
    return sha256(b"".join(numbers))[:16]


def _snapshot(state: State) -> dict[str, Any]:
    # Random streams depend on the epoch alone, so they need no place here.
    return {
        "seeds": list(state.seeds),
        "epoch": state.epoch,
        "step": state.step,
        "tensors": to_list(state.network),
        "optimiser": state.optimiser.state_dict(),
        "history": state.history,
        "seconds": state.seconds,
        **({} if state.lives is None else {"lives": state.lives.to_plain()}),
        **state.group.record,
    }


def _restore(state: State, saved: dict[str, Any]) -> None:
    from_list(state.network, saved["tensors"])
    state.optimiser.load_state_dict(saved["optimiser"])
    state.history.update(saved["history"])
    state.lives = restored(saved.get("lives"), state.lives)
    state.epoch = saved["epoch"]
    state.step = saved["step"]
    state.seconds = saved["seconds"]
