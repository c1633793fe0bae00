"""The digest changes with the behaviour, with nothing else, and the committed specs belong to the code."""

import dataclasses
import json

import pytest
import torch

from skipgate import behaviour, params, paths
from skipgate.files import write_json
from skipgate.nets.gates.scalar import Scalar
from skipgate.nets.transforms import Post
from skipgate.settings import Augment, Decay, FixedPixels, Nadam, Pruning, Source, Window
from tests.toys import ROOT


@pytest.fixture
def settings(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # no committed trace to settle on
    return params.load(ROOT / "params.yaml")


def digests(settings, net):
    train, probe = behaviour.specify(settings, net)
    return train["digest"], probe["digests"]


@pytest.mark.parametrize("net", params.load(ROOT / "params.yaml").nets)
def test_the_committed_spec_belongs_to_the_code(net, monkeypatch):
    monkeypatch.chdir(ROOT)
    train, probe = behaviour.specify(params.load(), net)
    assert train == json.loads((ROOT / "specs" / f"{net}.json").read_text())
    assert probe == json.loads((ROOT / "specs" / "probes" / f"{net}.json").read_text())


@pytest.mark.parametrize("net", ["plain-50", "gated-50", "highway-10", "conv-epsilon"])
def test_the_digest_does_not_depend_on_threads_and_the_trace_is_the_committed_one(settings, net):
    committed = json.loads((ROOT / "specs" / f"{net}.json").read_text())
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(behaviour.specify(settings, net)[0])
    finally:
        torch.set_num_threads(before)
    assert found[0]["digest"] == found[1]["digest"]
    for key in ("parameters", "structure", "settings"):
        assert found[0][key] == committed[key]
    assert behaviour._close(found[0]["behaviour"], committed["behaviour"])


CHANGES = {
    "rate": {"optimiser": Nadam("nadam", rate=0.003)},
    "epochs": {"epochs": 21},
    "decay": {"decay": Decay(0.1)},
    "augmentation": {"augment": Augment(pad=1)},
    "brightness": {"augment": Augment(brightness=1)},
    "contrast": {"augment": Augment(contrast=0.2)},
    "a window": {"augment": Augment(window=Window((0.2, 1)))},
    "pixels": {"pixels": "centred-128"},
    "fixed pixels": {"pixels": FixedPixels(deviation=(2.0,))},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_recipe_changes_the_nets_that_use_it(settings, change):
    recipe = dataclasses.replace(settings.recipes["digits-dense"], **change)
    changed = dataclasses.replace(settings, recipes={**settings.recipes, "digits-dense": recipe})
    assert digests(settings, "gated-2")[0] != digests(changed, "gated-2")[0]
    assert digests(settings, "conv-gated") == digests(changed, "conv-gated")


def test_a_changed_depth_shows_though_the_twin_is_the_same(settings):
    changed = dataclasses.replace(
        settings,
        bodies={
            **settings.bodies,
            "mlp-10": dataclasses.replace(settings.bodies["mlp-10"], depth=12),
        },
    )
    a, b = (behaviour.specify(s, "gated-10")[0] for s in (settings, changed))
    assert a["behaviour"] == b["behaviour"]
    assert a["digest"] != b["digest"]
    assert b["parameters"] - a["parameters"] == 2 * (50 * 50 + 50 + 2 * 50) + 1


def test_changed_code_of_a_gate_changes_its_nets_only(settings, monkeypatch):
    before = {net: digests(settings, net)[0] for net in ("gated-10", "residual-10")}
    original = Scalar.forward
    monkeypatch.setattr(
        Scalar, "forward", lambda self, x, f, t=None: 1.01 * original(self, x, f, t)
    )
    after = {net: digests(settings, net)[0] for net in before}
    assert before["residual-10"] == after["residual-10"]
    assert before["gated-10"] != after["gated-10"]


def test_a_changed_default_of_a_gate_shows_even_where_it_does_nothing(settings, monkeypatch):
    from skipgate.nets.gates.epsilon import Epsilon

    before = digests(settings, "conv-epsilon")[0]
    original = Epsilon.__init__

    def changed(self, slot, epsilon: float = 2.0, over: str = "batch", steep: float = 2000000.0):
        original(self, slot, epsilon, over, steep)

    monkeypatch.setattr(Epsilon, "__init__", changed)
    assert digests(settings, "conv-epsilon")[0] != before


def test_renamed_attributes_change_nothing(settings, monkeypatch):
    before = digests(settings, "gated-10")

    class Renamed(Post):
        """The same transform whose parts have other names."""

        def __init__(self, affines, norm, ending):
            super().__init__(affines, norm, ending)
            self.maps, self.normalisers = self.affines, self.norms
            del self.affines, self.norms

        def forward(self, x, shut=None):
            for i, (affine, norm) in enumerate(zip(self.maps, self.normalisers, strict=True)):
                x = norm(affine(x), shut)
                x = torch.relu(x) if self.last_relu or i + 1 < len(self.maps) else x
            return x

    monkeypatch.setattr("skipgate.nets.transforms.Post", Renamed)
    assert digests(settings, "gated-10") == before


def test_changed_probe_settings_change_the_probe_digest_only(settings):
    usual = dataclasses.replace(settings.probes["usual"], prune=Pruning(orders=4))
    changed = dataclasses.replace(settings, probes={**settings.probes, "usual": usual})
    a, b = digests(settings, "gated-10"), digests(changed, "gated-10")
    assert a[0] == b[0]
    assert {kind for kind in a[1] if a[1][kind] != b[1][kind]} == {"prune"}


def test_the_digest_of_a_timed_probe_feels_all_but_its_seconds(settings, monkeypatch):
    before = digests(settings, "gated-10")[1]
    assert digests(settings, "gated-10")[1] == before
    monkeypatch.setattr(
        "skipgate.probes.speed._flops", lambda subject, x: [7] * (len(subject.network.blocks) + 1)
    )
    after = digests(settings, "gated-10")[1]
    assert {kind for kind in before if before[kind] != after[kind]} == {"speed"}


def test_a_setting_that_is_new_renames_no_net_and_a_default_that_changed_does(
    settings, tmp_path, monkeypatch
):
    """The committed spec is of a time before `images` existed, and then of a time when its default was another."""
    monkeypatch.chdir(tmp_path)
    before, _ = behaviour.specify(settings, "gated-10")
    file = paths.spec_file("gated-10")
    for old, same in (({}, True), ({"images": 0}, True), ({"images": 7}, False)):
        recipe = {**{k: v for k, v in before["settings"]["recipe"].items() if k != "images"}, **old}
        write_json(
            file,
            {**before, "digest": "f" * 16, "settings": {**before["settings"], "recipe": recipe}},
        )
        assert (behaviour.specify(settings, "gated-10")[0]["digest"] == "f" * 16) is same


def test_rounding_noise_keeps_the_committed_trace():
    trace = {"loss": [[1.23456, None]], "norms": [2.0]}
    assert behaviour._close(trace, {"loss": [[1.23457, None]], "norms": [2.0]})
    assert not behaviour._close(trace, {"loss": [[1.2346, None]], "norms": [2.001]})
    assert not behaviour._close(trace, {"loss": [[1.23456, 1.0]], "norms": [2.0]})


def test_neither_seeds_nor_the_stack_nor_a_source_rename_a_net(settings):
    net = dataclasses.replace(settings.nets["gated-10"], seeds=6, stack=1)
    sources = {**settings.sources, "digits": Source("digits", package="moved@2.0.0")}
    nets = {**settings.nets, "gated-10": net}
    changed = dataclasses.replace(settings, nets=nets, sources=sources)
    a, b = (behaviour.specify(s, "gated-10")[0] for s in (settings, changed))
    assert (a.pop("seeds"), b.pop("seeds")) == (5, 6)
    assert (a.pop("stack"), b.pop("stack")) == (5, 1)
    assert a == b


def test_other_content_renames_every_net_that_learns_it(settings):
    content = dataclasses.replace(settings.data["digits"], sha256="0" * 64)
    changed = dataclasses.replace(settings, data={**settings.data, "digits": content})
    assert digests(settings, "gated-10")[0] != digests(changed, "gated-10")[0]
    assert digests(settings, "mnist-gated-10") == digests(changed, "mnist-gated-10")
