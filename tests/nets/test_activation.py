"""BN-ReLU, and the convolution that follows it, as compiled steps against their parts."""

import copy
import dataclasses
import itertools

import pytest
import torch

from skipgate.nets import native, transforms
from skipgate.nets.activation import norm_relu, norm_relu_conv
from skipgate.nets.layers import BatchNorm, Conv
from skipgate.settings import GateChoice, Norm
from tests.toys import CONV, network

DIE = torch.Generator().manual_seed(7)


def random(*shape):
    return torch.randn(*shape, generator=DIE, dtype=torch.float64)


@pytest.fixture(autouse=True)
def compiled():
    assert native.available()


@pytest.mark.parametrize("channels", [1, 5, 16, 40])
@pytest.mark.parametrize("count", [2, 60])
def test_norm_relu_is_its_parts_in_value_gradient_and_running_statistics(channels, count):
    """Channels that fill vectors and that do not; fewer rows than a block, and more."""
    ours = BatchNorm(1, channels, Norm(0.3, 0.01)).double()
    with torch.no_grad():
        for p in ours.parameters():
            p.copy_(random(*p.shape))
    theirs = copy.deepcopy(ours)
    x, weight = (random(1, count, channels, 3, 4) + 2 for _ in range(2))
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    values = [norm_relu(ours, inputs[0]), torch.relu(theirs(inputs[1]))]
    for y in values:
        (y * weight).sum().backward()
    assert torch.allclose(*values)
    assert torch.allclose(inputs[0].grad, inputs[1].grad)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.allclose(p.grad, q.grad)
    assert all(torch.allclose(a, b) for a, b in zip(ours.buffers(), theirs.buffers(), strict=True))


def test_norm_relu_is_exact_enough_where_the_mean_is_far_from_0():
    """In float32, by blocks: as close to 64 bits as PyTorch's own."""
    norm = BatchNorm(1, 16, Norm())
    x = (random(1, 64, 16, 16, 16) + 100).float()
    exact = torch.relu(copy.deepcopy(norm).double()(x.double()))
    ours, theirs = norm_relu(copy.deepcopy(norm), x), torch.relu(norm(x))
    assert (ours - exact).abs().max() < 2 * (theirs - exact).abs().max() + 1e-6


def test_images_that_are_no_numbers_stay_so():
    norm = BatchNorm(1, 16, Norm())
    x = random(1, 8, 16, 2, 2).float()
    x[0, 3, 5] = torch.nan
    found = norm_relu(norm, x).isnan().any(1).any(-1).any(-1)[0]
    assert found.nonzero().flatten().tolist() == [5]


def chain(widths, strides, kernel=3):
    """BN-ReLU-Conv layers with random numbers everywhere, in 64 bits."""
    layers = [
        (BatchNorm(1, a, Norm(0.3, 0.01)).double(), Conv(1, a, b, kernel, stride).double())
        for (a, b), stride in zip(itertools.pairwise(widths), strides, strict=True)
    ]
    with torch.no_grad():
        for p in torch.nn.ModuleList(itertools.chain.from_iterable(layers)).parameters():
            p.copy_(random(*p.shape))
    return layers


def in_parts(layers, x):
    for norm, conv in layers:
        x = conv(torch.relu(norm(x)))
    return x


# Of 64-bit images of 16 channels and 32 x 32 pixels 8 are taken at a time; 64 channels have weights that fill the cache.
CHAINS = {
    "few images at a time, the last time fewer": ([16, 16, 16], [1, 1], 3, (19, 32, 32)),
    "all at once in the second layer": ([16, 64, 64], [2, 1], 3, (19, 32, 32)),
    "one image": ([16, 32], [1], 3, (1, 8, 8)),
    "channels and pixels that fill no vector": ([5, 7, 3], [2, 2], 3, (4, 7, 9)),
    "maps of one pixel": ([32, 16], [1], 1, (3, 6, 6)),
    "four layers": ([4, 4, 4, 4, 4], [1, 1, 1, 1], 3, (2, 5, 5)),
}


