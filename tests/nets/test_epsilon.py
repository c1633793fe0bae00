"""The gate of epsilon-ResNet: Equation 3, in every precision, and what it passes back."""

import pytest
import torch

from skipgate.nets import gates
from skipgate.nets.gate import Slot
from skipgate.settings import GateChoice
from tests.toys import CONV, images, network

FINITE = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
EVERY = FINITE[FINITE.isfinite()]
"""All numbers that bfloat16 has."""
precisions = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])


def gate(replicas=1, **settings):
    return gates.make(
        GateChoice("epsilon", settings), Slot(replicas, 0, 1, lambda: None), "T", "net"
    )


@precisions
@pytest.mark.parametrize("epsilon", [0.1, 1.5, 1.8, 2.1, 2.5])
def test_every_number_of_bfloat16_is_judged_by_equation_3(dtype, epsilon):
    """0.1 rounds up in bfloat16, where the response next above it would else not count."""
    f = EVERY.to(dtype).view(1, -1, 1)
    t = gate(epsilon=epsilon, over="sample")(f, f)
    assert t.dtype == dtype
    assert torch.equal(t, (f.double().abs() > epsilon).to(dtype))


@precisions
@pytest.mark.parametrize("over", ["batch", "sample"])
def test_random_responses_and_those_at_epsilon(dtype, over):
    f = torch.randn(2, 64, 3, 2, 2, generator=torch.Generator().manual_seed(0)).to(dtype)
    f[0, ::2] = f[0, ::2].clamp(-1.5, 1.5)
    f[1] = f[1].clamp(-1.5, 1.5)
    f[1, 0, 0, 0] = torch.tensor([1.5, -1.5], dtype=dtype)
    axes = (1, 2, 3, 4) if over == "batch" else (2, 3, 4)
    expected = (f.abs() > 1.5).to(dtype).amax(axes, keepdim=True)
    t = gate(2, epsilon=1.5, over=over)(f, f)
    assert torch.equal(t.expand_as(f) * f, expected * f)
    assert not t[1].any(), "at epsilon itself the ReLUs say 0"
    assert t[0].any()


def test_float16_has_no_million():
    f = torch.tensor([[[0.5], [3.0]]], dtype=torch.float16)
    assert gate(epsilon=2.0, over="sample")(f, f).flatten().tolist() == [0, 1]


@precisions
@pytest.mark.parametrize(("largest", "passed"), [(2.0, 1.0), (1.0, 0.0), (1.5, 0.0)])
def test_the_gradient_is_fs_own_when_open_and_none_when_shut(dtype, largest, passed):
    f = torch.tensor([[[0.25], [-largest]]], dtype=dtype, requires_grad=True)
    t = gate(epsilon=1.5)(f, f)
    (t * f).sum().backward()
    assert f.grad.flatten().tolist() == [passed, passed]


def test_a_gate_remembers_in_training_whether_it_was_open():
    made = network(CONV, GateChoice("epsilon", {"epsilon": 0.1}), replicas=2)
    watched = [block.T.opened for block in made.blocks]
    made.eval()(images(4, 2))
    assert not torch.stack(watched).any()
    made.train()(images(4, 2))
    assert torch.stack(watched).all()
    assert not any(name.endswith("opened") for name in made.state_dict())
    assert network(CONV).blocks[0].T.opened is None


def test_nan_counts_as_open():
    made = gate(epsilon=2.0)
    made(torch.zeros(1), torch.tensor([[[float("nan")]]]))
    assert made.opened.tolist() == [True]
