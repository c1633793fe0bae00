"""Nets that need a GPU, at their full size, on the CPU and a few examples in the official form.

Of many that are alike, one stands for the others: `tests.toys.unlike`.
"""

import math
from dataclasses import replace

import pytest
import torch

from skipgate import params, paths
from skipgate.data import streamed
from skipgate.data.fetching import fetch
from skipgate.files import write_atomically
from skipgate.nets.network import parameter_count
from skipgate.nets.surgery import removable
from skipgate.nets.weights import to_list
from skipgate.probes.run import Probing
from skipgate.settings import Language
from skipgate.specs import ProbeSpec, Settings, Spec, resolve
from skipgate.tasks import task_of
from skipgate.training import checkpoints, models
from skipgate.training.device import prepare
from skipgate.training.loop import State, begin, run_epoch
from tests.official import MAKERS
from tests.toys import ROOT, least, unlike

PARAMS = params.load(ROOT / "params.yaml")
NETS = [net for net in unlike(PARAMS) if PARAMS.needs_gpu(net)]
FEW = 2
"""Examples of a batch, and of a test; of a text, rows."""
GENTLE = {"cifar-plain110": 1e-6, "imagenet-residual-50-no-norm": 1e-6}
"""Rates at which nets come out finite whose gradients explode at the start.

110 plain layers with batch normalisation have a gradient of 10^7 at the first one. Training does
not show it, as the scale of a normalised map is no matter, but running statistics stay behind what
a step makes of it. 50 layers without normalisation do not survive a step of 0.1.
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A project's folder with the data of all nets, fetched from made-up files; their settings."""
    folder = tmp_path_factory.mktemp("gpu-nets")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(streamed.WORKERS, "0")
        patch.chdir(folder)
        known = {}
        for name in {PARAMS.nets[net].data: None for net in NETS}:
            content, source = PARAMS.data[name], PARAMS.sources[name]
            known[name], source = MAKERS[name](folder / "mine", patch, (content, source))
            fetch(name, known[name], source, paths.data_folder(name))
        yield known


def brief(net: str, known) -> Settings:
    """A net as it is, but for two steps of a few made-up examples, on the CPU."""
    settings = resolve(PARAMS, net)
    optimiser = settings.training.optimiser
    recipe = replace(
        settings.training,
        device="cpu",
        batch=FEW,
        images=2 * few(settings),
        optimiser=replace(optimiser, rate=GENTLE.get(net, optimiser.rate)),
    )
    return replace(settings, recipe=recipe, data=known[PARAMS.nets[net].data])


def few(settings: Settings) -> int:
    """So many examples fill a small batch; those of a text are words, some to a row."""
    return FEW * (settings.training.steps or 1)


def trained(net: str, known) -> State:
    """After one epoch, and tested."""
    settings = brief(net, known)
    device = prepare(settings.recipe)
    state = begin(settings, [0], device)
    first = next(state.network.parameters())
    before = first.detach().clone()
    folder = paths.data_folder(PARAMS.nets[net].data)
    split = task_of(settings.data).load(folder, settings.recipe, device).used_by(settings.training)
    run_epoch(state, replace(split, test=split.test.first(few(settings))), 0)
    assert not torch.equal(first, before), "the first layer is reached by no gradient"
    return state


@pytest.mark.parametrize("net", NETS)
def test_it_trains_and_is_tested(net, home):
    state = trained(net, home)
    assert state.step == 2
    measure = state.settings.data.measure
    expected = {"train_loss", "test_loss", measure.key}
    if state.settings.training.score_training:
        expected.add(measure.training_key)
    if PARAMS.nets[net].data == "imagenet":
        expected.add("test_top5_error")
    if isinstance(state.settings.data, Language):
        expected.add(measure.validation_key)
    assert state.history.keys() == expected
    for name, ((value,),) in state.history.items():
        assert math.isfinite(value), name
        assert 0 <= value <= (math.inf if name.endswith("loss") else measure.bounds[1])


def test_training_errors_are_recorded_wherever_a_paper_has_them():
    """All but the lecture's network, of which there is only a test error, and language models."""
    nets = {net: resolve(PARAMS, net) for net in NETS}
    without = [
        net
        for net, settings in nets.items()
        if not settings.training.score_training and not isinstance(settings.data, Language)
    ]
    assert without == ["mnist-fleuret-whole"]


def one_of_every_body() -> list[str]:
    """Bodies as params.yaml has them; what a variation changes of one, its twin is probed with.

    Nets of which little is asked are left out.
    """
    found: dict[str, str] = {}
    for net in NETS:
        line = PARAMS.nets[net]
        if not line.base and "lesion" in PARAMS.probes[line.probes].kinds:
            found.setdefault(line.body, net)
    return list(found.values())


GREEDY = ("cifar-resnet5", "imagenet-plain-18")
"""Nets that are pruned greedily too: that takes a pass for every pair of blocks."""
OF_IMAGES = {"gates", "lesion", "prune", "shuffle", "estimation", "paths", "speed"}
RULES = ("smallest", "response", "greedy")
"""Orders of pruning that a net need not have."""


@pytest.mark.parametrize("net", one_of_every_body())
def test_it_can_be_probed(net, home):
    state = trained(net, home)
    line = PARAMS.nets[net]
    spec = Spec(net, line.study, line.data, state.settings, 1, "d", seeds=1, stack=1)
    weights = checkpoints.to_bytes({"tensors": [t[0].clone() for t in to_list(state.network)]})
    write_atomically(paths.model_file(line.study, net), models.pack("d", {0: weights}))
    settings = least(PARAMS.probes[line.probes], few(state.settings), greedy=net in GREEDY)
    probing = Probing(spec, ProbeSpec(settings, dict.fromkeys(settings.kinds, "p")))
    found = {kind: probing.result(kind) for kind in settings.kinds}
    is_text = isinstance(state.settings.data, Language)
    assert found.keys() >= ({"gates", "lesion", "words"} if is_text else OF_IMAGES)

    blocks = len(state.network.blocks)
    fixed = set(range(blocks)) - set(removable(state.network))
    without = found["lesion"].pop("without")
    assert {place for place, (score,) in enumerate(without) if score is None} == fixed
    assert len(found["gates"]["T"]) == blocks
    if not is_text:
        check_blocks(net, found, blocks, blocks - len(fixed))
        assert found["speed"]["parameters"][0] == parameter_count(state.network)
    for kind, result in found.items():
        assert result["seeds"] == [0]
        assert all(map(is_sound, leaves(result))), kind


def check_blocks(net: str, found, blocks: int, removable: int) -> None:
    """Of what is asked of networks of many blocks, that it has as many entries as it should."""
    prune = found["prune"]
    assert (prune["greedy"] is not None) == (net in GREEDY)
    found["prune"] = {k: v for k, v in prune.items() if v is not None or k not in RULES}
    assert len(prune["random"][0]) == removable + 1
    assert len(found["estimation"]["mean"]) == blocks
    assert len(found["shuffle"]["errors"]) == len(found["shuffle"]["swaps"])
    assert len(found["paths"]["norm"]) == found["paths"]["open"][0] + 1


def leaves(value):
    """All that stands in lists and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        yield value
        return
    for part in value:
        yield from leaves(part)


def is_sound(value) -> bool:
    """A word, or a number; what is not a number was recorded as None."""
    return isinstance(value, str) or (value is not None and math.isfinite(value))
