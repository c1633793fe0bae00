"""What a network can carry: heads at blocks, a state from batch to batch, parts that are random."""

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn

from skipgate.data.examples import Split
from skipgate.data.images import Images
from skipgate.evaluation import evaluate
from skipgate.nets.gate import Draws
from skipgate.nets.layers import Linear
from skipgate.nets.network import Network, Side, StatefulHead
from skipgate.nets.weights import to_list
from skipgate.probes.subject import Subject
from skipgate.probes.walk import with_closed
from skipgate.settings import Sgd
from skipgate.streams import streams
from skipgate.tasks import task_of
from skipgate.training.loop import State, begin, run_epoch, train_batches
from skipgate.training.stack import optimiser
from tests.toys import MLP, TOY, images, network, toy_settings

CPU = torch.device("cpu")


def state_of(made, seeds=(0,)):
    """A training of a network that is not of any body."""
    settings = toy_settings(optimiser=Sgd("sgd", 0.1, 0.0, nesterov=False))
    stepper = optimiser(made, settings.recipe.optimiser, settings.recipe.decay)
    return State(settings, tuple(seeds), task_of(TOY), made, stepper)


def sided(weight):
    plain = network(MLP)
    side = Linear(1, 6, 10).double()
    with torch.no_grad():
        for p in side.parameters():
            p.copy_(torch.linspace(-1, 1, p.numel(), dtype=p.dtype).view(p.shape))
    sides = {0: Side(side, weight)}
    return Network(1, plain.stem, plain.blocks, plain.head, sides)


def test_a_side_head_gives_its_output_in_training_alone():
    made, x = sided(0.5), images(6)
    output = made.train().run(x)
    ((weight, side),) = output.sides
    assert weight == 0.5
    h = made.blocks[0](made.stem(x))
    assert torch.allclose(side, made.sides["0"](h))
    assert made.eval().run(x).sides == ()
    assert torch.equal(made(x), made.run(x).main)


def test_the_loss_has_its_share_of_the_side_heads():
    """One step of the loop against the same step by hand."""
    made, twin = sided(0.3), sided(0.3)
    x, y = images(6)[0], torch.arange(6)
    one = Split(Images(x, y), Images(x, y))
    state = state_of(made)
    train_batches(state, one)
    order = torch.randperm(6, generator=streams([0], "order")[0])
    stepper = torch.optim.SGD(twin.parameters(), 0.1)
    output = twin.train().run(x[order].unsqueeze(0))
    losses = [F.cross_entropy(o[0], y[order]) for o in (output.main, output.sides[0][1])]
    (losses[0] + 0.3 * losses[1]).backward()
    stepper.step()
    for a, b in zip(made.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-12)


class Summing(StatefulHead):
    """Adds up all that it has seen: the output depends on the batches before."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, h, state):
        carried = h.mean(1, keepdim=True) + (0 if state is None else state)
        return self.inner(h + carried), carried.detach()


def stateful():
    plain = network(MLP, replicas=2)
    return Network(2, plain.stem, plain.blocks, Summing(plain.head)).eval()


def by_hand(made, x, size):
    outputs, state = [], None
    for batch in x.split(size):
        h = made.follow(made.stem(batch.expand(2, *batch.shape)))
        y, state = made.head(h, state)
        outputs.append(y)
    return torch.cat(outputs, 1)


def test_a_state_is_carried_from_batch_to_batch():
    made, x = stateful(), images(12)[0]
    y = by_hand(made, x, 5).argmax(-1)[0]
    tally = evaluate(made, task_of(TOY), Images(x, y), 5)
    assert tally.values()[0] == 0, "the answers are those with the state"
    assert (made(x.expand(2, *x.shape)).argmax(-1)[0] != y).any(), "and not those without"


def test_every_variant_of_a_probe_carries_a_state_of_its_own():
    made, x = stateful(), images(12)[0]
    masks = [torch.zeros(2, 2, dtype=torch.bool), torch.tensor([[True, True], [False, False]])]
    labels = by_hand(made, x, 5).argmax(-1)[0]
    subject = Subject(made, Images(x, labels), 5)
    together = subject.scores_of([with_closed(mask) for mask in masks])
    alone = [subject.scores_of([with_closed(mask)])[0] for mask in masks]
    assert together == alone
    assert together[0] == subject.scores()


class Dropout(nn.Module, Draws):
    """Drops units; which, each replica draws from a generator of its own."""

    purpose = "dropout"

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.kept = None

    def draw(self, generators):
        draws = [torch.rand(1, self.width, generator=g) < 0.5 for g in generators]
        self.kept = torch.stack(draws)

    def forward(self, x):
        return x * self.kept.to(x.dtype) if self.training else x


def with_dropout(seeds):
    settings = toy_settings()
    state = begin(settings, seeds, CPU, torch.float64)
    made = state.network
    made.stem = nn.Sequential(made.stem, Dropout(6))
    return dataclasses.replace(state, network=made)


def test_a_random_part_draws_for_a_replica_what_its_seed_draws_alone(split):
    double = Split(*(Images(e.x.double(), e.y) for e in (split.train, split.test)))
    stack = with_dropout(range(3))
    run_epoch(stack, double, 0)
    kept = stack.network.stem[1].kept
    assert not torch.equal(kept[0], kept[1])
    for seed in range(3):
        alone = with_dropout([seed])
        run_epoch(alone, double, 0)
        for a, b in zip(to_list(stack.network), to_list(alone.network), strict=True):
            assert torch.allclose(a[seed], b[0], rtol=1e-9, atol=1e-12)


def test_the_one_walk_visits_blocks_in_the_order_that_is_asked_for():
    made, x = network(MLP).eval(), images(3)
    seen = []

    def visit(place, block, h):
        seen.append(place)
        return block(h)

    h = made.follow(made.stem(x), visit, [1, 0])
    assert seen == [1, 0]
    assert torch.equal(h, made.blocks[0](made.blocks[1](made.stem(x))))
    assert torch.equal(made.finish(made.follow(made.stem(x))).main, made(x))
