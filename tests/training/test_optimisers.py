"""Flat parameters must train as separate ones do, and NAdam must be Keras's."""

import pytest
import torch

from skipgate.settings import Decay, GateChoice, Nadam, Sgd
from skipgate.tasks import task_of
from skipgate.training.stack import optimiser
from tests.toys import MLP, ONE, TOY, images, network


@pytest.mark.parametrize("kind", ["nadam", "sgd"])
def test_flat_steps_equal_separate_steps(kind):
    x, y = images(8), torch.arange(8).view(1, 8)
    results = []
    for flat in (True, False):
        made = network(MLP, GateChoice("scalar"), ONE)
        if flat:
            stepper = optimiser(
                made,
                Nadam("nadam") if kind == "nadam" else Sgd("sgd", 0.1),
                Decay(0.01, True, True, True),
            )
        elif kind == "nadam":
            stepper = torch.optim.NAdam(made.parameters(), 0.002, weight_decay=0.01)
        else:
            stepper = torch.optim.SGD(made.parameters(), 0.1, 0.9, weight_decay=0.01, nesterov=True)
        for _ in range(5):
            stepper.zero_grad(set_to_none=not flat)
            task_of(TOY).losses(made(x), y).sum().backward()
            stepper.step()
        results.append([p.detach().clone() for p in made.parameters()])
    assert all(torch.allclose(a, b, rtol=1e-9) for a, b in zip(*results, strict=True))


def test_nadam_is_keras_of_2016():
    """Keras 1: momentum schedule b1 (1 - 0.5 * 0.96 ** (t * 0.004)), bias-corrected, epsilon outside the root."""
    made = network(MLP)
    stepper = optimiser(made, Nadam("nadam"), Decay())
    weight = made.stem[1].weight
    p, m, v, product = weight.detach().clone(), 0.0, 0.0, 1.0
    b1, b2, rate = 0.9, 0.999, 0.002
    for t in range(1, 6):
        g = torch.sin(torch.arange(weight.numel(), dtype=torch.float64) + t).view(weight.shape)
        weight.grad.copy_(g)
        stepper.step()
        now, later = (b1 * (1 - 0.5 * 0.96 ** (s * 0.004)) for s in (t, t + 1))
        product *= now
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        step = (1 - now) * g / (1 - product) + later * m / (1 - product * later)
        p -= rate * step / ((v / (1 - b2**t)).sqrt() + 1e-8)
    assert torch.allclose(weight, p, rtol=1e-10)
