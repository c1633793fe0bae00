"""How fast a convolutional network trains.

It is compared with the loop one would write with ordinary means, and with its convolutions alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

from skipgate.bench import BATCH, alternating
from skipgate.data.examples import Split
from skipgate.data.images import Images
from skipgate.data.pixels import scaling_of
from skipgate.reporting.markdown import markdown
from skipgate.settings import Augment, Classify, Decay, Fractions, GateChoice, Recipe, Resnet, Sgd
from skipgate.specs import Settings
from skipgate.streams import stream
from skipgate.training.loop import begin, train_batches

CIFAR = Classify("classify", (3, 32, 32), 10, 255, 10000, "")
IMAGES = 5000
STEPS = 4
RATE = 0.1
DECAY = 0.0001
PAD = 4
NETWORKS = {
    "ResNet n = 5": Resnet("resnet", 5),
    "Wide ResNet (3,4)": Resnet("resnet", 3, widen=4, shortcut="project"),
}
ABOUT = f"""## Training convolutional networks

Pre-activation networks, one seed on one thread, batch {BATCH}: a plain eager loop in PyTorch's
default layout with a `DataLoader` and torchvision's crops and flips, ours, and their convolutions
alone, forward and back, channels-last, each on the whole batch. Ours takes a few images at a time
through a block, which its convolutions gain by too. Best of {{rounds}} rounds of {STEPS} steps.

