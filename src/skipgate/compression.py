"""A trained network without the blocks that have become identities (epsilon-ResNet, section 3)."""

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from skipgate import paths
from skipgate.data.examples import Examples
from skipgate.evaluation import ROUNDS, evaluate, evaluating, now
from skipgate.files import Problem
from skipgate.nets import plain
from skipgate.nets.activation import Activation
from skipgate.nets.block import Block, Gates, Paths
from skipgate.nets.gate import Slot
from skipgate.nets.gates.constant import Constant
from skipgate.nets.gates.epsilon import Epsilon
from skipgate.nets.layers import Conv, Linear
from skipgate.nets.network import Network, parameter_count
from skipgate.specs import Spec
from skipgate.tasks import task_of
from skipgate.tasks.task import Task
from skipgate.training.device import prepare
from skipgate.training.job import network_of


@dataclass
class Gating:
    """What the gates of one block did, batch by batch."""

    batches: int = 0
    shut: int = 0
    """Batches in which T was 0 for every example, and C was 1."""
    opened: int = 0
    """Batches in which T and C were 1 for every example."""
    values: list[bool] = field(default_factory=list)
    """Of the batch at hand: whether T is 0, whether T is 1, whether C is 1."""

    @property
    def strict(self) -> bool:
        """Whether the block is a strict identity: it never added anything."""
        return 0 < self.batches == self.shut

    @property
    def ordinary(self) -> bool:
        """Whether its gates never did anything."""
        return 0 < self.batches == self.opened

    def saw_transform(self, _: nn.Module, __: Any, value: Tensor | float) -> None:
        """Take up T for a batch."""
        self.values = [_all(value, 0.0), _all(value, 1.0)]

    def saw_carry(self, _: nn.Module, __: Any, value: Tensor | float) -> None:
        """Take up C for the same batch; it comes after T."""
        carried = _all(value, 1.0)
        self.batches += 1
        self.shut += self.values[0] and carried
        self.opened += self.values[1] and carried


def _all(value: Tensor | float, wanted: float) -> bool:
    return bool((torch.as_tensor(value) == wanted).all())


@torch.no_grad()
def gating(network: Network, examples: Examples, batch: int) -> list[Gating]:
    """What each block's gates do over one pass of the examples, in evaluation mode."""
    found = [Gating() for _ in network.blocks]
    hooks = []
    for block, mine in zip(network.blocks, found, strict=True):
        hooks.append(block.T.register_forward_hook(mine.saw_transform))
        hooks.append(block.C.register_forward_hook(mine.saw_carry))
    try:
        with evaluating(network):
            for x, _ in examples.in_turn(batch):
                network(x.expand(network.replicas, *x.shape))
    finally:
        for hook in hooks:
            hook.remove()
    return found


def without(network: Network, gone: Collection[int], found: Sequence[Gating]) -> Network:
    """The network of one replica without the transforms of the blocks `gone`, in evaluation mode.

    What is left of such a block is after( S(x) ), and nothing at all where that is x. Of the
    others, gates that never did anything become 1; those that shut at times stay as they are. Heads
    at blocks are for training and go.
    """
    blocks: list[Block] = []
    before = network.stem
    for block, gates in zip(network.blocks, found, strict=True):
        if block.site.index not in gone:
            blocks.append(_kept(block, gates))
        elif not _is_identity(block, before):
            blocks.append(_remainder(block))
        before = blocks[-1].after if blocks else network.stem
    made = Network(network.replicas, network.stem, blocks, network.head)
    return copy.deepcopy(made).eval()


def _kept(block: Block, found: Gating) -> Block:
    return _block(block, block.transform, _ones(block)) if found.ordinary else block


def _remainder(block: Block) -> Block:
    """The block as its shortcut, its transform gone."""
    gates = _ones(block)
    gates.T.shut = (True,)
    return _block(block, nn.Identity(), gates)


def _block(like: Block, transform: nn.Module, gates: Gates) -> Block:
    return Block(like.site, Paths(transform, like.shortcut, like.before, like.after), gates)


def _ones(block: Block) -> Gates:
    def unused() -> Conv:
        raise AssertionError("a constant has no maps")

    slot = Slot(1, block.site.index, block.site.index + 1, unused)
    return Gates(Constant(slot), Constant(slot))


