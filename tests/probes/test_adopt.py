"""Networks from elsewhere: any module, given the list of its blocks."""

import copy
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from torchvision.models import resnet18

from skipgate.probes import PROBES, Images, Probes, Subject, adopt
from skipgate.probes.walk import in_states, outputs
from skipgate.settings import PathSampling, Pruning, Shuffling
from tests.toys import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "resnet18.py"
SETTINGS = Probes(prune=Pruning(1, 4), shuffle=Shuffling(4), paths=PathSampling(2, 4))


@pytest.fixture(scope="module")
def parts():
    torch.manual_seed(0)
    model = resnet18(num_classes=10, weights=None).double()
    with torch.no_grad():  # statistics that are not 0 and 1, as a trained network has
        model.train()(torch.rand(8, 3, 32, 32, dtype=torch.float64))
    blocks = [
        block
        for stage in (model.layer1, model.layer2, model.layer3, model.layer4)
        for block in stage
    ]
    shortcuts = {
        i: nn.Sequential(b.downsample, nn.ReLU())
        for i, b in enumerate(blocks)
        if b.downsample is not None
    }
    x = torch.rand(12, 3, 32, 32, dtype=torch.float64)
    return model.eval(), blocks, shortcuts, x


@pytest.fixture
def subject(parts):
    model, blocks, shortcuts, x = parts
    images = Images(x, model(x).argmax(1))
    return Subject(adopt(model, blocks, x[:2], shortcuts), images, 5, images)


def test_an_adopted_network_gives_what_its_module_gives(parts, subject):
    model, _, _, x = parts
    assert torch.equal(subject.network(x.unsqueeze(0))[0], model(x))
    assert [block.site.stage for block in subject.network.blocks] == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("place", [1, 2, 7])
def test_a_lesion_is_the_module_without_the_block(parts, subject, place):
    model, _, shortcuts, x = parts
    stages = [(name, int(i)) for name in ("layer1", "layer2", "layer3", "layer4") for i in range(2)]
    edited, (name, index) = copy.deepcopy(model), stages[place]
    getattr(edited, name)[index] = (
        copy.deepcopy(shortcuts[place]) if place in shortcuts else nn.Identity()
    )
    walk = in_states(torch.tensor([[int(i == place)] for i in range(8)]))
    ((_, output),) = outputs(subject.network, [walk], x.unsqueeze(0))
    found = output.main
    assert torch.allclose(found[0], edited(x))
    wrong = 100 * (edited(x).argmax(1) != subject.examples.y).double().mean()
    assert PROBES["lesion"](subject, SETTINGS)["without"][place] == pytest.approx([float(wrong)])


@pytest.mark.parametrize("name", [name for name in PROBES if name not in ("identity", "words")])
def test_every_probe_takes_it_and_leaves_it_as_it_was(parts, subject, name):
    model, blocks, *_ = parts
    before = {key: value.clone() for key, value in model.state_dict().items()}
    assert PROBES[name](subject, SETTINGS)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert not any(
        "forward" in vars(block) or block._forward_hooks or block._forward_pre_hooks
        for block in blocks
    )


def test_an_exception_in_the_head_leaves_the_blocks_as_they_were(parts, subject):
    model, blocks, *_ = parts
    handle = model.fc.register_forward_pre_hook(lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    try:
        with pytest.raises(KeyboardInterrupt):
            PROBES["lesion"](subject, SETTINGS)
    finally:
        handle.remove()
    assert not any("forward" in vars(block) for block in blocks)


def test_modes_are_left_part_by_part(parts):
    model, blocks, shortcuts, x = parts
    blocks[0].bn1.train()
    try:
        subject = Subject(
            adopt(model, blocks, x[:2], shortcuts), Images(x, torch.zeros(12).long()), 5
        )
        assert [module for module in model.modules() if module.training] == [blocks[0].bn1]
        PROBES["lesion"](subject, SETTINGS)
        assert [module for module in model.modules() if module.training] == [blocks[0].bn1]
    finally:
        model.eval()


def test_operations_are_those_of_the_module(parts, subject):
    model, *_, x = parts
    with FlopCounterMode(display=False) as counter:
        model(x[:1])
    downsampling = sum(
        2 * a * b * size**2 for a, b, size in ((64, 128, 4), (128, 256, 2), (256, 512, 1))
    )
    # An adopted block computes its shortcut beside itself.
    assert (
        PROBES["speed"](subject, SETTINGS)["flops"][0] == counter.get_total_flops() + downsampling
    )


@pytest.mark.parametrize("name", ["lesion", "estimation", "prune", "paths"])
def test_blocks_that_work_in_place_are_probed_as_others(name):
    torch.manual_seed(1)
    layers = [(nn.Linear(6, 6), nn.Linear(6, 6)) for _ in range(4)]
    first, last = nn.Linear(5, 6), nn.Linear(6, 3)
    found = []
    for inplace in (False, True):
        blocks = [nn.Sequential(nn.ReLU(inplace=inplace), *pair) for pair in layers]
        module = nn.Sequential(first, *blocks, nn.ReLU(inplace=inplace), last).eval()
        x = torch.rand(30, 5, generator=torch.Generator().manual_seed(2))
        images = Images(x, torch.arange(30) % 3)
        found.append(
            PROBES[name](Subject(adopt(module, blocks, x[:2]), images, 7, images), SETTINGS)
        )
    assert found[0] == found[1]


def test_layers_with_optional_arguments_are_blocks_too():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()
    module = nn.Sequential(encoder, nn.Flatten(), nn.Linear(5 * 8, 4)).eval()
    x = torch.rand(6, 5, 8)
    subject = Subject(adopt(module, list(encoder.layers), x[:2]), Images(x, module(x).argmax(1)), 3)
    assert PROBES["lesion"](subject, SETTINGS)["whole"] == [0.0]


class Forked(nn.Module):
    """Two blocks that both see the input."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.a(x) + self.b(x)


class TwoInputs(nn.Module):
    """A block of two tensors."""

    def __init__(self):
        super().__init__()
        self.a = nn.Bilinear(4, 4, 4)

    def forward(self, x):
        return self.a(x, x.flip(0))


def test_blocks_that_are_no_chain_are_refused(parts):
    model, blocks, shortcuts, x = parts
    with pytest.raises(
        ValueError, match=r"block 2 turns .* into .*; say in shortcuts\[2\] what it is when closed"
    ):
        adopt(model, blocks, x[:2])
    with pytest.raises(
        ValueError,
        match=r"runs the 2 blocks in the order \[1, 0\]; each must run once, in the order given",
    ):
        adopt(model, [blocks[1], blocks[0]], x[:2], shortcuts)
    with pytest.raises(ValueError, match="the blocks do not follow one another"):
        adopt(forked := Forked(), [forked.a, forked.b], torch.rand(3, 4))
    with pytest.raises(
        ValueError, match="block 0 must take one tensor, as its first argument, and give one"
    ):
        adopt(paired := TwoInputs(), [paired.a], torch.rand(3, 4))
    with pytest.raises(ValueError, match="not finite"):
        adopt(chain := nn.Sequential(nn.Linear(4, 4)), [chain[0]], torch.full((3, 4), torch.nan))
    with pytest.raises(ValueError, match="blocks is empty"):
        adopt(model, [], x[:2])
    assert not any(block._forward_hooks for block in blocks)


def test_the_example_runs_and_is_short():
    assert len(EXAMPLE.read_text().splitlines()) < 30
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "lesion",
        "shuffle",
        "estimation",
    ]
    assert '"whole": [0.0]' in done.stdout
