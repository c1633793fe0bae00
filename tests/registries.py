"""Registries that the tests make up: real clients that find their packages in a folder."""

import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import torch


def tarred(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def npm_package(folder: Path, monkeypatch, files: dict[str, bytes]) -> None:
    """A client of npm's registry that has one package."""
    archive = folder / "package.tgz"
    archive.write_bytes(tarred(files))
    client = folder / "bin" / "npm"
    client.parent.mkdir(exist_ok=True)
    client.write_text(
        f'#!/bin/sh\nfor last; do :; done\nPATH="{os.defpath}"\n'
        f'cp "{archive}" "$last/package-1.0.0.tgz"\n'
    )
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{client.parent}{os.pathsep}{os.environ['PATH']}")


def _index(folder: Path, monkeypatch) -> Path:
    """Where pip looks, and nowhere else."""
    index = folder / "index"
    index.mkdir(exist_ok=True)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return index


def wheel(folder: Path, monkeypatch, name: str, version: str, files: dict[str, bytes]) -> None:
    index = _index(folder, monkeypatch)
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    kind = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(index / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
        archive.writestr(f"{name}-{version}.dist-info/METADATA", about)
        archive.writestr(f"{name}-{version}.dist-info/WHEEL", kind)
        archive.writestr(f"{name}-{version}.dist-info/RECORD", "")


def sdist(folder: Path, monkeypatch, name: str, version: str, files: dict[str, bytes]) -> bytes:
    index = _index(folder, monkeypatch)
    root = f"{name.replace('-', '_')}-{version}"
    content = tarred({f"{root}/{path}": data for path, data in files.items()})
    (index / f"{root}.tar.gz").write_bytes(content)
    return content


def torch_images() -> torch.Tensor:
    return torch.randint(256, (2, 3, 4, 5), generator=torch.Generator().manual_seed(1))