def _is_identity(block: Block, before: nn.Module) -> bool:
    """Whether after( S(x) ) is x, given what x comes from."""
    bare = isinstance(block.before, nn.Identity) and isinstance(block.shortcut, nn.Identity)
    # A ReLU changes nothing that a ReLU has given.
    repeats = isinstance(block.after, nn.ReLU) and _ends_in_relu(before)
    return bare and (isinstance(block.after, nn.Identity) or repeats)


def _ends_in_relu(module: nn.Module) -> bool:
    if isinstance(module, nn.Sequential) and not isinstance(module, Activation):
        return len(module) > 0 and _ends_in_relu(module[-1])
    return isinstance(module, nn.ReLU | Activation)


@dataclass(frozen=True)
class Size:
    """What a network takes."""

    layers: int
    """Maps of the stem, of the transforms and of the head, as papers count them."""
    parameters: int
    memory: int
    """Bytes of the parameters."""
    file: int
    """Bytes of the plain state dict."""


def size(network: Network) -> Size:
    """Of a network of one replica."""
    parts = [network.stem, network.head, *(block.transform for block in network.blocks)]
    maps = [m for part in parts for m in part.modules() if isinstance(m, Linear | Conv)]
    inference = [p for name, p in network.named_parameters() if not name.startswith("sides.")]
    return Size(
        len(maps),
        parameter_count(Network(1, network.stem, network.blocks, network.head)),
        sum(p.nbytes for p in inference),
        len(plain.to_bytes(plain.state_dict(network))),
    )


@torch.no_grad()
def seconds(networks: Sequence[Network], examples: Examples, batch: int) -> list[float]:
    """The best time of each network for one batch; they take turns, so that ratios are fair."""
    x = next(examples.in_turn(batch))[0].unsqueeze(0)
    best = [float("inf")] * len(networks)
    for _ in range(ROUNDS):
        for number, network in enumerate(networks):
            with evaluating(network):
                start = now(x.device)
                network(x)
                best[number] = min(best[number], now(x.device) - start)
    return best


@dataclass(frozen=True)
class Comparison:
    """Two networks on the same examples, in the same batches."""

    before: float
    after: float
    """Their measure."""
    examples: int
    changed: int
    """Examples that they predict otherwise."""
    unlike: int
    """Examples for which some output differs, be it in the last bit."""


def compare(
    networks: tuple[Network, Network], task: Task, examples: Examples, batch: int
) -> Comparison:
    """What it costs to take the second for the first."""
    before, after = (_outputs(network, examples, batch) for network in networks)
    scores = [evaluate(network, task, examples, batch).values() for network in networks]
    return Comparison(
        scores[0].item(),
        scores[1].item(),
        len(before),
        int((before.argmax(-1) != after.argmax(-1)).sum()),
        int((before != after).flatten(1).any(1).sum()),
    )


def swayed(network: Network, examples: Examples, batch: int) -> float:
    """The share of examples that are predicted otherwise alone than among their neighbours.

    A gate that looks at a whole mini-batch makes a prediction depend on what is predicted beside
    it.
    """
    together, alone = (_outputs(network, examples, count).argmax(-1) for count in (batch, 1))
    return (together != alone).double().mean().item()


@torch.no_grad()
def _outputs(network: Network, examples: Examples, batch: int) -> Tensor:
    with evaluating(network):
        return torch.cat([network(x.unsqueeze(0))[0] for x, _ in examples.in_turn(batch)])


@dataclass(frozen=True)
class Trained:
    """A network of one seed, what it was trained on, and what it is tested on."""

    name: str
    network: Network
    task: Task
    train: Examples
    test: Examples
    batch: int
    """Examples that are evaluated at once."""

    def cost(self, smaller: Network) -> Comparison:
        """What the smaller network loses on the test set."""
        return compare((self.network, smaller), self.task, self.test, self.batch)


def trained(spec: Spec, weights: Mapping[int, bytes], seed: int) -> Trained:
    """One seed of a net, from its stored weights."""
    settings = spec.settings
    recipe = settings.recipe
    task = task_of(settings.data)
    split = task.load(paths.data_folder(spec.dataset), recipe, prepare(recipe))
    network = network_of(spec, weights, [seed])
    name = f"{spec.net}, seed {seed}"
    train = split.used_by(recipe).train
    return Trained(name, network, task, train, split.test, recipe.evaluation_batch)


