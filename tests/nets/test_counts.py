"""Parameter counts that the sources print, or that follow from what they print."""

import pytest
import torch

from skipgate.nets.bodies import Plan, build
from skipgate.nets.network import parameter_count
from skipgate.settings import Body, Classify, Crelu, Fleuret, GateChoice, Mlp, Resnet
from tests.toys import ONE, ZERO

MNIST = Classify("classify", (1, 28, 28), 10, 255, 10000, "")
CIFAR = Classify("classify", (3, 32, 32), 10, 255, 10000, "")
RESNET_5 = Resnet("resnet", blocks=5)
WIDE_3_4 = Resnet("resnet", blocks=3, widen=4, shortcut="project")
WIDE_4_10 = Resnet("resnet", blocks=4, widen=10, shortcut="project")


def count(body: Body, data: Classify, T: GateChoice = ONE, C: GateChoice = ONE) -> int:
    with torch.device("meta"):
        return parameter_count(build(body, Plan(T, C, data.shape, data.outputs, 1)))


@pytest.mark.parametrize(
    ("body", "data", "parameters"),
    [
        (Fleuret("fleuret"), MNIST, 117_802),
        (Crelu("crelu", depth=10), MNIST, 784 * 50 + 50 + 10 * (2 * 50 * 50 + 50) + 50 * 10 + 10),
        (WIDE_3_4, CIFAR, 4_298_970),
        (WIDE_4_10, CIFAR, 36_479_194),
        (
            Resnet("resnet", blocks=18, order="post"),
            CIFAR,
            1_727_962,
        ),  # ResNet-110 with option A: "1.7M"
    ],
)
def test_golden_counts(body, data, parameters):
    assert count(body, data) == parameters


@pytest.mark.parametrize(("body", "extra"), [(RESNET_5, 15), (WIDE_3_4, 9), (WIDE_4_10, 12)])
def test_gating_adds_one_parameter_a_block(body, extra):
    assert count(body, CIFAR, GateChoice("scalar")) - count(body, CIFAR) == extra


def test_plain_and_residual_have_the_same_parameters():
    body = Mlp("mlp", depth=10)
    layers = 784 * 50 + 50 + 10 * (50 * 50 + 50 + 2 * 50) + 50 * 10 + 10
    assert count(body, MNIST, ONE, ZERO) == count(body, MNIST) == layers