@pytest.mark.parametrize(
    ("case", "shortcut"),
    [
        (case, shortcut)
        for case, (widths, strides, _, _) in CHAINS.items()
        for shortcut in ("none", "identity", "other")
        # Nothing that changes its shape has an identity beside it.
        if shortcut != "identity" or (widths[0] == widths[-1] and set(strides) == {1})
    ],
)
def test_norm_relu_conv_is_its_parts_in_value_gradient_and_running_statistics(case, shortcut):
    widths, strides, kernel, (count, height, width) = CHAINS[case]
    ours = chain(widths, strides, kernel)
    theirs = copy.deepcopy(ours)
    x = random(1, count, widths[0], height, width) + 1
    like = in_parts(copy.deepcopy(ours), x)
    other, weight = random(*like.shape), random(*like.shape)
    found = []
    for layers in (ours, theirs):
        inputs = [x.clone().requires_grad_(), other.clone().requires_grad_()]
        s = {"none": None, "identity": inputs[0], "other": inputs[1]}[shortcut]
        if layers is ours:
            y = norm_relu_conv(inputs[0], layers, s)
        else:
            y = in_parts(layers, inputs[0]) + (0 if s is None else s)
        (y * weight).sum().backward()
        modules = [module for layer in layers for module in layer]
        gradients = [t.grad for t in (*inputs, *(p for m in modules for p in m.parameters()))]
        running = [buffer for m in modules for buffer in m.buffers()]
        found.append([y, *(g for g in gradients if g is not None), *running])
    assert len(found[0]) == len(found[1])
    for a, b in zip(*found, strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-9)


def test_norm_relu_conv_is_as_exact_in_32_bits_as_its_parts():
    """Against 64 bits, value and gradient, where the mean is far from 0."""
    exact = chain([16, 16, 16], [1, 1])
    x = random(1, 40, 16, 32, 32) + 10

    def found(dtype, step):
        layers = [[module.to(dtype) for module in layer] for layer in copy.deepcopy(exact)]
        start = x.detach().to(dtype, copy=True).requires_grad_()
        y = norm_relu_conv(start, layers, start) if step else in_parts(layers, start) + start
        y.square().sum().backward()
        return [each.double() for each in (y, start.grad, layers[0][1].weight.grad)]

    truth = found(torch.float64, step=False)
    both = [found(torch.float32, step=step) for step in (True, False)]
    for a, ours, theirs in zip(truth, *both, strict=True):
        assert (ours - a).norm() < 2 * (theirs - a).norm()


def test_a_number_that_is_none_spoils_what_it_spoils_in_the_parts():
    layers = chain([16, 16, 16], [1, 1])
    x = random(1, 30, 16, 32, 32)
    x[0, 3, 5, 7, 7] = torch.nan
    expected = in_parts(copy.deepcopy(layers), x).isnan()
    assert expected.any()
    assert torch.equal(norm_relu_conv(x, layers).isnan(), expected)


def test_a_single_number_is_refused():
    with pytest.raises(RuntimeError, match="a batch of one number has no variance"):
        norm_relu_conv(random(1, 1, 4, 1, 1), chain([4, 4], [1]))


@pytest.mark.parametrize("shortcut", ["pad", "project", "pool"])
def test_a_network_trains_alike_with_and_without_the_step(shortcut):
    made = network(dataclasses.replace(CONV, shortcut=shortcut)).train()
    x = random(1, 6, 1, 8, 8)
    both = [made, copy.deepcopy(made)]
    both[0](x).square().sum().backward()
    with native.left_out():
        both[1](x).square().sum().backward()
    for p, q in zip(*(each.parameters() for each in both), strict=True):
        assert torch.allclose(p.grad, q.grad, rtol=1e-8, atol=1e-9)
    for p, q in zip(*(each.buffers() for each in both), strict=True):
        assert torch.allclose(p, q)


@pytest.fixture
def calls(monkeypatch):
    """What the step is asked to add, call by call."""
    seen = []

    def watched(x, layers, s=None):
        seen.append(s)
        return norm_relu_conv(x, layers, s)

    monkeypatch.setattr(transforms, "norm_relu_conv", watched)
    return seen


@pytest.mark.parametrize(
    ("T", "C", "summed"),
    [("constant", "constant", 6), ("scalar", "constant", 0), ("sigmoid", "coupled", 0)],
)
def test_every_block_takes_the_step_and_with_its_sum_where_gates_are_1(calls, T, C, summed):
    """In training; never in evaluation, in which probes look at gates and at what they are given."""
    made, x = network(CONV, GateChoice(T), GateChoice(C)), random(1, 5, 1, 8, 8)
    made.train()(x)
    assert len(calls) == 6
    assert sum(s is not None for s in calls) == summed
    made.eval()(x)
    assert len(calls) == 6


def test_blocks_that_the_step_does_not_know_leave_it(calls):
    """Several seeds, dropout, a map with a bias, half precision, and a block that is closed."""
    x = random(2, 5, 1, 8, 8)
    network(CONV, replicas=2).train()(x)
    for body in (
        dataclasses.replace(CONV, dropout=0.3),
        dataclasses.replace(CONV, norm=Norm(kind="none")),
    ):
        network(body).train()(x[:1])
    with torch.autocast("cpu", torch.bfloat16):
        network(CONV).float().train()(x[:1].float())
    assert not calls
    made = network(CONV).train()
    for block in made.blocks:
        block.T.shut = (True,)
    made(x[:1])
    assert not calls
