"""Classification of images by cross entropy."""

from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from skipgate.data import streamed
from skipgate.data.examples import Split
from skipgate.data.images import Images, load
from skipgate.data.pixels import scaling_of
from skipgate.settings import Classify, Handling
from skipgate.tasks.task import Tally, Task


class Mistakes(Tally):
    """Mistaken examples, in %."""

    def __init__(self, task: Task, replicas: int, device: torch.device, among: int) -> None:
        super().__init__(task, replicas, device)
        self.among = among
        self.wrong = torch.zeros(replicas, dtype=torch.long, device=device)
        self.missed = torch.zeros_like(self.wrong)
        """Examples whose class is not among the first answers."""

    def add(self, output: Tensor, target: Tensor) -> None:
        super().add(output, target)
        self.wrong += (output.argmax(-1) != target).sum(1)
        if self.among > 1:
            first = output.topk(self.among, -1).indices
            self.missed += (first != target.unsqueeze(-1)).all(-1).sum(1)

    def sums(self) -> list[Tensor]:
        return [self.wrong, self.missed]

    def values(self) -> Tensor:
        return self._share(self.wrong)

    def more(self) -> dict[str, Tensor]:
        return dict.fromkeys(self.task.settings.more, self._share(self.missed))

    def _share(self, mistakes: Tensor) -> Tensor:
        """A network whose output is NaN has not answered: argmax would call that class 0."""
        share = 100.0 * mistakes.double() / self.count
        return torch.where(self.total.isfinite(), share, torch.nan).cpu()


class Classification(Task):
    """Which class an image belongs to."""

    @property
    def content(self) -> Classify:
        """Its settings, by their own name."""
        return cast(Classify, self.settings)

    def load(self, folder: Path, recipe: Handling, device: torch.device) -> Split:
        if self.content.streamed:
            return streamed.load(folder, self.content, recipe.pixels, device)
        return load(folder, self.content.top, recipe.pixels, device)

    def made_up(self, count: int, recipe: Handling, generator: torch.Generator) -> Split:
        """Random bytes as images, scaled as real ones are, by numbers in float64."""
        content = self.content
        shape = (count, *content.shape)
        top = content.top + 1
        pixels = [torch.randint(top, shape, generator=generator) for _ in range(2)]
        labels = [torch.randint(content.classes, (count,), generator=generator) for _ in range(2)]
        train, test = (x.to(torch.uint8) for x in pixels)
        scaling = scaling_of(train, content.top, recipe.pixels, torch.float64)
        return Split(Images(train, labels[0], scaling), Images(test, labels[1], scaling))

    def losses(self, output: Tensor, target: Tensor) -> Tensor:
        """Cross entropy: logits (replica, batch, class) and labels (replica, batch)."""
        each = F.cross_entropy(output.flatten(0, 1), target.flatten(), reduction="none")
        return each.view(target.shape).mean(1)

    def outcomes(self, output: Tensor, target: Tensor) -> Tensor:
        return 100.0 * (output.argmax(-1) != target).double()

    def tally(self, replicas: int, device: torch.device) -> Tally:
        return Mistakes(self, replicas, device, self.content.among)
