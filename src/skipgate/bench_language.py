"""How fast character-aware language models train and are tested.

They are compared with the loop one would write with ordinary means, which spells every word of a
text anew, and with the matrix products of LSTMs and softmax alone.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from skipgate.bench import alternating
from skipgate.bench_convolutions import Speeds, row
from skipgate.data.examples import Split
from skipgate.data.text import Text, Vocabulary
from skipgate.evaluation import evaluate
from skipgate.nets.reading import Hidden
from skipgate.reporting.markdown import markdown
from skipgate.settings import Character, GateChoice, Halving, Language, Recipe, Sgd
from skipgate.specs import Settings
from skipgate.streams import stream
from skipgate.training.loop import State, begin, train_batches

PTB = Language("language", (22,), 10000, 51, 929589, 73760, 82430, "")
ROWS = 20
LENGTH = 35
TRAINED = 4
"""Steps of a round."""
TESTED = 28000
"""Words of a round."""
RATE = 1.0
CLIP = 5.0
BIAS = -2.0
NETWORKS = {
    "LSTM-Char-Small": Character("character", 1, 300, (25, 50, 75, 100, 125, 150)),
    "LSTM-Char-Large": Character("character", 2, 650, (50, 100, 150, 200, 200, 200, 200)),
}
ABOUT = f"""## Language models

Words a second, highway layers, one seed on one thread, {ROWS} rows of {LENGTH} words, a vocabulary
of {PTB.vocabulary:,} whose words are as frequent as 1 over their rank: a plain eager loop that
computes characters for every word of the text, ours, and the products of LSTMs and softmax alone,
one at a time, so that a share can exceed 100%.
Best of {{rounds}} rounds of {TRAINED} steps in training; one of {TESTED:,} words in testing.

"""


class PlainModel(nn.Module):
    """The model of Kim et al. with ordinary modules, token by token."""

    def __init__(self, body: Character) -> None:
        super().__init__()
        width = body.width
        self.table = nn.Embedding(PTB.characters, body.embedding, padding_idx=0)
        self.kernels = nn.ModuleList(
            nn.Conv1d(body.embedding, count, w) for w, count in enumerate(body.maps, 1)
        )
        self.transforms = nn.ModuleList(nn.Linear(width, width) for _ in range(body.layers))
        self.gates = nn.ModuleList(nn.Linear(width, width) for _ in range(body.layers))
        self.lstm = nn.LSTM(width, body.units, body.recurrent, dropout=body.dropout)
        self.drop = nn.Dropout(body.dropout)
        self.last = nn.Linear(body.units, PTB.vocabulary)

    def forward(self, spelt: Tensor, state: Hidden | None) -> tuple[Tensor, Hidden]:
        """(step, row, character) to logits (step, row, word)."""
        letters = self.table(spelt).flatten(0, 1).mT
        h = torch.cat([torch.tanh(kernel(letters)).amax(2) for kernel in self.kernels], 1)
        for transform, gate in zip(self.transforms, self.gates, strict=True):
            t = torch.sigmoid(gate(h) + BIAS)
            h = t * F.relu(transform(h)) + (1 - t) * h
        y, (hidden, cell) = self.lstm(h.unflatten(0, spelt.shape[:2]), state)
        return self.last(self.drop(y)), (hidden.detach(), cell.detach())


def _made_up(count: int) -> Text:
    generator = stream(0, "bench")
    shape = (PTB.vocabulary, PTB.shape[0] - 1)
    spelling = torch.randint(3, PTB.characters, shape, generator=generator)
    lengths = torch.randint(3, shape[1], (shape[0], 1), generator=generator)
    spelling[torch.arange(shape[1]) >= lengths] = 0
    shares = 1 / torch.arange(1, PTB.vocabulary + 1)
    tokens = torch.multinomial(shares, count, replacement=True, generator=generator)
    return Text(tokens, Vocabulary((), spelling), LENGTH, 0)


def training(name: str, body: Character, rounds: int) -> Speeds:
    """Warmed up and alternating; the fastest round of each counts."""
    text = _made_up(ROWS * LENGTH * TRAINED)
    state = _ours(body)
    split = Split(text, text)
    works = [
        _plain_steps(body, text),
        lambda: _done(train_batches(state, split)),
        _products(body, TRAINED, back=True),
    ]
    plain, ours, bound = (len(text) / seconds for seconds in alternating(works, rounds))
    return Speeds(f"{name}, training", plain, ours, bound)


def testing(name: str, body: Character) -> Speeds:
    """One round of each."""
    text = _made_up(TESTED)
    state = _ours(body)
    works = [
        _plain_test(body, text),
        lambda: _done(evaluate(state.network, state.task, text, ROWS)),
        _products(body, TESTED // (ROWS * LENGTH), back=False),
    ]
    plain, ours, bound = (len(text) / seconds for seconds in alternating(works, 1))
    return Speeds(f"{name}, testing", plain, ours, bound)


def _done(_: object) -> None:
    """What was made is not needed."""


def _ours(body: Character) -> State:
    halving = Halving("halving", "validation_perplexity", 1.0)
    sgd = Sgd("sgd", RATE, momentum=0.0, nesterov=False)
    recipe = Recipe(1, ROWS, sgd, halving, steps=LENGTH, clip=CLIP)
    gates = GateChoice("sigmoid"), GateChoice("coupled")
    return begin(Settings(PTB, body, recipe, *gates), [0], torch.device("cpu"))


def _plain_steps(body: Character, text: Text) -> Callable[[], None]:
    model = PlainModel(body)
    optimiser = torch.optim.SGD(model.parameters(), RATE)

    def steps() -> None:
        state = None
        for x, y in text.in_turn(ROWS):
            optimiser.zero_grad()
            logits, state = model(x[..., 1:].transpose(0, 1), state)
            loss = F.cross_entropy(logits.flatten(0, 1), y.T.flatten()) * LENGTH
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimiser.step()

    return steps


def _plain_test(body: Character, text: Text) -> Callable[[], None]:
    model = PlainModel(body).eval()

    @torch.no_grad()
    def test() -> None:
        state = None
        total = 0.0
        for x, y in text.in_turn(ROWS):
            logits, state = model(x[..., 1:].transpose(0, 1), state)
            total += float(F.cross_entropy(logits.flatten(0, 1), y.T.flatten(), reduction="sum"))

    return test


def _products(body: Character, batches: int, *, back: bool) -> Callable[[], None]:
    """The matrix products of LSTMs and softmax; backwards there are two for each."""
    widths = [body.width] + [body.units] * (body.recurrent - 1)
    tokens = ROWS * LENGTH
    whole = [(torch.rand(tokens, w), torch.rand(w, 4 * body.units)) for w in widths]
    whole.append((torch.rand(tokens, body.units), torch.rand(body.units, PTB.vocabulary)))
    step = torch.rand(ROWS, body.units), torch.rand(body.units, 4 * body.units)
    every = whole + [step] * (LENGTH * body.recurrent)

    def products() -> None:
        for _ in range(batches):
            for x, w in every:
                y = x @ w
                if back:
                    _done((y @ w.T, x.T @ y))

    return products


def section(rounds: int) -> str:
    """What is measured, and two rows for each network."""
    measured = [
        speeds
        for name, body in NETWORKS.items()
        for speeds in (training(name, body, rounds), testing(name, body))
    ]
    return ABOUT.format(rounds=rounds) + markdown(
        [row(each, "words", "products") for each in measured]
    )
