"""How fast the stacked training is, against the loop one would write with ordinary modules."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from skipgate.evaluation import losses
from skipgate.settings import Constant, Dataset, GateChoice, Mlp, Nadam, Recipe
from skipgate.specs import Settings
from skipgate.training.loop import begin


class PlainLayer(nn.Module):
    """Dot-BN-ReLU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dot, self.norm = nn.Linear(width, width), nn.BatchNorm1d(width)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.norm(self.dot(x)))


class PlainLoopNet(nn.Module):
    """The gated residual network as one would write it for one seed."""

    def __init__(self, depth: int, width: int, pixels: int, classes: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(pixels, width), nn.Linear(width, classes)
        self.blocks = nn.ModuleList(nn.Sequential(PlainLayer(width), PlainLayer(width)) for _ in range(depth // 2))
        self.k = nn.ParameterList(nn.Parameter(torch.ones(())) for _ in range(depth // 2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block, k in zip(self.blocks, self.k, strict=True):
            x = F.relu(k) * block(x) + x
        y: Tensor = self.last(x)
        return y


@dataclass(frozen=True)
class Times:
    """Milliseconds a training step takes per seed."""

    depth: int
    plain: float
    stacked: float


def measure(depth: int, seeds: int, batch: int, rounds: int) -> Times:
    """Both loops on the same thread, warmed up and alternating; the fastest round of each counts."""
    torch.set_num_threads(1)
    x, y = torch.rand(batch, 64), torch.randint(10, (batch,))
    steps = [_plain_step(depth, x, y), _stacked_step(depth, seeds, x, y)]
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for step, taken in zip(steps, times, strict=True):
            taken.append(_seconds(step))
    plain, stacked = (1000 * min(taken[1:]) for taken in times)
    return Times(depth, plain, stacked / seeds)


def _seconds(step: Callable[[], None], repeats: int = 10) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        step()
    return (time.perf_counter() - start) / repeats


def _plain_step(depth: int, x: Tensor, y: Tensor) -> Callable[[], None]:
    network = PlainLoopNet(depth, 50, x.shape[1], 10)
    optimiser = torch.optim.NAdam(network.parameters(), 0.002)

    def step() -> None:
        optimiser.zero_grad()
        F.cross_entropy(network(x), y).backward()
        optimiser.step()

    return step


def _stacked_step(depth: int, seeds: int, x: Tensor, y: Tensor) -> Callable[[], None]:
    data = Dataset("digits", (1, 8, 8), 10, 16, 1, "")
    recipe = Recipe(1, len(y), Nadam("nadam"), Constant("constant"))
    settings = Settings(data, Mlp("mlp", depth), recipe, GateChoice("scalar"), GateChoice("constant"), seeds)
    state = begin(settings, range(seeds), torch.device("cpu"))
    images, labels = x.view(1, -1, 1, 8, 8).expand(seeds, -1, -1, -1, -1), y.expand(seeds, -1)

    def step() -> None:
        state.optimiser.zero_grad(set_to_none=False)
        losses(state.network(images), labels).sum().backward()
        state.optimiser.step()

    return step


def rows(measured: Sequence[Times]) -> list[dict[str, object]]:
    """One line a depth, with the ratio."""
    return [
        {
            "d": t.depth,
            "plain loop (ms a step and seed)": f"{t.plain:.2f}",
            "stacked (ms a step and seed)": f"{t.stacked:.2f}",
            "ratio": f"{t.plain / t.stacked:.1f}",
        }
        for t in measured
    ]