"""


class PlainBlock(nn.Module):
    """BN-ReLU-Conv twice, beside a shortcut that is padded or projected where the shape changes."""

    def __init__(self, before: int, width: int, stride: int, shortcut: str) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.BatchNorm2d(before), nn.BatchNorm2d(width)])
        self.first = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        same = stride == 1 and before == width
        projects = shortcut == "project" and not same
        self.project = nn.Conv2d(before, width, 1, stride, bias=False) if projects else None
        self.stride = stride
        self.extra = width - before

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.norms[0](x))
        s = self._padded(x) if self.project is None else self.project(h)
        y: Tensor = self.second(F.relu(self.norms[1](self.first(h)))) + s
        return y

    def _padded(self, x: Tensor) -> Tensor:
        return F.pad(x[..., :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.extra))


class PlainResnet(nn.Module):
    """The pre-activation network as one would write it for one seed."""

    def __init__(self, body: Resnet) -> None:
        super().__init__()
        width = body.width
        self.stem = nn.Conv2d(3, width, 3, 1, 1, bias=False)
        blocks = []
        for i in range(body.count):
            stage = i // body.blocks
            wide = body.width * body.widen * 2**stage
            stride = 2 if stage and i % body.blocks == 0 else 1
            blocks.append(PlainBlock(width, wide, stride, body.shortcut))
            width = wide
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(width)
        self.last = nn.Linear(width, CIFAR.classes)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.last(F.relu(self.norm(self.blocks(self.stem(x)))).mean((2, 3)))
        return y


@dataclass(frozen=True)
class Speeds:
    """Examples a second of the ordinary loop, of ours, and of the costliest operations alone."""

    name: str
    plain: float
    ours: float
    bound: float


class Pictures(Dataset[tuple[Tensor, int]]):
    """Images with the transforms that one would take from torchvision."""

    def __init__(self, images: Images) -> None:
        self._x = images.x
        self._y = images.y
        self._change = v2.Compose(
            [
                v2.RandomCrop(CIFAR.shape[-1], PAD),
                v2.RandomHorizontalFlip(),
                v2.ToDtype(torch.float32, scale=True),
            ]
        )

    def __len__(self) -> int:
        return len(self._x)

    def __getitem__(self, i: int) -> tuple[Tensor, int]:
        return self._change(self._x[i]), int(self._y[i])


def training(name: str, body: Resnet, rounds: int) -> Speeds:
    """One thread, warmed up and alternating; the fastest round of each counts."""
    images = _made_up()
    works = [
        _plain_steps(body, images),
        _our_steps(body, images),
        _every(_convolutions(body)),
    ]
    seconds = alternating(works, rounds)
    return Speeds(name, *(STEPS * BATCH / each for each in seconds))


def _made_up() -> Images:
    generator = stream(0, "bench")
    x = torch.randint(CIFAR.top + 1, (IMAGES, *CIFAR.shape), generator=generator).to(torch.uint8)
    y = torch.randint(CIFAR.classes, (IMAGES,), generator=generator)
    return Images(x, y, scaling_of(x, CIFAR.top, "centred", torch.float32))


def _plain_steps(body: Resnet, images: Images) -> Callable[[], None]:
    network = PlainResnet(body)
    optimiser = torch.optim.SGD(network.parameters(), RATE, 0.9, nesterov=True, weight_decay=DECAY)
    loader = DataLoader(Pictures(images), BATCH, shuffle=True)
    batches = _endless(loader)

    def steps() -> None:
        for _ in range(STEPS):
            x, y = next(batches)
            optimiser.zero_grad()
            F.cross_entropy(network(x), y).backward()
            optimiser.step()

    return steps


def _endless(loader: DataLoader[tuple[Tensor, int]]) -> Iterator[tuple[Tensor, Tensor]]:
    while True:
        yield from loader


def _our_steps(body: Resnet, images: Images) -> Callable[[], None]:
    recipe = Recipe(
        1,
        BATCH,
        Sgd("sgd", RATE),
        Fractions("fractions", (0.5,), 0.1),
        "centred",
        Decay(DECAY),
        Augment(PAD, flip=True),
    )
    one = GateChoice("constant")
    state = begin(Settings(CIFAR, body, recipe, one, one), [0], torch.device("cpu"))
    split = Split(images, images)

    def steps() -> None:
        train_batches(state, split, most=STEPS)

    return steps


def _every(works: Sequence[Callable[[], object]]) -> Callable[[], None]:
    def steps() -> None:
        for _ in range(STEPS):
            for work in works:
                work()

    return steps


def _convolutions(body: Resnet) -> list[Callable[[], object]]:
    """Each convolution, forward and back; the first needs no gradient to the images."""
    network = PlainResnet(body).to(memory_format=torch.channels_last)
    calls: list[tuple[nn.Conv2d, Tensor]] = []
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            module.register_forward_pre_hook(lambda m, x: calls.append((m, x[0])))
    with torch.no_grad():
        network(torch.rand(BATCH, *CIFAR.shape).contiguous(memory_format=torch.channels_last))
    return [_alone(conv, x, back=i > 0) for i, (conv, x) in enumerate(calls)]


def _alone(conv: nn.Conv2d, x: Tensor, *, back: bool) -> Callable[[], object]:
    x = x.detach().requires_grad_(back)
    wanted = [conv.weight, x] if back else [conv.weight]

    def forward() -> Tensor:
        return F.conv2d(x, conv.weight, None, conv.stride, conv.padding)

    gradient = torch.rand_like(forward()).detach()
    return lambda: torch.autograd.grad(forward(), wanted, gradient)


def section(rounds: int) -> str:
    """What is measured, and a row for each network."""
    measured = [training(name, body, rounds) for name, body in NETWORKS.items()]
    return ABOUT.format(rounds=rounds) + markdown(
        [row(each, "images", "convolutions") for each in measured]
    )


def row(speeds: Speeds, what: str, bound: str) -> dict[str, object]:
    """The speeds of one network: what a second has, and what would be left without the rest."""
    return {
        "": speeds.name,
        f"ordinary ({what} a second)": f"{speeds.plain:.0f}",
        "ours": f"{speeds.ours:.0f}",
        "ratio": f"{speeds.ours / speeds.plain:.2f}",
        f"{bound} alone": f"{speeds.bound:.0f}",
        "share of it": f"{speeds.ours / speeds.bound:.0%}",
    }
