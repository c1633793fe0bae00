"""What a task is. The tasks themselves are the files beside this one."""

from abc import ABC, abstractmethod
from pathlib import Path

import torch
from torch import Tensor

from skipgate.data.examples import Batch, Split
from skipgate.files import Problem
from skipgate.group import Group
from skipgate.settings import Handling, Recipe, TaskSettings


class Tally(ABC):
    """Loss and measure of each replica, over the batches counted so far."""

    def __init__(self, task: "Task", replicas: int, device: torch.device) -> None:
        self.task = task
        self.total = torch.zeros(replicas, dtype=torch.float64, device=device)
        self.count = 0

    def add(self, output: Tensor, target: Tensor) -> None:
        """Count a batch: outputs (replica, batch, ...) and their targets."""
        count = target[0].numel()
        self.total += self.task.losses(output, target).double() * count
        self.count += count

    def join(self, group: Group) -> None:
        """Count what the other processes of the group have counted as well."""
        if not group.alone:
            group.add_up([self.total, *self.sums()])
            self.count = group.total(self.count)

    def sums(self) -> list[Tensor]:
        """What it has counted besides the loss, where adding that up joins two tallies."""
        raise Problem(
            f"{self.task.settings.measure.label} does not add up over processes: train with one"
        )

    @abstractmethod
    def values(self) -> Tensor:
        """The measure of each replica; NaN for one whose output was not finite."""

    def more(self) -> dict[str, Tensor]:
        """What else is recorded of each replica, by name."""
        return {}

    def mean_loss(self) -> Tensor:
        """Loss per example."""
        return (self.total / self.count).cpu()


class Task(ABC):
    """Loading examples, making them up, losses and scores."""

    def __init__(self, settings: TaskSettings) -> None:
        self.settings = settings

    @abstractmethod
    def load(self, folder: Path, recipe: Handling, device: torch.device) -> Split:
        """The fetched examples, as a recipe wants them."""

    @abstractmethod
    def made_up(self, count: int, recipe: Handling, generator: torch.Generator) -> Split:
        """`count` random examples in float64, for the twin."""

    @abstractmethod
    def losses(self, output: Tensor, target: Tensor) -> Tensor:
        """The loss of each replica: (replica, batch, ...) to (replica,)."""

    def outcomes(self, output: Tensor, target: Tensor) -> Tensor:  # noqa: ARG002
        """What each example brings to the measure, which is their mean: (replica, batch)."""
        raise Problem(f"{self.settings.measure.label} is no mean over examples: set resamples: 0")

    def weight(self, target: Tensor) -> float:  # noqa: ARG002
        """What the mean loss of a batch is multiplied by before its gradient is taken."""
        return 1.0

    def blank(self, recipe: Recipe) -> Batch:
        """A batch for one replica that is as large as others and has no content."""
        x = torch.empty(1, recipe.batch, *self.settings.shape)
        return x, torch.zeros(1, recipe.batch, dtype=torch.long)

    @abstractmethod
    def tally(self, replicas: int, device: torch.device) -> Tally:
        """A tally with nothing counted yet."""
