"""CReLU networks and how they start."""

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


def test_looks_linear_is_linear_at_the_start_to_rounding_and_an_ordinary_start_is_not():
    looks = network(Crelu("crelu", DEEP), ONE, ZERO, replicas=2)
    ordinary = network(Crelu("crelu", DEEP, init="he-normal"), ONE, ZERO, replicas=2)
    assert deviation(looks) < 1e-11
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


def test_training_parts_what_looked_linear():
    made = network(Crelu("crelu", 4, width=6), ONE, ZERO, replicas=2)
    optimiser = torch.optim.SGD(made.parameters(), 0.1)
    for _ in range(3):
        optimiser.zero_grad()
        F.cross_entropy(made(images(8, 2)).flatten(0, 1), torch.arange(16) % 10).backward()
        optimiser.step()
    assert deviation(made) > 1e-4


def test_depths_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="depth 5 does not divide into blocks of 2; use 4 or 6"):
        Crelu("crelu", 5)
