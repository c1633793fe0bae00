"""torchvision's networks with the same weights give the same outputs and the same gradients."""

import pytest
import torch
import torchvision
from torch import Tensor, nn

from skipgate.foreign.names import fill, layers
from skipgate.nets.bodies import Plan, build
from skipgate.nets.network import Network
from skipgate.settings import Imagenet, Norm, Vgg
from tests.toys import ONE, ZERO

RESNETS = {
    "resnet18": ((2, 2, 2, 2), False),
    "resnet34": ((3, 4, 6, 3), False),
    "resnet50": ((3, 4, 6, 3), True),
    "resnet101": ((3, 4, 23, 3), True),
    "resnet152": ((3, 8, 36, 3), True),
}
CLASSES = 7
SIDE = 32


def pictures(count: int = 4) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.randn(count, 3, SIDE, SIDE, generator=generator, dtype=torch.float64)


def empty(body: Imagenet | Vgg, carry=ONE) -> Network:
    return build(body, Plan(ONE, carry, (3, SIDE, SIDE), CLASSES, 1)).double()


def gradients(network: Network) -> dict[str, Tensor]:
    """By torchvision's names."""
    return {
        f"{name}.{key}": tensor.grad[0]
        for name, layer in layers(network).items()
        for key in ("weight", "bias")
        if getattr(tensor := getattr(layer, key, None), "grad", None) is not None
    }


def spread_over(y: Tensor) -> Tensor:
    """A loss to which every output counts differently."""
    return (y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape)).sum()


def assert_same(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    for name, gradient in theirs.items():
        scale = float(gradient.abs().max())
        assert torch.allclose(ours[name], gradient, rtol=1e-6, atol=1e-8 * scale), name


@pytest.mark.parametrize("name", RESNETS)
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_residual_networks(name, training):
    torch.manual_seed(2)
    theirs = getattr(torchvision.models, name)(num_classes=CLASSES)
    theirs.train()(pictures().float())  # so that running statistics are not those of the start
    theirs = theirs.double().train(training)
    ours = empty(Imagenet("imagenet", *RESNETS[name])).train(training)
    fill(ours, theirs.state_dict(), "torchvision")
    x = pictures()
    found, expected = ours(x.unsqueeze(0))[0], theirs(x)
    assert torch.allclose(found, expected, rtol=1e-8, atol=1e-10)
    spread_over(found).backward()
    spread_over(expected).backward()
    assert_same(gradients(ours), {name: p.grad for name, p in theirs.named_parameters()})
    for key, moved in theirs.state_dict().items():
        layer, _, tensor = key.rpartition(".")
        if tensor.startswith("running"):
            assert torch.allclose(getattr(layers(ours)[layer], tensor)[0], moved)


@pytest.mark.parametrize("name", ["resnet18", "resnet50"])
def test_residual_networks_without_batch_normalisation(name):
    torch.manual_seed(2)
    make = getattr(torchvision.models, name)
    theirs = make(num_classes=CLASSES, norm_layer=lambda _: nn.Identity()).double()
    ours = empty(Imagenet("imagenet", *RESNETS[name], norm=Norm(kind="none")))
    weights = theirs.state_dict()
    biases = {
        f"{key}.bias": torch.zeros(layer.out_features)
        for key, layer in layers(ours).items()
        if getattr(layer, "bias", None) is not None
    }
    fill(ours, {**biases, **weights}, "torchvision")
    x = pictures(2)
    found, expected = ours(x.unsqueeze(0))[0], theirs(x)
    assert torch.allclose(found, expected, rtol=1e-8)
    spread_over(found).backward()
    spread_over(expected).backward()
    mine = gradients(ours)
    assert mine.keys() - weights.keys() == biases.keys() - weights.keys()
    assert_same(
        {key: mine[key] for key in weights},
        {key: p.grad for key, p in theirs.named_parameters()},
    )


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_vgg_layers(training):
    """The thirteen maps of `vgg16_bn`, pooled after every stage."""
    torch.manual_seed(2)
    theirs = torchvision.models.vgg16_bn(num_classes=CLASSES).features.double().train(training)
    ours = empty(Vgg("vgg"), ZERO).train(training)
    parts = [part for part in theirs if isinstance(part, nn.Conv2d | nn.BatchNorm2d)]
    blocks = [
        layer
        for block in ours.blocks
        for layer in (block.transform.affines[0], block.transform.norms[0])
    ]
    with torch.no_grad():
        for layer, part in zip(blocks, parts, strict=True):
            layer.weight[0].copy_(part.weight)
            layer.bias[0].copy_(part.bias)
    x = pictures()
    found = ours.head[0](ours.follow(ours.stem(x.unsqueeze(0))))[0]
    expected = theirs(x)
    assert torch.allclose(found, expected, rtol=1e-8, atol=1e-10)
    spread_over(found).backward()
    spread_over(expected).backward()
    for layer, part in zip(blocks, parts, strict=True):
        scale = float(part.weight.grad.abs().max())
        assert torch.allclose(layer.weight.grad[0], part.weight.grad, rtol=1e-6, atol=1e-8 * scale)
        assert torch.allclose(layer.bias.grad[0], part.bias.grad, rtol=1e-6, atol=1e-8 * scale)
