"""What gresnet leaves open about its multilayer networks, as settings: each against its equation."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F

from skipgate.behaviour import _close, _twin, _with_gate_defaults
from skipgate.nets import native
from skipgate.nets.layers import BatchNorm, Linear
from skipgate.nets.network import parameter_count
from skipgate.settings import GateChoice, Mlp, Norm
from skipgate.specs import resolve
from tests.toys import MLP, images, network

SCALAR = GateChoice("scalar")


def body(**changes):
    return dataclasses.replace(MLP, **changes)


def trained_statistics(made):
    """A network whose batch normalisation has something to do in evaluation."""
    generator = torch.Generator().manual_seed(3)
    for module in made.modules():
        if isinstance(module, BatchNorm):
            for tensor in (module.running_mean, module.bias.data):
                tensor.copy_(torch.randn(tensor.shape, generator=generator, dtype=torch.float64))
            module.running_var.uniform_(0.5, 2, generator=generator)
    return made.eval()


def test_a_linear_gate_is_the_residual_gate_above_zero_and_turns_the_block_round_below():
    linear, scalar = (network(MLP, GateChoice(gate)).eval() for gate in ("linear", "scalar"))
    x = images(5)
    assert torch.equal(linear(x), scalar(x))
    h = linear.stem(x)
    block = linear.blocks[0]
    with torch.no_grad():
        block.T.k.fill_(-0.5)
    assert torch.allclose(block(h), h - 0.5 * block.transform(h))
    with torch.no_grad():
        scalar.blocks[0].T.k.fill_(-0.5)
    assert torch.equal(scalar.blocks[0](h), h)


def test_normalisation_without_a_factor_has_none_to_learn():
    without = network(body(norm=Norm(scale=False)), SCALAR)
    assert parameter_count(network(MLP, SCALAR)) - parameter_count(without) == 4 * 6
    norms = [module for module in without.modules() if isinstance(module, BatchNorm)]
    for norm in norms:
        assert "weight" not in dict(norm.named_parameters())
        assert torch.equal(norm.weight, torch.ones_like(norm.weight))
    without(images(5)).sum().backward()
    assert all(norm.bias.grad is not None and norm.weight.grad is None for norm in norms)


def test_the_factor_may_start_uniform_and_each_seed_by_its_own_draw():
    three = network(body(norm=Norm(start="uniform")), replicas=3)
    alone = network(body(norm=Norm(start="uniform")), replicas=1)
    usual = network(MLP, replicas=1)
    norms = [[m for m in made.modules() if isinstance(m, BatchNorm)] for made in (three, alone)]
    for many, one in zip(*norms, strict=True):
        assert 0 <= many.weight.min() < 0.3
        assert 0.7 < many.weight.max() <= 1
        assert torch.equal(many.weight[0], one.weight[0])
        assert not torch.equal(many.weight[0], many.weight[1])
    assert torch.equal(alone.stem[1].weight, usual.stem[1].weight), "drawn before any factor"


def test_addition_before_the_last_normalisation():
    """u = ReLU(BN(k W2 ReLU(BN(W1 x)) + x))."""
    made = trained_statistics(network(body(addition="before-norm"), SCALAR))
    block = made.blocks[0]
    with torch.no_grad():
        block.T.k.fill_(0.7)
    x = torch.randn(1, 5, 6, dtype=torch.float64)
    first, second = block.transform.affines
    inner = second(F.relu(block.transform.norms[0](first(x))))
    assert len(block.transform.norms) == 1
    assert torch.allclose(block(x), F.relu(block.after[0](0.7 * inner + x)))


@pytest.mark.parametrize("stem", ["linear", "relu", "norm-relu"])
def test_what_follows_the_first_map(stem):
    made = trained_statistics(network(body(stem=stem)))
    x = images(5)
    h = made.stem[1](x.flatten(2))
    expected = {
        "linear": lambda: h,
        "relu": lambda: F.relu(h),
        "norm-relu": lambda: F.relu(made.stem[2][0](h)),
    }
    assert torch.allclose(made.stem(x), expected[stem]())


@pytest.mark.parametrize("init", ["glorot-uniform", "torch"])
def test_without_biases_there_are_none_to_draw_or_to_learn(init):
    made = network(body(bias=False, init=init))
    maps = [module for module in made.modules() if isinstance(module, Linear)]
    assert len(maps) == 4 + 2
    for each in maps:
        assert "bias" not in dict(each.named_parameters())
        assert not each.bias.any()
    assert parameter_count(network(body(init=init))) - parameter_count(made) == 5 * 6 + 10


def test_uniform_weights_stay_within_keras_bound():
    weights = torch.cat(
        [
            m.weight.flatten()
            for m in network(body(init="uniform")).modules()
            if isinstance(m, Linear)
        ]
    )
    assert 0.04 < weights.abs().max() <= 0.05
    assert abs(weights.mean()) < 0.01


def test_compiled_steps_and_their_parts_train_every_variation_alike(settings):
    nets = settings.nets_of("choices")
    whole = {net: _with_gate_defaults(resolve(settings, net)) for net in nets}
    assert native.available()
    compiled = {net: _twin(made)[1] for net, made in whole.items()}
    with native.left_out():
        assert not native.available()
        parts = {net: _twin(made)[1] for net, made in whole.items()}
    assert native.available()
    for net in whole:
        assert _close(parts[net], compiled[net]), net


def test_a_body_that_does_not_say_it_is_what_it_was():
    assert Mlp("mlp", 4) == Mlp(
        "mlp", 4, stem="linear", bias=True, norm=Norm(scale=True, start="one")
    )
