"""How fast the stacked training and the shared probing are.

They are compared with the loops one would write with ordinary means.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from skipgate.data.examples import Split
from skipgate.data.images import Images
from skipgate.nets.bodies import Plan, build
from skipgate.nets.surgery import closed, none_closed, one_closed
from skipgate.nets.weights import initialise
from skipgate.probes.subject import Subject
from skipgate.probes.walk import with_closed
from skipgate.settings import Augment, Body, Classify, ConstantRate, GateChoice, Mlp, Nadam, Recipe
from skipgate.specs import Settings
from skipgate.streams import stream, streams
from skipgate.training.device import keep_memory
from skipgate.training.loop import State, begin, train_batches

MNIST = Classify("classify", (1, 28, 28), 10, 255, 10000, "")
IMAGES = 60000
BATCH = 128
WIDTH = 50
STEPS = 64
PIECES = 10
PIECE = 1000


class PlainLayer(nn.Module):
    """Dot-BN-ReLU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dot = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.norm(self.dot(x)))


class PlainLoopNet(nn.Module):
    """The gated residual network as one would write it for one seed."""

    def __init__(self, depth: int, width: int, pixels: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(pixels, width)
        self.last = nn.Linear(width, classes)
        self.blocks = nn.ModuleList(
            nn.Sequential(PlainLayer(width), PlainLayer(width)) for _ in range(depth // 2)
        )
        self.k = nn.ParameterList(nn.Parameter(torch.ones(())) for _ in range(depth // 2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block, k in zip(self.blocks, self.k, strict=True):
            x = F.relu(k) * block(x) + x
        y: Tensor = self.last(x)
        return y


@dataclass(frozen=True)
class Times:
    """Seconds of the ordinary way and of ours."""

    name: str
    plain: float
    ours: float


def made_up_images(count: int = IMAGES, shape: tuple[int, ...] = MNIST.shape) -> Images:
    """As many random images as MNIST has, so that a batch is gathered from as much memory."""
    generator = stream(0, "bench")
    return Images(
        torch.rand(count, *shape, generator=generator),
        torch.randint(10, (count,), generator=generator),
    )


def coloured_pieces() -> list[Images]:
    """As many images as CIFAR-10 has for testing, in pieces."""
    return [made_up_images(PIECE, (3, 32, 32))] * PIECES


def training(depth: int, seeds: int, images: Images, rounds: int) -> Times:
    """Seconds per seed and epoch, of the ordinary loop and of ours.

    Both run on one thread, warmed up and alternating; the fastest round of each counts.
    """
    plain, ours = alternating(
        [_plain_steps(depth, images), stacked_steps(depth, seeds, images)], rounds
    )
    epoch = IMAGES / (BATCH * STEPS)
    return Times(f"d = {depth}", plain * epoch, ours * epoch / seeds)


def lesions(name: str, body: Body, seeds: int, images: Images, rounds: int) -> Times:
    """Seconds for all single lesions: a whole forward pass for each, against `probes.walk`.

    Both must give the same scores.
    """
    one = GateChoice("constant")
    network = build(body, Plan(one, one, tuple(images.x.shape[1:]), MNIST.outputs, seeds))
    initialise(network, body.init, streams(range(seeds), "init"))
    subject = Subject(network.eval(), images, 500)
    masks = [none_closed(network), *(one_closed(network, i) for i in range(len(network.blocks)))]
    found: dict[str, list[list[float]]] = {}

    def naive() -> None:
        found["naive"] = [_scores_with(subject, mask) for mask in masks]

    def shared() -> None:
        found["shared"] = subject.scores_of([with_closed(mask) for mask in masks])

    plain, ours = alternating([naive, shared], rounds)
    if found["naive"] != found["shared"]:
        raise AssertionError("shared lesions give other errors than whole forward passes")
    return Times(name, plain, ours)


def lesions_in_pieces(name: str, body: Body, pieces: Iterable[Images]) -> Times:
    """The same where it takes minutes: piece by piece, either way in turn, times added up.

    What else the machine does in these minutes then slows both ways alike.
    """
    each = [lesions(name, body, 1, images, 1) for images in pieces]
    return Times(name, sum(t.plain for t in each), sum(t.ours for t in each))


def _scores_with(subject: Subject, mask: Tensor) -> list[float]:
    """The scores with these blocks closed, by a whole forward pass."""
    with closed(subject.network, mask):
        return subject.scores()


def alternating(works: Sequence[Callable[[], None]], rounds: int) -> list[float]:
    """The fastest of several rounds of each, after one that does not count.

    A single round is one of work that lasts long, and stands for itself.
    """
    torch.set_num_threads(1)
    keep_memory()
    best = [float("inf")] * len(works)
    warming = int(rounds > 1)
    for turn in range(warming + rounds):
        for i, work in enumerate(works):
            start = time.perf_counter()
            work()
            if turn >= warming:
                best[i] = min(best[i], time.perf_counter() - start)
    return best


def _plain_steps(depth: int, images: Images) -> Callable[[], None]:
    network = PlainLoopNet(depth, WIDTH, images.x[0].numel(), MNIST.classes)
    optimiser = torch.optim.NAdam(network.parameters(), 0.002)
    x = images.x.flatten(1)
    generator = stream(0, "order")

    def steps() -> None:
        for chosen in torch.randperm(IMAGES, generator=generator)[: STEPS * BATCH].split(BATCH):
            optimiser.zero_grad()
            F.cross_entropy(network(x[chosen]), images.y[chosen]).backward()
            optimiser.step()

    return steps


def stacked(depth: int, seeds: int) -> State:
    """Our gated multilayer network, ready to train."""
    recipe = Recipe(1, BATCH, Nadam("nadam"), ConstantRate("constant"), augment=Augment())
    settings = Settings(
        MNIST, Mlp("mlp", depth, WIDTH), recipe, GateChoice("scalar"), GateChoice("constant")
    )
    return begin(settings, range(seeds), torch.device("cpu"))


def stacked_steps(depth: int, seeds: int, images: Images) -> Callable[[], None]:
    """Training it for some steps."""
    state = stacked(depth, seeds)
    split = Split(images, images)

    def steps() -> None:
        train_batches(state, split, most=STEPS)

    return steps


def rows(measured: Sequence[Times], unit: str) -> list[dict[str, object]]:
    """One row per case, with the ratio."""
    return [
        {
            "": t.name,
            f"ordinary ({unit})": f"{t.plain:.2f}",
            f"ours ({unit})": f"{t.ours:.2f}",
            "ratio": f"{t.plain / t.ours:.1f}",
        }
        for t in measured
    ]
