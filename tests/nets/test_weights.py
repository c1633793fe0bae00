"""How weights start: the spread that each initialiser names."""

import math

import pytest
import torch

from skipgate.settings import Mlp, Resnet
from tests.toys import network

IN_DENSE = {
    "glorot-uniform": math.sqrt(2 / (200 + 200)),
    "he-normal": math.sqrt(2 / 200),
    "torch": 1 / math.sqrt(3 * 200),
    "gaussian": 0.01,
}
IN_CONV = {
    "glorot-uniform": math.sqrt(2 / (9 * 40 + 9 * 40)),
    "he-normal": math.sqrt(2 / (9 * 40)),
    "he-normal-out": math.sqrt(2 / (9 * 40)),
}


@pytest.mark.parametrize(("init", "deviation"), IN_DENSE.items())
def test_dense_weights_spread_as_their_initialiser_says(init, deviation):
    made = network(Mlp("mlp", depth=2, width=200, init=init))
    for affine in made.blocks[0].transform.affines:
        assert affine.weight.std().item() == pytest.approx(deviation, rel=0.03)
        assert affine.weight.mean().item() == pytest.approx(0, abs=0.03 * deviation)


@pytest.mark.parametrize(("init", "deviation"), IN_CONV.items())
def test_convolutions_count_every_pixel_of_their_kernel(init, deviation):
    made = network(Resnet("resnet", blocks=1, width=40, init=init))
    assert made.blocks[0].transform.affines[0].weight.std().item() == pytest.approx(
        deviation, rel=0.03
    )


def test_biases_start_at_0_but_for_pytorchs_own_start():
    dense, torchs = (network(Mlp("mlp", 2, 200, init=init)) for init in ("he-normal", "torch"))
    assert torch.equal(dense.stem[1].bias, torch.zeros_like(dense.stem[1].bias))
    assert torchs.blocks[0].transform.affines[0].bias.abs().max() > 0
