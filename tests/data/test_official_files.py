"""CIFAR-100 and SVHN, which are known by the MD5 of their official files."""

import dataclasses
import functools
import http.server
import json
import threading

import numpy as np
import pytest
import torch

from skipgate import params
from skipgate.data import raw
from skipgate.data.fetching import content_hash, fetch
from skipgate.data.images import NAMES, load
from skipgate.data.sources import cifar100, svhn
from skipgate.files import Problem
from skipgate.settings import Classify, Source
from skipgate.specs import Spec
from skipgate.training import vault
from skipgate.training.job import train
from tests import official
from tests.archives import md5, svhn_part
from tests.official import put, some
from tests.registries import tarred
from tests.toys import CONV, ROOT, toy_settings

NOWHERE = "http://127.0.0.1:9/"
SOURCES = {"cifar100": Source("cifar100"), "svhn": Source("svhn")}


def content_of(files, classes, counts):
    known = {name: md5(content) for name, content in files.items()}
    shape = (3, 32, 32)
    return Classify("classify", shape, classes, 255, counts[1], md5=known, train=counts[0])


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch):
    monkeypatch.delenv(raw.FOLDER, raising=False)
    monkeypatch.setattr(cifar100, "mirror", lambda: NOWHERE)
    monkeypatch.setattr(svhn, "mirror", lambda _: NOWHERE)


@pytest.fixture
def hundred():
    """Three classes in two batches: files, what they are known by, and what they hold."""
    files, held = official.hundred(3, (12, 6))
    return files, content_of(files, 3, (12, 6)), held


@pytest.fixture
def numbers():
    """The same for SVHN: a training set of 20 and 30 images, and a test set of 10."""
    train, extra, test = some(20, 10, 3), some(30, 10, 4), some(10, 10, 5)
    files = {
        "train_32x32.mat": svhn_part(*train),
        "extra_32x32.mat": svhn_part(*extra),
        "test_32x32.mat": svhn_part(*test),
    }
    images, labels = (np.concatenate(pair) for pair in zip(train, extra, strict=True))
    held = dict(zip(NAMES, (images, labels, *test), strict=True))
    return files, content_of(files, 10, (50, 10)), held


def fetched(name, content, folder):
    fetch(name, content, SOURCES[name], folder)
    return {array: np.load(folder / f"{array}.npy") for array in NAMES}


def same(found, wanted):
    return all(np.array_equal(found[name], wanted[name]) for name in NAMES)


