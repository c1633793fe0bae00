"""Every net on a GPU that is not there: no tensor is left on the CPU, and the host never waits.

PyTorch's fake tensors have a device and no content. An operation on tensors of two devices raises,
and so does whatever asks for a value, which on a real GPU would wait for all that comes before it.
A language model does wait, once a batch: for how many distinct words it has
(docs/decisions/0016-reading.md). Fake tensors take all words for distinct, in training; in
evaluation it also asks which of them it has met.
"""

import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from skipgate import params
from skipgate.nets.gates.survival import Survival
from skipgate.nets.network import Network
from skipgate.settings import GateChoice, Language, Resnet
from skipgate.specs import Settings, resolve
from skipgate.streams import streams
from skipgate.tasks import task_of
from skipgate.training.loop import build_for
from tests.toys import CONV, ONE, ROOT, toy_settings, unlike

REPLICAS = 2
PARAMS = params.load(ROOT / "params.yaml")


def drawn(network: Network) -> None:
    """What random parts draw for a batch; blocks are dropped in one replica of the two."""
    for part in network.drawing:
        if isinstance(part, Survival):
            part.dropped = (True, False)
        else:
            part.draw(streams(range(REPLICAS), part.purpose))


def batch(settings: Settings) -> torch.Tensor:
    """A few examples without content."""
    if isinstance(settings.data, Language):
        x, _ = task_of(settings.data).blank(settings.training)
        return x.expand(REPLICAS, *x.shape[1:])
    return torch.empty(REPLICAS, 3, *settings.data.shape)


def outputs(settings: Settings) -> list[torch.Tensor]:
    """One batch in training and one in evaluation, inside `FakeTensorMode`."""
    modes = (True,) if isinstance(settings.data, Language) else (True, False)
    with torch.device("cuda"):
        network = build_for(settings, REPLICAS)
        x = batch(settings)
    drawn(network)
    # cuDNN's LSTM asks the driver, which is not there; without it the same operations come in parts.
    with torch.backends.cudnn.flags(enabled=False):
        return [network.train(mode)(x) for mode in modes]


@pytest.mark.parametrize("name", unlike(PARAMS))
def test_every_net_runs_on_a_gpu_without_waiting(name):
    settings = resolve(PARAMS, name)
    with FakeTensorMode():
        for y in outputs(settings):
            assert y.device.type == "cuda"
            assert y.shape[0] == REPLICAS
            assert y.shape[-1] == settings.data.outputs


SHARED = Resnet("resnet", 3, width=4, share=("maps", "gates"))
OTHERS = {
    "shared": (SHARED, GateChoice("pointwise"), ONE),
    "shared-survival": (SHARED, GateChoice("survival"), GateChoice("sigmoid")),
}


@pytest.mark.parametrize("family", OTHERS.values(), ids=OTHERS)
def test_bodies_that_no_net_has_yet_run_so_too(family):
    with FakeTensorMode():
        assert all(y.device.type == "cuda" for y in outputs(toy_settings(*family)))


@pytest.mark.parametrize("wrong", [lambda h: h if h.sum() > 0 else -h, lambda h: h + torch.ones(1)])
def test_what_waits_or_stays_on_the_cpu_is_noticed(monkeypatch, wrong):
    monkeypatch.setattr(Network, "follow", lambda _, h, *__: wrong(h))
    with FakeTensorMode(), pytest.raises((DataDependentOutputException, RuntimeError)):
        outputs(toy_settings(CONV))
