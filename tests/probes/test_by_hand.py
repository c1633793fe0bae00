"""Networks made by hand, where the answer is known on paper."""

import dataclasses
import itertools

import pytest
import torch
from torch import nn

from skipgate.data.images import Images
from skipgate.nets.block import Block, Gates, Paths, Site
from skipgate.nets.gate import Slot
from skipgate.nets.gates.constant import Constant
from skipgate.nets.network import Network, parameter_count
from skipgate.nets.parts import Flat
from skipgate.nets.surgery import arranged, closed, none_closed, one_closed
from skipgate.nets.weights import to_list
from skipgate.probes import PROBES
from skipgate.probes.gradients import along_line, autocorrelation
from skipgate.probes.paths import gradient_norms
from skipgate.probes.prune import greedy, response_norms
from skipgate.probes.subject import Subject
from skipgate.probes.walk import CLOSED, CUT, OPEN, in_order, in_states, outputs, with_closed
from skipgate.settings import Estimating, Probes, Pruning, Shuffling
from tests.toys import CONV, MLP, ONE, images, network

SETTINGS = Probes(prune=Pruning(2), shuffle=Shuffling(4))
FACTORS = (0.5, 0.25, 0.0, 1.0)


class Times(nn.Module):
    """F(x) = a x, so that a residual block multiplies by 1 + a."""

    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor, dtype=torch.float64))

    def forward(self, x, shut=None):
        return self.factor * x


def linear_network(stages=(0, 0, 0, 0), factors=FACTORS):
    one = Slot(2, 0, 1, lambda: None)
    blocks = [
        Block(
            Site(stage, i, keeps_shape=True),
            Paths(Times(a), *(nn.Identity() for _ in range(3))),
            Gates(Constant(one), Constant(one)),
        )
        for i, (a, stage) in enumerate(zip(factors, stages, strict=True))
    ]
    return Network(2, Flat(), blocks, nn.Identity())


def subject(**given):
    x = images(40)[0]
    answers = x.flatten(1).argmax(1)
    return Subject(linear_network(**given), Images(x, answers), 7, Images(x[:20], answers[:20]))


def test_estimation_errors_of_linear_blocks():
    """Block i gives p_i x with p_i the product of the factors so far: its error is (p_i - p_last) x."""
    case = subject()
    result = PROBES["estimation"](case, SETTINGS)
    products = torch.cumprod(1 + torch.tensor(FACTORS, dtype=torch.float64), 0)
    pixels = case.examples.x.flatten(1)
    spread, mean = pixels.std(0, correction=0).mean(), pixels.mean(0).mean()
    for row in zip(*(result[key] for key in ("deviation", "mean", "size")), products, strict=True):
        deviation, average, size, product = (torch.as_tensor(v, dtype=torch.float64) for v in row)
        assert torch.allclose(deviation, (product - products[-1]).abs() * spread)
        assert torch.allclose(average, (product - products[-1]) * mean)
        assert torch.allclose(size, products[-1] * spread)


def test_estimation_is_against_the_last_block_of_the_same_stage():
    result = PROBES["estimation"](subject(stages=(0, 0, 1, 1)), SETTINGS)
    assert result["deviation"][1] == [0.0, 0.0]
    assert result["deviation"][0][0] > 0
    assert result["deviation"][3] == [0.0, 0.0]
    assert result["deviation"][2][0] > 0


def test_linear_blocks_commute_and_can_be_spared():
    """Scaling never changes which class is largest: no lesion, pruning or shuffle changes the error."""
    case = subject()
    whole = case.scores()
    assert all(errors == whole for errors in PROBES["lesion"](case, SETTINGS)["without"])
    assert all(errors == whole for errors in PROBES["shuffle"](case, SETTINGS)["errors"])
    assert all(
        errors == whole for order in PROBES["prune"](case, SETTINGS)["random"] for errors in order
    )


def test_the_gradient_along_a_path_is_the_product_of_its_factors():
    """The gradient of a block that adds a x is a along it and 1 beside it, so paths of length l give a^l."""
    factor = -0.5
    case = subject(factors=[factor] * 4)
    norms = torch.tensor(PROBES["paths"](case, SETTINGS)["norm"], dtype=torch.float64)
    x, y = next(Subject(case.network, case.examples, SETTINGS.paths.images).batches())
    last = (1 + factor) ** 4 * x.flatten(2)
    slope = torch.softmax(last, 2) - torch.nn.functional.one_hot(y, last.shape[2])
    expected = slope.norm(dim=2).mean(1) / x.shape[1]  # the loss is a mean over images
    assert torch.allclose(
        norms, torch.stack([abs(factor) ** length * expected for length in range(5)])
    )


