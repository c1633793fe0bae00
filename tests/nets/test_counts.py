"""Parameter counts that the sources print, or that follow from what they print."""

import dataclasses

import pytest
import torch

from skipgate.nets.bodies import Plan, build
from skipgate.nets.layers import Conv, Linear
from skipgate.nets.network import parameter_count
from skipgate.settings import (
    Body,
    Classify,
    Crelu,
    Fleuret,
    GateChoice,
    Imagenet,
    Mlp,
    Norm,
    Resnet,
    Vgg,
)
from tests.toys import ONE, ZERO

FIFTY = (3, 4, 6, 3)
"""Blocks of a stage; of basic blocks they make 34 layers."""
IMAGENET = Classify("classify", (3, 224, 224), 1000, 255, 50000, "")
RESNET_50 = Imagenet("imagenet", FIFTY, bottleneck=True)
HIGHWAY_WIDTH = 47
"""That of a 50-layer highway network with as many parameters as the residual one of 64."""
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
        (dataclasses.replace(WIDE_4_10, dropout=0.3), CIFAR, 36_479_194),
        (RESNET_5, CIFAR, 464_154),  # "0.46M"
        # ResNet-110 with option A: "1.7M"
        (Resnet("resnet", blocks=18, order="post"), CIFAR, 1_727_962),
        (Resnet("resnet", blocks=18, order="pre"), CIFAR, 1_727_962),
        (Vgg("vgg"), CIFAR, 14_991_946),
        (Imagenet("imagenet", (2, 2, 2, 2)), IMAGENET, 11_689_512),
        (Imagenet("imagenet", FIFTY), IMAGENET, 21_797_672),
        (RESNET_50, IMAGENET, 25_557_032),  # "25.6M"
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


@pytest.mark.parametrize("kind", ["batch", "none"])
@pytest.mark.parametrize("addition", ["before", "both"], ids=["highway", "highway-full"])
def test_a_narrow_highway_network_has_the_parameters_of_resnet_50(kind, addition):
    """Within 1%, as the next widths are not (unrolled section 5.1)."""
    norm = Norm(kind=kind)
    residual = count(dataclasses.replace(RESNET_50, norm=norm), IMAGENET)
    gates = GateChoice("layers"), GateChoice("coupled")
    close = []
    for width in range(HIGHWAY_WIDTH - 2, HIGHWAY_WIDTH + 3):
        body = dataclasses.replace(RESNET_50, norm=norm, width=width, addition=addition)
        close += [width] if abs(count(body, IMAGENET, *gates) / residual - 1) < 0.01 else []
    assert close == [HIGHWAY_WIDTH]


@pytest.mark.parametrize("blocks", [(2, 2, 2, 2), FIFTY])
def test_plain_and_residual_pairs_without_projections_have_the_same_parameters(blocks):
    """He et al. 2015 section 4.1: "no extra parameter compared to the plain counterparts"."""
    body = Imagenet("imagenet", blocks, shortcut="pad")
    assert count(body, IMAGENET, ONE, ZERO) == count(body, IMAGENET)


@pytest.mark.parametrize(
    "body", [RESNET_5, WIDE_3_4, Mlp("mlp", depth=10), Fleuret("fleuret", 2), Vgg("vgg"), RESNET_50]
)
def test_without_batch_normalisation_every_map_has_a_bias_and_nothing_else_shifts(body):
    made = dataclasses.replace(body, norm=Norm(kind="none"))
    with torch.device("meta"):
        network = build(made, Plan(ONE, ONE, CIFAR.shape, CIFAR.outputs, 1))
    kinds = {type(module).__name__ for module in network.modules()}
    assert "BatchNorm" not in kinds
    maps = [module for module in network.modules() if isinstance(module, Linear | Conv)]
    assert all(isinstance(part.bias, torch.nn.Parameter) for part in maps)
    expected = sum(part.weight.numel() + part.bias.numel() for part in maps)
    assert parameter_count(network) == expected


PER_N = sum(2 * 9 * width**2 + 2 * 2 * width for width in (16, 32, 64))
"""Parameters of a block more in each stage: two 3x3 maps, each behind batch normalisation."""
SIDE = 2 * 32 + 32 * 10 + 10
"""Of the second head, in the middle of the second stage."""


@pytest.mark.parametrize("n", [16, 18, 25, 33, 42, 50, 83, 125])
def test_epsilon_resnets_of_any_depth_have_the_parameters_of_resnet_110_and_more_blocks(n):
    body = Resnet("resnet", blocks=n, shortcut="pool")
    wanted = 1_727_962 + (n - 18) * PER_N
    assert count(body, CIFAR) == count(body, CIFAR, GateChoice("epsilon")) == wanted
    assert count(dataclasses.replace(body, side=0.1), CIFAR) == wanted + SIDE


def test_752_layers_have_twelve_million_parameters():
    assert count(Resnet("resnet", blocks=125, shortcut="pool"), CIFAR) == 12_130_074


def preactivated(blocks: tuple[int, ...]) -> int:
    """Bottlenecks in pre-activation with 1x1 shortcuts and no biases, counted by hand."""
    total = 7 * 7 * 3 * 64 + 2 * 64
    width = 64
    for stage, many in enumerate(blocks):
        inner = 64 * 2**stage
        for place in range(many):
            total += inner * width + 9 * inner**2 + 4 * inner**2
            # One before each map; the first block finds its input activated by the stem.
            total += 2 * (2 * inner + (0 if stage == place == 0 else width))
            total += width * 4 * inner if place == 0 else 0
            width = 4 * inner
    return total + 2 * width + width * 1000 + 1000


@pytest.mark.parametrize(
    ("blocks", "parameters"), [((3, 4, 23, 3), 44_541_480), ((3, 8, 36, 3), 60_185_128)]
)
def test_preactivated_bottlenecks(blocks, parameters):
    body = Imagenet("imagenet", blocks, bottleneck=True, order="pre", shortcut="project")
    assert count(body, IMAGENET) == preactivated(blocks) == parameters
    side = 2 * 1024 + 1024 * 1000 + 1000
    assert count(dataclasses.replace(body, side=0.1), IMAGENET) == parameters + side


def test_convolutional_crelu_layers_have_twice_the_weights():
    """3x3 maps of 2 x 16, 2 x 32 and 2 x 64 channels with biases, two a stage."""
    widths = [(3 / 2, 16), (16, 16), (16, 16), (16, 32), (32, 32), (32, 64), (64, 64)]
    maps = sum(int(2 * a * b * 9) + b for a, b in widths)
    assert count(Crelu("crelu", 6, width=16, stages=3), CIFAR, ONE, ZERO) == maps + 64 * 10 + 10