def compress(subject: Trained, wanted: Collection[int] | None, *, force: bool) -> Network:
    """The network without its strict identities, or without the blocks that are wanted gone.

    What would change predictions is refused, unless it is forced.
    """
    found = gating(subject.network, subject.train, subject.batch)
    strict = [i for i, each in enumerate(found) if each.strict]
    gone = strict if wanted is None else sorted(set(wanted))
    _check_places(subject, gone)
    smaller = without(subject.network, gone, found)
    if not force:
        if not gone:
            raise Problem(_nothing(subject, smaller))
        if open_ones := [i for i in gone if i not in strict]:
            raise Problem(_refusal(subject, open_ones, found, smaller))
    return smaller


def _check_places(subject: Trained, places: Sequence[int]) -> None:
    blocks = subject.network.blocks
    for place in places:
        if not 0 <= place < len(blocks):
            raise Problem(
                f"{subject.name} has no block {place}; choose from 0 to {len(blocks) - 1}"
            )
        if blocks[place].site.alone:
            raise Problem(
                f"block {place} of {subject.name} changes the shape and has no shortcut that could "
                "stand in for it; choose others"
            )


def _nothing(subject: Trained, whole: Network) -> str:
    return (
        f"{subject.name} has no block that is a strict identity: each was open for some of the "
        f"{len(subject.train):,} training examples, so there is nothing to remove; with --force "
        f"it is written whole ({_told(subject, subject.cost(whole))}), and with --blocks and "
        "--force without blocks of your choice"
    )


def _refusal(
    subject: Trained, places: Sequence[int], found: Sequence[Gating], smaller: Network
) -> str:
    opened = ", ".join(
        f"{i} (in {found[i].batches - found[i].shut} of {found[i].batches} batches)" for i in places
    )
    return (
        f"of the blocks that {subject.name} shall lose, these are no strict identities, as they "
        f"were open for training examples: {opened}; without all that are named, "
        f"{_told(subject, subject.cost(smaller))}; --force removes them all the same"
    )


def _told(subject: Trained, cost: Comparison) -> str:
    measure = subject.task.settings.measure
    return (
        f"{measure.label} {cost.before:.2f}{measure.unit} before and "
        f"{cost.after:.2f}{measure.unit} after, {cost.changed:,} of {cost.examples:,} predictions "
        "changed"
    )


def reductions(subject: Trained, smaller: Network) -> list[dict[str, object]]:
    """How much less the smaller network takes, a row per quantity."""
    sizes = [size(network) for network in (subject.network, smaller)]
    times = seconds((subject.network, smaller), subject.test, subject.batch)
    names = {
        "layers": "layers",
        "parameters": "parameters",
        "memory": "memory of the parameters (bytes)",
        "file": "file (bytes)",
    }
    rows = [
        _row(told, [getattr(each, name) for each in sizes], ",") for name, told in names.items()
    ]
    return [*rows, _row("time of a batch (ms)", [1000 * each for each in times], ".3f")]


def _row(name: str, pair: Sequence[float], form: str) -> dict[str, object]:
    before, after = pair
    ratio = f"{before / after:.2f}"
    return {"": name, "before": f"{before:{form}}", "after": f"{after:{form}}", "ratio": ratio}


def effects(subject: Trained, smaller: Network, alone: int) -> list[str]:
    """What the smaller network does otherwise, and how far predictions hang on their neighbours."""
    cost = subject.cost(smaller)
    first = subject.test.first(alone)
    shares = [swayed(each, first, subject.batch) for each in (subject.network, smaller)]
    left = [block.site.index for block in smaller.blocks if isinstance(block.T, Epsilon)]
    gates = f"blocks {', '.join(map(str, left))} keep theirs, as they shut at times"
    return [
        _told(subject, cost),
        f"outputs are the same to the last bit for {cost.examples - cost.unlike:,} of "
        f"{cost.examples:,} examples",
        f"predicted alone, {shares[0]:.2%} of the first {len(first):,} test examples get another "
        f"class than in batches of {subject.batch:,} before, and {shares[1]:.2%} after",
        f"gates: {gates if left else 'none is left'}",
    ]
