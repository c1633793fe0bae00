"""Stacked networks against a few lines of ordinary PyTorch."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from skipgate.bench import PlainLoopNet
from skipgate.nets.layers import BatchNorm, Conv, Linear
from skipgate.settings import GateChoice, Mlp, Norm, Resnet
from tests.toys import CONV, ONE, images, network


@torch.no_grad()
def filled(layer: nn.Module) -> nn.Module:
    generator = torch.Generator().manual_seed(3)
    for p in layer.parameters():
        p.copy_(torch.randn(p.shape, generator=generator))
    return layer.double()


def test_linear_is_one_linear_map_a_replica():
    layer, x = filled(Linear(3, 5, 4)), torch.randn(3, 7, 5, dtype=torch.float64)
    expected = torch.stack([F.linear(x[r], layer.weight[r], layer.bias[r]) for r in range(3)])
    assert torch.allclose(layer(x), expected)


@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (1, 2)])
def test_conv_is_one_convolution_a_replica(kernel, stride):
    layer = filled(Conv(3, 2, 4, kernel, stride, bias=True))
    x = torch.randn(3, 5, 2, 8, 8, dtype=torch.float64)
    expected = torch.stack(
        [
            F.conv2d(x[r], layer.weight[r], layer.bias[r], stride, (kernel - 1) // 2)
            for r in range(3)
        ]
    )
    assert torch.allclose(layer(x), expected)


@pytest.mark.parametrize("shape", [(3, 7, 5), (3, 7, 5, 4, 4)])
def test_batch_norm_is_pytorchs_in_training_and_evaluation(shape):
    layer, x = filled(BatchNorm(3, 5, Norm(0.3, 0.01))), torch.randn(shape, dtype=torch.float64)
    for replica in range(3):
        kind = nn.BatchNorm1d if len(shape) == 3 else nn.BatchNorm2d
        theirs = kind(5, eps=0.01, momentum=0.3).double()
        theirs.load_state_dict(
            {"weight": layer.weight[replica], "bias": layer.bias[replica]}, strict=False
        )
        ours = filled(BatchNorm(3, 5, Norm(0.3, 0.01)))
        for mode in (True, False):
            assert torch.allclose(ours.train(mode)(x)[replica], theirs.train(mode)(x[replica]))
        assert torch.allclose(ours.running_var[replica], theirs.running_var)


def gated_and_plain_loop():
    ours = network(Mlp("mlp", depth=6, width=7), GateChoice("scalar"), ONE)
    theirs = PlainLoopNet(6, 7, 64, 10).double()
    with torch.no_grad():
        for a, b in zip(theirs.parameters(), _in_plain_order(ours), strict=True):
            a.copy_(b[0])
    return ours, theirs


def test_gated_network_is_the_plain_loop():
    ours, theirs = gated_and_plain_loop()
    x = images(9)
    assert torch.allclose(ours(x)[0], theirs(x[0].flatten(1)))


def test_gradients_are_those_of_the_plain_loop():
    """Those of every k too; the bias before a batch normalisation, which takes it away, has none."""
    ours, theirs = gated_and_plain_loop()
    x = images(9)
    ours(x)[0].square().sum().backward()
    theirs(x[0].flatten(1)).square().sum().backward()
    for a, b in zip(theirs.parameters(), _in_plain_order(ours), strict=True):
        assert torch.allclose(a.grad, torch.zeros_like(a) if b.grad is None else b.grad[0])
    assert all(block.T.k.grad.abs() > 0 for block in ours.blocks)


def _in_plain_order(ours):
    """Parameters as PlainLoopNet registers them: first, last, the blocks, then every k."""
    ends = [*ours.stem.parameters(), *ours.head.parameters()]
    layers = [
        p
        for block in ours.blocks
        for affine, norm in zip(block.transform.affines, block.transform.norms, strict=True)
        for p in (affine.weight, affine.bias, norm.weight, norm.bias)
    ]
    return [*ends, *layers, *[block.T.k for block in ours.blocks]]


def test_preactivation_network_is_he_et_al():
    """BN-ReLU-conv twice, the first BN-ReLU before the paths part; strided pixels and zero channels; BN-ReLU-pool-linear."""
    made = network(CONV).eval()
    x = images(4)

    def norm(layer, h):
        return F.batch_norm(
            h,
            layer.running_mean[0],
            layer.running_var[0],
            layer.weight[0],
            layer.bias[0],
            eps=layer.epsilon,
        )

    h = F.relu(norm(made.stem[1][0], F.conv2d(x[0], made.stem[0].weight[0], padding=1)))
    for i, block in enumerate(made.blocks):
        (first, second), norms = block.transform.affines, block.transform.norms
        assert len(norms) == (1 if i == 0 else 2)
        f = F.conv2d(
            h if i == 0 else F.relu(norm(norms[0], h)),
            first.weight[0],
            stride=first.stride,
            padding=1,
        )
        f = F.conv2d(F.relu(norm(norms[-1], f)), second.weight[0], padding=1)
        s = h[:, :, :: first.stride, :: first.stride]
        h = f + torch.cat(
            [s, torch.zeros(len(s), f.shape[1] - s.shape[1], *s.shape[2:], dtype=s.dtype)], 1
        )
    pooled = F.relu(norm(made.head[0][0], h)).mean((2, 3))
    assert torch.allclose(
        made(x)[0], F.linear(pooled, made.head[-1].weight[0], made.head[-1].bias[0])
    )


def test_wide_blocks_that_project_share_their_first_activation():
    """Zagoruyko and Komodakis: BN-ReLU, then conv-BN-ReLU-conv beside a 1x1 projection of the same input."""
    block = (
        network(Resnet("resnet", blocks=1, width=4, widen=2, shortcut="project")).eval().blocks[0]
    )
    x = torch.randn(1, 3, 4, 8, 8, dtype=torch.float64)
    first, second = block.transform.affines
    o = F.relu(x[0] / (1 + 1e-5) ** 0.5)  # fresh running statistics are 0 and 1
    f = F.conv2d(o, first.weight[0], padding=1)
    f = F.conv2d(F.relu(f / (1 + 1e-5) ** 0.5), second.weight[0], padding=1)
    assert torch.allclose(block(x)[0], f + F.conv2d(o, block.shortcut.weight[0]))


def test_pool_shortcut_averages_and_pads_both_sides():
    from skipgate.nets.shortcuts import Pool

    x = torch.arange(16.0).view(1, 1, 1, 4, 4)
    y = Pool(extra=2, stride=2)(x)
    assert y.shape == (1, 1, 3, 2, 2)
    assert y[0, 0, 1].tolist() == [[2.5, 4.5], [10.5, 12.5]]
    assert y[0, 0, 0].abs().max() == y[0, 0, 2].abs().max() == 0
