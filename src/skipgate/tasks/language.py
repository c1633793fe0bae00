"""Language modelling: the next word, by cross entropy."""

from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from skipgate.data.examples import Batch, Split
from skipgate.data.text import Text, Vocabulary, load
from skipgate.data.words import ENDS
from skipgate.files import Problem
from skipgate.settings import Handling, Language, Recipe
from skipgate.tasks.task import Tally, Task


class Perplexity(Tally):
    """The exponential of the mean loss of a word."""

    def sums(self) -> list[Tensor]:
        return []

    def values(self) -> Tensor:
        found = self.mean_loss().exp()
        return torch.where(found.isfinite(), found, torch.nan)


class Modelling(Task):
    """Which word comes next."""

    @property
    def content(self) -> Language:
        """Its settings, by their own name."""
        return cast(Language, self.settings)

    def load(self, folder: Path, recipe: Handling, device: torch.device) -> Split:
        return load(folder, self.content.shape[0] - 1, _steps(recipe), device)

    def made_up(self, count: int, recipe: Handling, generator: torch.Generator) -> Split:
        """Random words of random letters: a batch and a half for each of `count` rows."""
        content = self.content
        longest = content.shape[0] - 1
        steps = _steps(recipe)
        letters = torch.randint(
            ENDS + 1, content.characters, (content.vocabulary, longest), generator=generator
        )
        words = tuple(str(word) for word in range(content.vocabulary))
        vocabulary = Vocabulary(words, letters)
        length = count * (steps + steps // 2)

        def some() -> Text:
            tokens = torch.randint(content.vocabulary, (length,), generator=generator)
            return Text(tokens, vocabulary, steps, 0)

        return Split(some(), some(), some())

    def blank(self, recipe: Recipe) -> Batch:
        shape = (1, recipe.batch, _steps(recipe))
        x = torch.zeros(*shape, *self.content.shape, dtype=torch.long)
        return x, torch.zeros(shape, dtype=torch.long)

    def losses(self, output: Tensor, target: Tensor) -> Tensor:
        """Cross entropy of a word: logits (replica, row, step, word) and (replica, row, step)."""
        each = F.cross_entropy(output.flatten(0, 2), target.flatten(), reduction="none")
        return each.view(len(target), -1).mean(1)

    def weight(self, target: Tensor) -> float:
        """Losses of a row's words are added up (Zaremba et al. 2014), those of rows averaged."""
        return float(target.shape[-1])

    def tally(self, replicas: int, device: torch.device) -> Tally:
        return Perplexity(self, replicas, device)


def _steps(recipe: Handling) -> int:
    steps = recipe.steps if isinstance(recipe, Recipe) else 0
    if not steps:
        raise Problem("a recipe for text says in `steps` how many words a step goes back through")
    return steps
