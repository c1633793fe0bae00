"""ImageNet from the user's folder: nothing depends on how many processes decode."""

import dataclasses
import json
import shutil
from functools import partial

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import functional

from skipgate import params
from skipgate.data import raw, streamed
from skipgate.data.fetching import fetch
from skipgate.files import Problem, sha256
from skipgate.group import Share
from skipgate.settings import (
    Augment,
    Classify,
    ConstantRate,
    FixedPixels,
    Jitter,
    Nadam,
    Recipe,
    Source,
    Window,
)
from skipgate.specs import Spec
from skipgate.streams import streams
from skipgate.training.job import train
from tests import archives
from tests.toys import CONV, ROOT, toy_settings

CPU = torch.device("cpu")
SIDE = 14
CONTENT = Classify(
    "classify", (3, SIDE, SIDE), 3, 255, 6, md5={"a.tar": "0" * 32}, train=12, streamed=True
)
SOURCE = Source("imagenet")
AUGMENT = Augment(flip=True, window=Window((0.2, 1), (0.7, 1.4)), jitter=Jitter(0.4, 0.4, 0.4))


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The user's folder."""
    monkeypatch.setenv(raw.FOLDER, str(tmp_path / "mine"))
    monkeypatch.setenv(streamed.WORKERS, "0")
    return archives.imagenet(tmp_path / "mine") / "imagenet"


@pytest.fixture
def data(tmp_path, root):
    """Where the index lies."""
    fetch("imagenet", CONTENT, SOURCE, tmp_path / "imagenet")
    return tmp_path / "imagenet"


def recipe(augment=AUGMENT, **more):
    return Recipe(2, 5, Nadam("nadam"), ConstantRate("constant"), augment=augment, **more)


def loaded(data, pixels="unit"):
    return streamed.load(data, CONTENT, pixels, CPU)


def epoch(examples, seeds=(0,), number=0, augment=AUGMENT):
    found = list(examples.epoch(recipe(augment), lambda purpose: streams(seeds, purpose, number)))
    return torch.cat([x for x, _ in found], 1), torch.cat([y for _, y in found], 1)


