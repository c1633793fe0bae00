"""CReLU networks and how they start."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F

from skipgate.settings import Crelu
from tests.toys import ONE, ZERO, images, network

DEEP = 50


@torch.no_grad()
def deviation(made):
    """How far N(x + y) - N(0) is from (N(x) - N(0)) + (N(y) - N(0)), in units of its size."""
    x, y = images(8, 2), images(8, 2).flip(1)
    zero, one, other, both = (made(z) for z in (0 * x, x, y, x + y))
    return float((both + zero - one - other).abs().max() / (both - zero).square().mean().sqrt())


@pytest.mark.parametrize("stages", [0, 1, 3])
def test_looks_linear_is_linear_at_the_start_to_rounding_and_an_ordinary_start_is_not(stages):
    depth = 48 if stages else DEEP
    body = Crelu("crelu", depth, width=8 if stages else 50, stages=stages)
    looks = network(body, ONE, ZERO, replicas=2)
    ordinary = network(dataclasses.replace(body, init="he-normal"), ONE, ZERO, replicas=2)
    assert deviation(looks) < (1e-8 if stages else 1e-11)
    assert deviation(ordinary) > 0.1


def test_a_looks_linear_network_keeps_the_norm_from_layer_to_layer():
    made = network(Crelu("crelu", DEEP), ONE, ZERO)
    h = made.stem(images(5))
    before = h.norm(dim=2)
    for block in made.blocks:
        h = block(h)
    assert torch.allclose(h.norm(dim=2), before)


@pytest.mark.parametrize("init", ["looks-linear", "he-normal"])
def test_the_network_is_that_of_a_few_lines(init):
    made = network(Crelu("crelu", 4, width=6, init=init), ONE, ZERO)
    x = images(3)
    stem, head, *layers = [p[0] for p in made.parameters()][::2]  # biases start at 0
    h = x[0].flatten(1) @ stem.T
    for weight in layers:
        h = (
            torch.cat([F.relu(h), F.relu(-h)], 1)
            @ torch.cat([weight[:, ::2], weight[:, 1::2]], 1).T
        )
    assert len(layers) == 4
    assert torch.allclose(made(x)[0], h @ head.T)


@pytest.mark.parametrize("init", ["looks-linear", "he-normal"])
def test_the_convolutional_network_is_that_of_a_few_lines(init):
    """phi, then a 3x3 map; the first of the second stage takes every other pixel."""
    made = network(Crelu("crelu", 4, width=3, layers=1, stages=2, init=init), ONE, ZERO)
    x = images(3)
    h = F.conv2d(x[0], made.stem.weight[0], padding=1)
    for place, block in enumerate(made.blocks):
        (layer,) = block.transform.affines
        weight = torch.cat([layer.weight[0][:, ::2], layer.weight[0][:, 1::2]], 1)
        h = torch.cat([F.relu(h), F.relu(-h)], 1)
        h = F.conv2d(h, weight, padding=1, stride=2 if place == 2 else 1)
        if init == "looks-linear":
            assert torch.equal(layer.weight[0][:, ::2], -layer.weight[0][:, 1::2])
    assert torch.allclose(made(x)[0], h.mean((2, 3)) @ made.head[1].weight[0].T)
    assert [block.site.alone for block in made.blocks] == [False, False, True, False]
    residual = network(Crelu("crelu", 4, width=3, layers=1, stages=2), ONE, ONE)
    assert not any(block.site.alone for block in residual.blocks)


@pytest.mark.parametrize("stages", [0, 2])
def test_training_parts_what_looked_linear(stages):
    made = network(Crelu("crelu", 4, width=6, stages=stages), ONE, ZERO, replicas=2)
    optimiser = torch.optim.SGD(made.parameters(), 0.1)
    for _ in range(3):
        optimiser.zero_grad()
        F.cross_entropy(made(images(8, 2)).flatten(0, 1), torch.arange(16) % 10).backward()
        optimiser.step()
    assert deviation(made) > 1e-4


def test_depths_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="depth 5 does not divide into blocks of 2; use 4 or 6"):
        Crelu("crelu", 5)
    with pytest.raises(ValueError, match="depth 8 does not divide into blocks of 6; use 6 or 12"):
        Crelu("crelu", 8, stages=3)