def served(folder):
    """A mirror that can be reached."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_cifar100_is_the_same_unpacked_as_the_archive_and_from_the_mirror(
    tmp_path, monkeypatch, hundred
):
    files, content, held = hundred
    archive = tarred({f"cifar-100-python/{name}": c for name, c in files.items()})
    put(tmp_path / "a", monkeypatch, "cifar100/cifar-100-python", files)
    assert same(fetched("cifar100", content, tmp_path / "out-a"), held)
    put(tmp_path / "b", monkeypatch, "cifar100", {"cifar-100-python.tar.gz": archive})
    assert same(fetched("cifar100", content, tmp_path / "out-b"), held)
    monkeypatch.delenv(raw.FOLDER)
    server = served(tmp_path / "b" / "cifar100")
    address = f"http://127.0.0.1:{server.server_port}/cifar-100-python.tar.gz"
    monkeypatch.setattr(cifar100, "mirror", lambda: address)
    assert same(fetched("cifar100", content, tmp_path / "out-c"), held)
    server.shutdown()


def test_svhn_is_train_and_extra_and_the_digit_0_is_0(tmp_path, monkeypatch, numbers):
    files, content, held = numbers
    put(tmp_path, monkeypatch, "svhn", files)
    found = fetched("svhn", content, tmp_path / "out")
    assert same(found, held)
    assert found["train_labels"].min() == 0
    assert found["train_labels"].max() == 9
    monkeypatch.delenv(raw.FOLDER)
    server = served(tmp_path / "svhn")
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(svhn, "mirror", lambda part: f"{address}/{part}_32x32.mat")
    assert same(fetched("svhn", content, tmp_path / "by-mirror"), held)
    server.shutdown()


def cut(files):
    return {**files, "extra_32x32.mat": files["extra_32x32.mat"][:-9]}


def swapped(files):
    return {**files, "train_32x32.mat": files["test_32x32.mat"]}


def without(files):
    return {name: content for name, content in files.items() if name != "extra_32x32.mat"}


@pytest.mark.parametrize(
    ("change", "folder", "reason"),
    [
        (cut, "svhn", r"your folder: extra_32x32\.mat is cut or altered; mirror: .*refused"),
        (swapped, "svhn", r"your folder: train_32x32\.mat is a copy of test_32x32\.mat"),
        (without, "svhn", r"your folder: extra_32x32\.mat is not there"),
        (dict, "elsewhere", r"your folder: there is no folder .*/svhn; mirror"),
    ],
)
def test_wrong_files_of_svhn_are_named_and_nothing_is_written(
    tmp_path, monkeypatch, numbers, change, folder, reason
):
    files, content, _ = numbers
    put(tmp_path, monkeypatch, folder, change(files))
    remedy = r".*\); put them into svhn in the folder that SKIPGATE_DATA names$"
    with pytest.raises(
        Problem, match=r"data\.svhn: no source has the right files \(" + reason + remedy
    ):
        fetch("svhn", content, SOURCES["svhn"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_cut_archive_of_cifar100_is_named(tmp_path, monkeypatch, hundred):
    files, content, _ = hundred
    archive = tarred({f"cifar-100-python/{name}": c for name, c in files.items()})
    put(
        tmp_path, monkeypatch, "cifar100", {"cifar-100-python.tar.gz": archive[: len(archive) // 2]}
    )
    with pytest.raises(
        Problem, match=r"cifar100/cifar-100-python\.tar\.gz: the package is damaged"
    ):
        fetch("cifar100", content, SOURCES["cifar100"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"train": 40}, "train and extra has 50 images instead of 40; compare"),
        (
            {"train": 10, "test": 50},
            "has 50 images instead of 10, as many as the test set; compare",
        ),
        ({"classes": 9}, "has a label 9, beyond 9 classes; compare"),
        ({"classes": 11}, "has no image of class 10; compare"),
    ],
)
def test_a_wrong_count_and_a_missing_class_are_refused(
    tmp_path, monkeypatch, numbers, change, reason
):
    files, content, _ = numbers
    put(tmp_path, monkeypatch, "svhn", files)
    with pytest.raises(Problem, match=rf"data\.svhn: .*{reason}"):
        fetch("svhn", dataclasses.replace(content, **change), SOURCES["svhn"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_was_found_is_recorded_beside_the_arrays_and_with_the_training(
    tmp_path, monkeypatch, numbers
):
    files, content, held = numbers
    put(tmp_path, monkeypatch, "svhn", files)
    data = tmp_path / "svhn-arrays"
    fetch("svhn", content, SOURCES["svhn"], data)
    found = content_hash(held)
    assert json.loads((data / "content.json").read_text()) == {"sha256": found}
    settings = dataclasses.replace(toy_settings(CONV, batch=16, epochs=1), data=content)
    spec = Spec("x", "digits", "svhn", settings, 1, "d", seeds=1)
    trained = train(spec, [0], data, tmp_path / "checkpoint", lambda *_: None)
    (run,) = json.loads(trained[0][vault.RUN])["runs"]
    assert run["data"] == found


def test_a_recorded_hash_holds_the_content_as_ever(tmp_path, monkeypatch, numbers):
    files, content, held = numbers
    put(tmp_path, monkeypatch, "svhn", files)
    recorded = dataclasses.replace(content, sha256=content_hash(held))
    fetch("svhn", recorded, SOURCES["svhn"], tmp_path / "out")
    assert not (tmp_path / "out" / "content.json").exists()
    other = dataclasses.replace(content, sha256="0" * 64)
    with pytest.raises(Problem, match="not to the recorded 0000"):
        fetch("svhn", other, SOURCES["svhn"], tmp_path / "other")


def test_the_official_files_are_what_a_net_is_known_by_where_no_hash_is_recorded(numbers):
    content = numbers[1]
    spec = Spec("x", "s", "svhn", dataclasses.replace(toy_settings(), data=content), 1, "d", 1)
    other = dataclasses.replace(content, md5={**content.md5, "test_32x32.mat": "0" * 32})
    other_spec = dataclasses.replace(spec, settings=dataclasses.replace(spec.settings, data=other))
    assert len(vault.name_of(spec)) == len("d-") + 16
    assert vault.name_of(spec) != vault.name_of(other_spec)
    assert dataclasses.replace(content, sha256="f" * 64).identity == "f" * 64


def test_images_lie_in_memory_as_bytes_and_come_out_as_numbers(tmp_path, monkeypatch, numbers):
    files, content, held = numbers
    put(tmp_path, monkeypatch, "svhn", files)
    fetch("svhn", content, SOURCES["svhn"], tmp_path / "out")
    images = load(tmp_path / "out", 255, "unit", torch.device("cpu")).train
    assert images.x.dtype == torch.uint8
    (first, *_) = images.in_turn(7)
    assert torch.equal(first[0], torch.from_numpy(held["train_images"][:7]).float() / 255)


@pytest.mark.parametrize("name", ["cifar100", "svhn"])
def test_the_recorded_md5s_are_torchvisions(name):
    from torchvision.datasets import CIFAR100, SVHN

    known = {
        "cifar100": dict(CIFAR100.train_list + CIFAR100.test_list),
        "svhn": {file: found for _, file, found in SVHN.split_list.values()},
    }
    assert params.load(ROOT / "params.yaml").data[name].md5 == known[name]
