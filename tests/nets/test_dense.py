"""The compiled steps against the same steps one PyTorch operation at a time."""

import copy
import itertools

import pytest
import torch

from skipgate.nets import dense, native
from skipgate.nets.dense import dot_norm_relu, gated_sum
from skipgate.nets.layers import BatchNorm, Linear
from skipgate.settings import Decay, GateChoice, Mlp, Nadam, Norm
from skipgate.training.loop import begin, run_epoch
from skipgate.training.stack import optimiser
from tests.toys import CONV, MLP, ONE, network, toy_settings

DIE = torch.Generator().manual_seed(7)


def random(*shape):
    return torch.randn(*shape, generator=DIE, dtype=torch.float64)


@pytest.fixture(autouse=True)
def compiled():
    assert native.available()


@pytest.mark.parametrize("last_relu", [True, False])
@pytest.mark.parametrize("widths", [(5, 4), (5, 4, 6), (4, 4, 4, 4)])
def test_dot_norm_relu_is_its_parts_in_value_gradient_and_running_statistics(widths, last_relu):
    layers = [
        (Linear(3, a, b).double(), BatchNorm(3, b, Norm(0.3, 0.01)).double())
        for a, b in itertools.pairwise(widths)
    ]
    ours = torch.nn.ModuleList(itertools.chain.from_iterable(layers))
    with torch.no_grad():
        for p in ours.parameters():
            p.copy_(random(*p.shape))
    theirs = copy.deepcopy(ours)
    x, weight = random(3, 7, widths[0]), random(3, 7, widths[-1])
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    values = [dot_norm_relu(inputs[0], layers, last_relu=last_relu), inputs[1]]
    for i in range(0, len(theirs), 2):
        y = theirs[i + 1](theirs[i](values[1]))
        values[1] = torch.relu(y) if last_relu or i + 2 < len(theirs) else y
    for y in values:
        (y * weight).sum().backward()
    assert torch.allclose(*values)
    assert torch.allclose(inputs[0].grad, inputs[1].grad)
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        if p.grad is None:
            assert name.endswith("bias"), "batch normalisation takes the bias away"
            assert q.grad.abs().max() < 1e-12
        else:
            assert torch.allclose(p.grad, q.grad), name
    assert all(torch.allclose(a, b) for a, b in zip(ours.buffers(), theirs.buffers(), strict=True))


def test_what_is_no_number_stays_so():
    linear, norm = Linear(1, 2, 2).double(), BatchNorm(1, 2, Norm()).double()
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[[1.0, 0.0], [torch.nan, 0.0]]]))
        linear.bias.zero_()
    y = dot_norm_relu(random(1, 5, 2), [(linear, norm)], last_relu=True)
    assert y[0, :, 0].isfinite().all()
    assert y[0, :, 1].isnan().all()


@pytest.mark.parametrize("gates", [(3, 1, 1), (3, 7, 4)], ids=["one a replica", "one each"])
def test_gated_sum_is_the_equation_and_its_gradient(gates):
    t, c, f, s = random(*gates), random(*gates), random(3, 7, 4), random(3, 7, 4)
    assert torch.autograd.gradcheck(gated_sum, [v.clone().requires_grad_() for v in (t, f, c, s)])
    assert torch.allclose(gated_sum(t, f, c, s), t * f + c * s)
    assert torch.allclose(
        gated_sum(t.mT.contiguous().mT, f, c, s.mT.contiguous().mT), t * f + c * s
    )


def test_gated_sum_takes_an_open_shortcut_and_leaves_other_gates_to_their_parts():
    t, f, s = random(3, 1, 1), random(3, 7, 4), random(3, 7, 4)
    assert torch.allclose(gated_sum(t, f, 1.0, s), t * f + s)
    assert gated_sum(random(3, 7, 4), f, t, s) is None
    assert gated_sum(random(3, 7, 1), f, 1.0, s) is None
    assert gated_sum(random(3, 7, 4), f, 1.0, s) is None


def test_compiled_nadam_is_pytorchs():
    made = network(MLP)
    ours, theirs = (copy.deepcopy(made) for _ in range(2))
    stepper = optimiser(
        ours, Nadam("nadam", rate=0.01), Decay(0.01, gates=True, biases=True, norms=True)
    )
    reference = torch.optim.NAdam(theirs.parameters(), 0.01, weight_decay=0.01)
    for _ in range(4):
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            b.grad = random(*b.shape)
            a.grad.copy_(b.grad)
        stepper.step()
        reference.step()
    assert all(
        torch.allclose(a, b, rtol=1e-12)
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True)
    )


def test_training_without_a_compiler_gives_the_same_numbers_to_rounding(split, monkeypatch):
    settings = toy_settings(Mlp("mlp", depth=4, width=6), GateChoice("scalar"), ONE)
    histories = []
    for compiler in ("g++", "no-such-compiler"):
        native.loaded.cache_clear()
        monkeypatch.setenv("CXX", compiler)
        if compiler != "g++":
            with pytest.warns(
                UserWarning,
                match=r"training runs slower, as native\.cpp did not compile: .*no-such-compiler",
            ):
                assert not native.available()
        else:
            assert native.available()
        state = begin(settings, range(2), torch.device("cpu"))
        run_epoch(state, split, 0)
        histories.append(state.history)
    native.loaded.cache_clear()
    ours, theirs = histories
    assert torch.tensor(ours["train_loss"]).allclose(torch.tensor(theirs["train_loss"]), rtol=1e-5)
    # In the parts a bias before batch normalisation drifts on rounding noise, which running means
    # follow late.
    assert torch.tensor(ours["test_loss"]).allclose(torch.tensor(theirs["test_loss"]), rtol=1e-3)


def test_the_compiled_step_is_the_one_that_trains(monkeypatch):
    """A network of Dot-BN-ReLU layers goes through it in training, and never in evaluation."""
    calls = []
    monkeypatch.setattr(
        "skipgate.nets.transforms.dot_norm_relu",
        lambda *a, **k: calls.append(1) or dense.dot_norm_relu(*a, **k),
    )
    made, x = network(MLP), random(1, 5, 1, 8, 8)
    made.train()(x)
    assert len(calls) == len(made.blocks)
    made.eval()(x)
    assert len(calls) == len(made.blocks)


@pytest.mark.parametrize(
    ("body", "replicas", "taken"),
    [(MLP, 1, True), (MLP, 3, True), (CONV, 1, True), (CONV, 3, False)],
)
def test_a_run_records_whether_compiled_steps_were_taken(body, replicas, taken):
    chain = network(body, replicas=replicas).chain
    assert dense.compiled(chain) == taken
    with native.left_out():
        assert not dense.compiled(chain)
