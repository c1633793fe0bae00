"""Words from their characters, and texts from words (Kim et al. 2015).

What depends on a word alone is computed once for each distinct word, not for each place where it
stands: the stem and the blocks see words (replica, word, ...), and the head puts them into places.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor

from skipgate.nets.block import Block
from skipgate.nets.dropout import Dropout
from skipgate.nets.layers import Linear
from skipgate.nets.network import Network, Output, StatefulHead

Hidden = tuple[Tensor, Tensor]
"""What an LSTM hands on, h and c: (replica, row, unit)."""


@dataclass
class Places:
    """Which of the words that the blocks are given stands where: (row, step).

    The stem, which finds the words, tells the head.
    """

    taken: Tensor | None = None


class Spelling(nn.Module):
    """Features of words: tanh of the largest value that each map has anywhere in the word.

    x is (replica, row, step, 1 + character): a word's number and its characters, the same in every
    replica. Gives (replica, word, feature) of the distinct words.
    """

    def __init__(
        self, replicas: int, symbols: int, embedding: int, maps: Sequence[int], places: Places
    ) -> None:
        super().__init__()
        self.places = places
        # What stands after a word's end is 0 and not learnt.
        self.embedding = Linear(replicas, symbols - 1, embedding, bias=False)
        self.kernels = nn.ModuleList(
            Linear(replicas, width * embedding, count) for width, count in enumerate(maps, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        numbers = x[0, ..., 0]
        _, places = _distinct(numbers)
        self.places.taken = places
        return self.features(first_of_each(x[0], places))

    def features(self, spelt: Tensor) -> Tensor:
        """Of words by their characters, (word, character)."""
        tables = self.embedding.weight.mT
        return torch.stack([self._of_replica(spelt, table, i) for i, table in enumerate(tables)])

    def _of_replica(self, spelt: Tensor, table: Tensor, replica: int) -> Tensor:
        embedded = F.embedding(spelt, F.pad(table, (0, 0, 1, 0))).mT
        found = []
        for width, kernel in enumerate(self.kernels, 1):
            weight = kernel.get_parameter("weight")[replica].unflatten(1, (-1, width))
            bias = kernel.get_parameter("bias")[replica]
            # tanh rises, so that the largest comes before it just as well.
            found.append(F.conv1d(embedded, weight, bias).amax(2))
        return torch.cat(found, 1).tanh()


def _distinct(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct numbers, and where each of the given stands among them."""
    if isinstance(numbers, FakeTensor):  # no content, so they count as different
        every = torch.arange(numbers.numel(), device=numbers.device)
        return numbers.flatten(), every.view(numbers.shape)
    found: tuple[Tensor, Tensor] = torch.unique(numbers, return_inverse=True)
    return found


def first_of_each(x: Tensor, places: Tensor) -> Tensor:
    """The characters of the distinct words of a text (row, step, 1 + character)."""
    count = places.numel() if isinstance(places, FakeTensor) else int(places.max()) + 1
    spelt = x.new_zeros(count, x.shape[-1] - 1)
    # All that go to one place are the same.
    spelt[places.flatten()] = x[..., 1:].flatten(0, 1)
    return spelt


class Lstm(nn.Module):
    """PyTorch's LSTM, one layer, with weights of its own per replica."""

    def __init__(self, replicas: int, in_features: int, units: int) -> None:
        super().__init__()
        self.units = units
        self.inputs = Linear(replicas, in_features, 4 * units)
        self.hidden = Linear(replicas, units, 4 * units)

    def forward(self, x: Tensor, state: Hidden | None) -> tuple[Tensor, Hidden]:
        """(replica, step, row, feature) to (replica, step, row, unit), and the state after it."""
        if state is None:
            zero = x.new_zeros(len(x), x.shape[2], self.units)
            state = zero, zero
        maps = (self.inputs.weight, self.hidden.weight, self.inputs.bias, self.hidden.bias)
        every = [
            torch.lstm(
                own,
                [h.unsqueeze(0), c.unsqueeze(0)],
                [each[replica] for each in maps],
                has_biases=True,
                num_layers=1,
                dropout=0.0,
                train=self.training,
                bidirectional=False,
                batch_first=False,
            )
            for replica, (own, h, c) in enumerate(zip(x, *state, strict=True))
        ]
        y, h, c = (torch.stack(each) for each in zip(*every, strict=True))
        return y, (h.squeeze(1), c.squeeze(1))


@dataclass(frozen=True)
class Carried:
    """What the next batch of a text goes on from."""

    hidden: tuple[Hidden, ...]
    features: Tensor | None = None
    """Of all words that an evaluation has met so far, (replica, word, feature), by their number."""
    known: Tensor | None = None
    """Which those are."""


class Recurrent(StatefulHead):
    """LSTMs one above the other, then logits of the next word; dropout on what leaves an LSTM.

    It is not on what enters the first one, and not on what a unit hands on to itself.
    """

    def __init__(self, layers: Sequence[Lstm], last: Linear, share: float, places: Places) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.drops = nn.ModuleList(Dropout(len(last.weight), share) for _ in layers)
        self.last = last
        self.places = places

    def forward(self, h: Tensor, state: Carried | None) -> tuple[Tensor, Carried]:
        """From (replica, word, feature) to (replica, row, step, word)."""
        assert self.places.taken is not None
        in_steps = self.places.taken.T
        x = h.index_select(1, in_steps.flatten()).unflatten(1, in_steps.shape)
        before = state.hidden if state else [None] * len(self.layers)
        after = []
        for layer, drop, own in zip(self.layers, self.drops, before, strict=True):
            x, hidden = layer(x, own)
            after.append((hidden[0].detach(), hidden[1].detach()))
            x = drop(x)
        rows = x.flatten(1, 2)
        # In this order a word's logits lie side by side, as the softmax wants them.
        logits = torch.baddbmm(self.last.bias.unsqueeze(1), rows, self.last.weight.mT)
        return logits.unflatten(1, in_steps.shape).transpose(1, 2), Carried(tuple(after))


class Reader(Network):
    """A network that reads; in evaluation, features of a word are computed where it is first met.

    They are carried with the state, as nothing changes the weights meanwhile.
    """

    def __init__(
        self,
        replicas: int,
        stem: Spelling,
        blocks: Sequence[Block],
        head: Recurrent,
    ) -> None:
        super().__init__(replicas, stem, blocks, head)
        self.spelling = stem.features
        self.places = stem.places
        self.words = head.last.out_features

    def run(self, x: Tensor, state: Any = None) -> Output:
        if self.training:
            return super().run(x, state)
        numbers = x[0, ..., 0]
        features, known = self._met(x[0], numbers, state)
        self.places.taken = numbers
        output = self.finish(features, state)
        return Output(output.main, state=Carried(output.state.hidden, features, known))

    def _met(self, x: Tensor, numbers: Tensor, state: Carried | None) -> tuple[Tensor, Tensor]:
        """The features of all words so far, those of this batch among them."""
        features = state.features if state else None
        known = state.known if state else None
        if known is None:
            known = torch.zeros(self.words, dtype=torch.bool, device=x.device)
        fresh = ~known[numbers]
        if fresh.any():
            words, places = _distinct(numbers[fresh])
            spelt = first_of_each(x[fresh].unsqueeze(0), places)
            found = self.follow(self.spelling(spelt))
            if features is None:
                features = found.new_zeros(len(found), self.words, found.shape[-1])
            features = features.index_copy(1, words, found)
            known = known.index_fill(0, words, True)
        assert features is not None
        return features, known
