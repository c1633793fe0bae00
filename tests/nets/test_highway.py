"""Highway networks as unrolled section 5.1 and He et al. 2016 gate them."""

import pytest
import torch
import torch.nn.functional as F

from skipgate.files import Problem
from skipgate.settings import Crelu, GateChoice, Imagenet, Mlp, Norm, Resnet
from tests.toys import ONE, images, network

COUPLED = GateChoice("coupled")


def bottleneck(**settings):
    body = Imagenet("imagenet", (2,), bottleneck=True, width=3, **settings)
    return network(body, GateChoice("layers", {"bias": -1.0}), COUPLED)


def by_hand(layers, x, norm):
    """Conv-BN-ReLU-Conv-BN-ReLU-Conv-BN, or the same without BN."""
    for i in range(3):
        conv = layers.affines[i]
        bias = None if conv.bias is None else conv.bias[0]
        kernel = conv.weight.shape[-1]
        x = F.conv2d(x, conv.weight[0], bias, conv.stride, (kernel - 1) // 2)
        if norm:
            part = layers.norms[i]
            x = F.batch_norm(x, None, None, part.weight[0], part.bias[0], training=True)
        x = F.relu(x) if i < 2 else x
    return x


@pytest.mark.parametrize("kind", ["batch", "none"])
@pytest.mark.parametrize(
    ("addition", "inner", "outer"),
    [
        ("before", torch.clone, F.relu),
        ("neither", torch.clone, torch.clone),
        ("after", F.relu, torch.clone),
        ("both", F.relu, F.relu),
    ],
)
def test_a_highway_block_is_its_two_sets_of_layers(kind, addition, inner, outer):
    """y = outer( T inner(H) + (1 - T) x ): the third ReLU of Highway-Full is `inner`."""
    block = bottleneck(addition=addition, norm=Norm(kind=kind)).train().blocks[1]
    x = torch.rand(1, 4, 12, 6, 6, dtype=torch.float64)
    T = torch.sigmoid(by_hand(block.T.layers, x[0], kind == "batch"))
    H = inner(by_hand(block.transform, x[0], kind == "batch"))
    assert torch.allclose(block(x)[0], outer(T * H + (1 - T) * x[0]))
    assert H.min() < 0 or inner is F.relu


def test_the_gate_of_layers_has_weights_of_its_own():
    block = bottleneck().blocks[1]
    pairs = zip(block.T.layers.affines, block.transform.affines, strict=True)
    for mine, theirs in pairs:
        assert mine.weight.shape == theirs.weight.shape
        assert not torch.equal(mine.weight, theirs.weight)


@pytest.mark.parametrize("kind", ["batch", "none"])
def test_the_last_layer_begins_with_the_bias(kind):
    made = bottleneck(norm=Norm(kind=kind))
    for block in made.blocks:
        norm, conv = block.T.layers.norms[-1], block.T.layers.affines[-1]
        last = norm if kind == "batch" else conv
        assert torch.equal(last.bias, torch.full_like(last.bias, -1.0))
        for part in (*block.T.layers.norms[:-1], *block.T.layers.affines[:-1]):
            bias = getattr(part, "bias", None)
            assert bias is None or not bias.any()


def seen(function, x):
    """Pixels of the input that the output's middle pixel depends on."""
    x = x.clone().requires_grad_()
    y = function(x)
    y[..., y.shape[-2] // 2, y.shape[-1] // 2].sum().backward()
    return x.grad.abs().sum((0, 1, 2)) > 0


@pytest.mark.parametrize(
    "body",
    [
        Resnet("resnet", 1, width=4, stages=1, order="post"),
        Imagenet("imagenet", (1,), bottleneck=True, width=4),
    ],
)
def test_a_gate_of_layers_sees_what_its_transform_sees(body):
    # In evaluation: the statistics of a batch depend on every pixel.
    made = {
        gate: network(body, GateChoice(gate), COUPLED).eval()
        for gate in ("layers", "sigmoid", "pointwise")
    }
    x = torch.randn(1, 8, 4, 9, 9, dtype=torch.float64)
    fields = {gate: seen(lambda z, g=gate: made[g].blocks[0].T(z, z), x) for gate in made}
    assert torch.equal(fields["layers"], seen(made["layers"].blocks[0].transform, x))
    assert fields["sigmoid"].sum() == 9
    assert fields["pointwise"].sum() == 1


@pytest.mark.parametrize("stride", [1, 2])
def test_a_pointwise_gate_is_a_1x1_map(stride):
    made = network(Resnet("resnet", 1, width=4, stages=2), GateChoice("pointwise"), COUPLED)
    block = made.blocks[stride - 1]
    x = torch.randn(1, 3, 4, 8, 8, dtype=torch.float64)
    map_ = block.T.affine
    assert map_.weight.shape[-1] == 1
    expected = torch.sigmoid(F.conv2d(x[0], map_.weight[0], map_.bias[0], stride))
    assert torch.allclose(block.T(x, x)[0], expected)
    assert torch.equal(map_.bias, torch.full_like(map_.bias, -2.0))


def test_in_dense_networks_a_pointwise_gate_is_the_usual_one():
    body = Mlp("mlp", depth=4, width=6)
    usual, pointwise = (
        network(body, GateChoice(gate), COUPLED) for gate in ("sigmoid", "pointwise")
    )
    assert torch.equal(usual.eval()(images(3)), pointwise.eval()(images(3)))


def test_a_body_without_such_layers_is_refused():
    with pytest.raises(Problem, match="needs a body whose blocks have layers to copy"):
        network(Crelu("crelu", 4), GateChoice("layers"), ONE)