def test_processes_that_train_have_their_shares_of_what_one_has(data):
    split = loaded(data)
    epoch = partial(split.train.epoch, recipe(), lambda purpose: streams((0, 1), purpose))
    parts = zip(*(epoch(Share(rank, 2)) for rank in range(2)), strict=True)
    for whole, shares in zip(epoch(), parts, strict=True):
        for all_of_it, part in zip(whole, zip(*shares, strict=True), strict=True):
            assert torch.equal(all_of_it, torch.cat(part, 1))
    by_turns = [list(split.test.in_turn(2, Share(rank, 2))) for rank in range(2)]
    wanted = list(split.test.in_turn(2))
    assert [len(found) for found in by_turns] == [2, 1]
    for place, (x, y) in enumerate(wanted):
        found = by_turns[place % 2][place // 2]
        assert torch.equal(found[0], x)
        assert torch.equal(found[1], y)


def test_the_index_has_every_image_with_its_class_and_hash_and_no_image_is_copied(root, data):
    names, labels, hashes = (
        np.load(data / f"train_{w}.npy") for w in ("files", "labels", "hashes")
    )
    assert len(names) == 12
    for name, label, found in zip(names, labels, hashes, strict=True):
        content = (root / "train" / name.decode()).read_bytes()
        assert name.decode().startswith(f"n{label:08}/")
        assert found.tobytes().hex() == sha256(content)
    assert sum(file.stat().st_size for file in data.iterdir()) < 5000
    assert len(set(labels[:4].tolist())) > 1, "the first few are of several classes"


def test_test_images_are_the_middle_in_the_order_of_their_names(root, data):
    found = list(loaded(data, FixedPixels(mean=(0.5,), deviation=(0.25,))).test.in_turn(4))
    assert [len(y) for _, y in found] == [4, 2]
    files = sorted((root / "val").glob("*/*"))
    assert torch.cat([y for _, y in found]).tolist() == [0, 0, 1, 1, 2, 2]
    for file, image in zip(files, torch.cat([x for x, _ in found]), strict=True):
        opened = functional.center_crop(functional.resize(Image.open(file), 16), SIDE)
        pixels = functional.pil_to_tensor(opened)
        assert torch.allclose(image, (pixels / 255 - 0.5) / 0.25, atol=1e-6)


@pytest.mark.parametrize("count", ["1", "3"])
def test_images_are_the_same_with_any_number_of_processes(data, monkeypatch, count):
    split = loaded(data)
    alone = epoch(split.train, (0, 1))
    test = list(split.test.in_turn(4))
    monkeypatch.setenv(streamed.WORKERS, count)
    before = torch.random.get_rng_state()
    for found, wanted in zip(epoch(split.train, (0, 1)), alone, strict=True):
        assert torch.equal(found, wanted)
    for found, wanted in zip(split.test.in_turn(4), test, strict=True):
        assert torch.equal(found[0], wanted[0])
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_index_is_the_same_with_any_number_of_processes(tmp_path, data, monkeypatch):
    monkeypatch.setenv(streamed.WORKERS, "2")
    fetch("imagenet", CONTENT, SOURCE, tmp_path / "again")
    for file in data.iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_every_image_comes_once_an_epoch_in_an_order_and_with_windows_of_its_seed(data):
    examples = loaded(data).train
    stack, labels = epoch(examples, (4, 5))
    assert sorted(labels[0].tolist()) == sorted(examples.y.tolist())
    for place, seed in enumerate((4, 5)):
        alone, own = epoch(examples, (seed,))
        assert torch.equal(stack[place], alone[0])
        assert torch.equal(labels[place], own[0])
    assert not torch.equal(stack[0], stack[1])
    assert not torch.equal(epoch(examples, (4,), number=1)[0][0], stack[0])
    assert stack.shape == (2, 12, 3, SIDE, SIDE)


def test_without_a_window_training_images_are_the_middle_too(data):
    examples = loaded(data).train
    (everything,) = [x for x, _ in examples.in_turn(20)]
    recipe_in_turn = recipe(Augment(), shuffle=False)
    found = [x[0] for x, _ in examples.epoch(recipe_in_turn, lambda p: streams((0,), p))]
    assert torch.equal(torch.cat(found), everything)


def test_a_part_of_the_training_set_is_held_out(data):
    split = loaded(data).used_by(recipe(images=10, validation=3))
    assert (len(split.train), len(split.validation)) == (7, 3)
    names = [*split.train.files.names, *split.validation.files.names]
    assert names == list(np.load(data / "train_files.npy")[:10])
    assert sum(len(y) for _, y in split.validation.in_turn(2)) == 3


def test_a_network_trains_on_them(data, tmp_path):
    settings = toy_settings(CONV, batch=5, epochs=1, augment=AUGMENT)
    settings = dataclasses.replace(settings, data=dataclasses.replace(CONTENT))
    spec = Spec("x", "digits", "imagenet", settings, 1, "d", seeds=1)
    files = train(spec, [0], data, tmp_path / "checkpoint", lambda *_: None)
    result = json.loads(files[0]["train.json"])
    assert result["diverged"] == [None]
    assert len(result["metrics"]["train_loss"][0]) == 1


def swap(root):
    shutil.rmtree(root / "train")
    (root / "val").rename(root / "train")


def cut_short(root):
    file = next((root / "val" / "n00000001").iterdir())
    file.write_bytes(file.read_bytes()[:-200])


CASES = {
    "no folder": (
        shutil.rmtree,
        r"imagenet/train has 0 folders of classes instead of 3, .*; set SKIPGATE_DATA to a folder",
    ),
    "no validation images": (
        lambda root: shutil.rmtree(root / "val"),
        r"imagenet/val has 0 folders of classes instead of 3",
    ),
    "a missing class": (
        lambda root: shutil.rmtree(root / "train" / "n00000001"),
        r"imagenet/train has no folder of the class n00000001; set SKIPGATE_DATA",
    ),
    "a class by another name": (
        lambda root: (root / "val" / "n00000001").rename(root / "val" / "n00000007"),
        r"imagenet/train has no folder of the class n00000007; set SKIPGATE_DATA",
    ),
    "a class that neither part has": (
        lambda root: [shutil.rmtree(root / part / "n00000001") for part in ("train", "val")],
        r"imagenet/train has 2 folders of classes instead of 3",
    ),
    "an empty class": (
        lambda root: [
            file.rename(root / "train" / "n00000000" / f"x{file.name}")
            for file in (root / "train" / "n00000002").iterdir()
        ],
        r"imagenet/train has no image of class 2; set SKIPGATE_DATA",
    ),
    "a wrong count": (
        lambda root: next((root / "train" / "n00000002").iterdir()).unlink(),
        r"imagenet/train has 11 images instead of 12; set SKIPGATE_DATA",
    ),
    "validation images for training": (
        swap,
        r"imagenet/train has 6 images instead of 12, as many as the test set; set SKIPGATE_DATA",
    ),
    "a cut image": (
        cut_short,
        r"imagenet/val/n00000001/ILSVRC.*\.JPEG: it does not decode \(.*\); put a whole one there",
    ),
    "no image": (
        lambda root: (root / "train/n00000000/n00000000_0.JPEG").write_bytes(b"<html>"),
        r"n00000000_0\.JPEG: it does not decode \(cannot identify.*\); put a whole one there",
    ),
}


@pytest.mark.parametrize("processes", ["0", "2"])
@pytest.mark.parametrize(("change", "sentence"), CASES.values(), ids=CASES)
def test_a_wrong_folder_is_refused_in_a_sentence_and_nothing_is_written(
    root, tmp_path, monkeypatch, processes, change, sentence
):
    monkeypatch.setenv(streamed.WORKERS, processes)
    change(root)
    with pytest.raises(Problem, match=sentence) as problem:
        fetch("imagenet", CONTENT, SOURCE, tmp_path / "imagenet")
    assert "\n" not in str(problem.value)
    assert not (tmp_path / "imagenet").exists()


@pytest.mark.parametrize("processes", ["0", "2"])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, r"n00000001_2\.JPEG cannot be read \(No such file or directory\); put it back"),
        (
            archives.jpeg(7),
            r"n00000001_2\.JPEG is not what it was when it was fetched; put it back",
        ),
    ],
)
def test_a_file_that_changed_since_is_named_by_a_sentence(
    root, data, monkeypatch, processes, content, sentence
):
    monkeypatch.setenv(streamed.WORKERS, processes)
    file = root / "train" / "n00000001" / "n00000001_2.JPEG"
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(Problem, match=sentence) as problem:
        epoch(loaded(data).train)
    assert "\n" not in str(problem.value)


def test_a_folder_that_is_gone_is_named_before_training(root, data, monkeypatch):
    shutil.rmtree(root / "val")
    with pytest.raises(Problem, match=r"there is no folder .*imagenet/val, whose images"):
        loaded(data)
    monkeypatch.delenv(raw.FOLDER)
    with pytest.raises(Problem, match="set SKIPGATE_DATA to the folder that they were fetched"):
        loaded(data)


def test_a_number_of_processes_that_is_none_is_refused(data, monkeypatch):
    monkeypatch.setenv(streamed.WORKERS, "many")
    with pytest.raises(Problem, match="SKIPGATE_WORKERS must be a whole number, found 'many'"):
        epoch(loaded(data).train)


def test_the_recorded_archives_are_torchvisions():
    from torchvision.datasets.imagenet import ARCHIVE_META

    known = dict(ARCHIVE_META[part] for part in ("train", "val"))
    assert params.load(ROOT / "params.yaml").data["imagenet"].md5 == known
