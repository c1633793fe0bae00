"""Networks made by hand, where the answer is known on paper."""

import pytest
import torch
from torch import nn

from skipgate.evaluation import Images
from skipgate.nets.block import Block, Gates, Paths, Site
from skipgate.nets.bodies import Flat
from skipgate.nets.gate import Slot
from skipgate.nets.gates.constant import Constant
from skipgate.nets.network import Network
from skipgate.nets.surgery import arranged, closed, none_closed, one_closed
from skipgate.nets.weights import to_list
from skipgate.params import Probes
from skipgate.probes import PROBES
from skipgate.probes.subject import Subject
from skipgate.probes.walk import in_order, with_closed
from tests.toys import CONV, ONE, images, network

SETTINGS = Probes(prune_orders=2, shuffle_draws=4)
FACTORS = (0.5, 0.25, 0.0, 1.0)


class Times(nn.Module):
    """F(x) = a x, so that a residual block multiplies by 1 + a."""

    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor, dtype=torch.float64))

    def forward(self, x, shut=None):
        return self.factor * x


def linear_network(stages=(0, 0, 0, 0)):
    one = Slot(2, 0, 1, lambda: None)
    blocks = [
        Block(
            Site(stage, i, keeps_shape=True),
            Paths(Times(a), *(nn.Identity() for _ in range(3))),
            Gates(Constant(one), Constant(one)),
        )
        for i, (a, stage) in enumerate(zip(FACTORS, stages, strict=True))
    ]
    return Network(2, Flat(), blocks, nn.Identity())


def subject(**given):
    x = images(40)[0]
    return Subject(linear_network(**given), Images(x, torch.zeros(40, dtype=torch.long)), 7)


def test_estimation_errors_of_linear_blocks():
    """Block i gives p_i x with p_i the product of the factors so far: its error is (p_i - p_last) x."""
    case = subject()
    result = PROBES["estimation"](case, SETTINGS)
    products = torch.cumprod(1 + torch.tensor(FACTORS, dtype=torch.float64), 0)
    pixels = case.images.x.flatten(1)
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
    whole = case.errors()
    assert all(errors == whole for errors in PROBES["lesion"](case, SETTINGS)["without"])
    assert all(errors == whole for errors in PROBES["shuffle"](case, SETTINGS)["errors"])
    assert all(errors == whole for order in PROBES["prune"](case, SETTINGS)["random"] for errors in order)


def test_a_pruned_network_keeps_fewer_bytes():
    result = PROBES["speed"](subject(), SETTINGS)
    assert result["removed"] == [0, 1, 2, 3]
    assert result["bytes"] == [4 * 8 // 2, 3 * 8 // 2, 2 * 8 // 2, 8 // 2]
    assert all(seconds > 0 for seconds in result["seconds"])


def test_walks_give_what_whole_forward_passes_give():
    made = network(CONV, ONE, ONE, replicas=2).eval()
    x = images(30)[0]
    case = Subject(made, Images(x, torch.arange(30) % 10), 8)
    blocks = len(made.blocks)
    masks = [none_closed(made), *(one_closed(made, i) for i in range(blocks))]
    masks += [one_closed(made, 1) | one_closed(made, 3), one_closed(made, 1) & torch.tensor([True, False])]
    expected = []
    for mask in masks:
        with closed(made, mask):
            expected.append(case.errors())
    assert case.errors_of([with_closed(mask) for mask in masks]) == expected
    order = [1, 0, *range(2, blocks)]
    with arranged(made, order):
        shuffled = case.errors()
    assert case.errors_of([in_order(made, order)]) == [shuffled]


def test_a_walk_that_is_interrupted_leaves_the_network_as_it_was():
    case = subject()
    before = to_list(case.network)
    case.network.blocks[2].register_forward_pre_hook(lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    case.network.train()
    with pytest.raises(KeyboardInterrupt):
        PROBES["lesion"](case, SETTINGS)
    assert case.network.training
    assert all(block.T.shut is None for block in case.network.blocks)
    assert all(torch.equal(a, b) for a, b in zip(before, to_list(case.network), strict=True))