def test_paths_of_unequal_blocks_give_the_mean_over_those_drawn():
    factors = (0.5, 0.25, 2.0, 1.0)
    everything = torch.ones(2, 4, dtype=torch.bool)
    norms = torch.tensor(
        gradient_norms(subject(factors=factors), everything, 40, draws=200), dtype=torch.float64
    )
    pairs = [a * b for a, b in itertools.combinations(factors, 2)]
    assert norms[2, 0] / norms[0, 0] == pytest.approx(sum(pairs) / len(pairs), rel=0.1)
    assert norms[4, 0] / norms[0, 0] == pytest.approx(0.25)
    assert norms[2, 0] != norms[2, 1], "each seed has paths of its own"


def test_paths_pass_through_open_blocks_only():
    """With one of four factors at 0 there are paths up to a length of three, all of the same product."""
    found = PROBES["paths"](subject(factors=(0.5, 0.0, 0.5, 0.5)), SETTINGS)
    norms = torch.tensor(found["norm"], dtype=torch.float64)
    assert found["open"] == [3, 3]
    assert torch.allclose(norms[1:4], norms[:3] / 2)
    assert norms[4].tolist() == [0, 0]
    assert max(m + c for m, c in zip(found["removed"], found["cut"], strict=True)) == 3


def test_a_block_without_its_shortcut_is_what_it_adds():
    case = subject(factors=(0.5, -0.5, 3.0, 1.0))
    x = case.examples.x[:3].expand(2, 3, 1, 8, 8)
    walk = in_states(torch.tensor([(OPEN, OPEN), (CUT, OPEN), (CLOSED, CUT), (OPEN, OPEN)]))
    ((_, output),) = outputs(case.network, [walk], x)
    found = output.main
    assert torch.allclose(found[0], 1.5 * -0.5 * 1.0 * 2.0 * x[0].flatten(1))
    assert torch.allclose(found[1], 1.5 * 0.5 * 3.0 * 2.0 * x[1].flatten(1))
    result = PROBES["paths"](case, SETTINGS)
    flipped = [
        e
        for e, m, c in zip(result["errors"], result["removed"], result["cut"], strict=True)
        if m == 0 and c == 0
    ]
    assert flipped == [case.scores()] * (SETTINGS.paths.draws // 8)
    assert max(m + c for m, c in zip(result["removed"], result["cut"], strict=True)) == 4


def test_greedy_pruning_begins_with_the_block_that_does_harm():
    """A factor of -2 turns the answer round; without it all are right, and no other block matters but for the loss."""
    case = subject(factors=(0.5, 0.25, -2.0, 1.0))
    order = greedy(case, 20)
    assert order[0].tolist() == [2, 2]
    assert order[1:].tolist() == [[1, 1], [0, 0], [3, 3]], (
        "then those that make the answers least sure of themselves"
    )
    result = PROBES["prune"](case, Probes(prune=Pruning(2, 20)))
    assert result["greedy"][0] == [100.0, 100.0]
    assert result["greedy"][1:] == [[0.0, 0.0]] * 4
    assert result["smallest"] is None, "the gates are all 1"


def test_greedy_pruning_chooses_by_the_training_images():
    """They are labelled by the smallest pixel, so the block that turns answers round goes last."""
    case = subject(factors=(0.5, 0.25, -2.0, 1.0))
    x = case.examples.x
    turned = dataclasses.replace(case, training=Images(x, x.flatten(1).argmin(1)))
    assert greedy(turned, 20)[-1].tolist() == [2, 2]


def test_shuffles_stay_within_stages_whose_blocks_would_fit_elsewhere():
    """Reversed stages of two blocks are 1 0 3 2: two of six pairs have changed sides."""
    found = PROBES["shuffle"](subject(stages=(0, 0, 1, 1)), SETTINGS)
    assert found["reversed"]["tau"] == [pytest.approx(1 / 3)]
    assert min(found["tau"] + found["full"]["tau"]) > 0.3


def test_responses_are_the_norms_of_what_blocks_add():
    case = subject()
    products = torch.cumprod(1 + torch.tensor([0.0, *FACTORS[:-1]], dtype=torch.float64), 0)
    norm = case.examples.x.flatten(1).norm(dim=1).mean()
    expected = products * torch.tensor(FACTORS, dtype=torch.float64) * norm
    assert torch.allclose(response_norms(case), expected.unsqueeze(1).expand(4, 2))


def test_without_images_to_choose_by_nothing_is_greedy():
    case = subject()
    assert greedy(case, 0) is None
    assert greedy(Subject(case.network, case.examples, 7), 20) is None


def test_a_linear_network_has_the_same_gradient_everywhere():
    line = (
        torch.linspace(-1, 1, 30, dtype=torch.float64).view(-1, 1, 1, 1) * images(2)[0, :1]
        + images(2)[0, 1:]
    )
    slopes = along_line(linear_network(), line)
    total = torch.tensor(FACTORS, dtype=torch.float64).add(1).prod()
    assert torch.equal(slopes[..., 0], total.expand(2, 30))
    assert torch.equal(slopes[..., 1:], torch.zeros(2, 30, 63, dtype=torch.float64))
    assert torch.allclose(
        autocorrelation(slopes, (1, 5, 20)), torch.ones(3, 2, dtype=torch.float64)
    )


def test_autocorrelation_of_series_known_on_paper():
    signs = torch.tensor([1.0, -1.0] * 10).view(1, 20, 1)
    assert autocorrelation(signs, (1, 2, 3)).flatten().tolist() == [-1, 1, -1]
    steps = torch.arange(4.0).view(1, 4, 1)
    assert autocorrelation(steps, (1, 2)).flatten().tolist() == pytest.approx(
        [(0 + 2 + 6) / 3 / 3.5, (0 + 3) / 2 / 3.5]
    )


def test_a_pruned_network_keeps_fewer_bytes():
    case = subject(factors=(0.5, 0.25, -2.0, 0.0))
    result = PROBES["speed"](case, SETTINGS)
    assert result["removed"] == [0, 1, 2, 3]
    assert result["errors"] == [[100.0, 100.0]] * 4, (
        "equal gates: the smallest responses go first, and that of -2 is the largest"
    )
    assert result["bytes"] == [4 * 8 // 2, 3 * 8 // 2, 2 * 8 // 2, 8 // 2]
    assert result["parameters"] == [2, 1, 1, 0], "two replicas share this network's weights"
    assert all(seconds > 0 for seconds in result["seconds"])


def test_operations_are_two_for_each_weight_of_a_map():
    result = PROBES["speed"](
        Subject(network(MLP, replicas=2).eval(), Images(images(4)[0], torch.zeros(4).long()), 4),
        SETTINGS,
    )
    block = 2 * 6 * 6
    assert result["flops"] == [
        2 * (64 * 6 + 2 * block + 6 * 10 - kept * block) for kept in (0, 0, 1, 2)
    ]
    assert result["parameters"][0] == parameter_count(network(MLP))


def test_walks_give_what_whole_forward_passes_give():
    made = network(CONV, ONE, ONE, replicas=2).eval()
    x = images(30)[0]
    case = Subject(made, Images(x, torch.arange(30) % 10), 8)
    blocks = len(made.blocks)
    masks = [none_closed(made), *(one_closed(made, i) for i in range(blocks))]
    masks += [
        one_closed(made, 1) | one_closed(made, 3),
        one_closed(made, 1) & torch.tensor([True, False]),
    ]
    expected = []
    for mask in masks:
        with closed(made, mask):
            expected.append(case.scores())
    assert case.scores_of([with_closed(mask) for mask in masks]) == expected
    order = [1, 0, *range(2, blocks)]
    with arranged(made, order):
        shuffled = case.scores()
    assert case.scores_of([in_order(made, order)]) == [shuffled]


@pytest.mark.parametrize("name", sorted(PROBES.keys() - {"patches", "identity", "words"}))
def test_a_probe_that_is_interrupted_leaves_the_network_as_it_was(name):
    case = subject()
    before = to_list(case.network)
    case.network.blocks[2].register_forward_pre_hook(
        lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    case.network.train()
    with pytest.raises(KeyboardInterrupt):
        PROBES[name](case, SETTINGS)
    assert case.network.training
    assert all(block.T.shut is None for block in case.network.blocks)
    assert all(torch.equal(a, b) for a, b in zip(before, to_list(case.network), strict=True))


def test_errors_before_the_last_relu_are_those_of_the_sums():
    """Blocks that end in a ReLU: what is below 0 is seen in the sums alone."""
    made = linear_network(stages=(0, 0, 0, 0))
    for block in made.blocks:
        block.after = nn.ReLU()
    x = images(40)[0] - 0.5
    case = Subject(made, Images(x, torch.zeros(40, dtype=torch.long)), 7)
    settings = dataclasses.replace(SETTINGS, estimation=Estimating(sums=True))
    found = PROBES["estimation"](case, settings)
    sums = [x.flatten(1) * (1 + FACTORS[0])]
    for factor in FACTORS[1:]:
        sums.append(sums[-1].relu() * (1 + factor))
    for place in range(4):
        before = sums[place] - sums[3]
        after = sums[place].relu() - sums[3].relu()
        assert found["before"]["mean"][place][0] == pytest.approx(float(before.mean()))
        assert found["mean"][place][0] == pytest.approx(float(after.mean()))
    assert found["before"]["mean"][0][0] != pytest.approx(found["mean"][0][0])
    assert "before" not in PROBES["estimation"](case, SETTINGS)
