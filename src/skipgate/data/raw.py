"""Raw files of a data set, from the first source that has them.

The sources are a folder of the user's, the mirrors, and the npm and PyPI registries. Nothing is
unpacked to disk: members of an archive are read into memory, so that no archive can write anywhere.
"""

import gzip
import hashlib
import http.client
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from skipgate.data import backend
from skipgate.files import Problem, sha256

FOLDER = "SKIPGATE_DATA"
SECONDS = 20.0
"""How long a mirror may be silent."""
PACK_SECONDS = 300.0
"""How long a registry's client may take in all."""

MD5_DIGITS = 32
"""Official files whose content nobody could hash otherwise are known by their MD5."""
ARCHIVES = (".tgz", ".whl", ".gz", ".zip")

Files = dict[str, bytes]
"""Contents by name."""


class Unavailable(Exception):
    """A source has nothing to give; the next one is tried."""


def obtain(
    name: str, hashes: Mapping[str, str], sources: Mapping[str, Callable[[], Files]]
) -> Files:
    """The files of the first source whose every file has its recorded hash, SHA-256 or MD5."""
    reasons = []
    for source, read in sources.items():
        try:
            files = read()
            _verify(files, hashes)
        except Unavailable as reason:
            reasons.append(f"{source}: {reason}")
        else:
            return files
    raise Problem(
        f"data.{name}: no source has the right files ({'; '.join(reasons)}); put them into {name} "
        f"in the folder that {FOLDER} names"
    )


def _verify(files: Files, hashes: Mapping[str, str]) -> None:
    known = {recorded: file for file, recorded in hashes.items()}
    for file, recorded in hashes.items():
        if file not in files:
            raise Unavailable(f"{file} is not there")
        found = _hash(files[file], recorded)
        if found != recorded:
            other = known.get(found)
            raise Unavailable(f"{file} is {f'a copy of {other}' if other else 'cut or altered'}")


def _hash(content: bytes, like: str) -> str:
    """The hash of a file, of the kind that another one is."""
    if len(like) == MD5_DIGITS:
        return hashlib.md5(content, usedforsecurity=False).hexdigest()
    return sha256(content)


def users_folder(name: str) -> Path:
    """The folder NAME of the folder that SKIPGATE_DATA names."""
    if FOLDER not in os.environ:
        raise Unavailable(f"{FOLDER} is not set")
    folder = Path(os.environ[FOLDER]) / name
    if not folder.is_dir():
        raise Unavailable(f"there is no folder {folder}")
    return folder


def from_folder(name: str, names: Iterable[str]) -> Files:
    """Files, or gzipped files, in the folder NAME of the folder that SKIPGATE_DATA names."""
    folder = users_folder(name)
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
            return {file: _unzipped(downloaded(f"{mirror}{file}.gz")) for file in names}
        except Unavailable as reason:
            reasons.append(str(reason))
    raise Unavailable(", ".join(reasons))


def archive_at(url: str) -> Files:
    """An archive on the web."""
    return unpacked(downloaded(url))


def from_npm(package: str, members: Mapping[str, str]) -> Files:
    """Members of a package of the npm registry; `members` maps our names to theirs."""
    files = npm(package)
    return {ours: files[theirs] for ours, theirs in members.items() if theirs in files}


def npm(package: str) -> Files:
    """A package of the npm registry, by the ordinary client."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["npm", "pack", package, "--silent", "--ignore-scripts", "--pack-destination"]
        return _packed([*words, folder], package, Path(folder))


def pypi(package: str, sha256_of_sources: str = "") -> Files:
    """A package of PyPI, by the ordinary client, of which nothing is installed or run.

    That is a wheel; or, where its hash is given, a source package, for which pip gets a build that
    builds nothing (`data/backend.py`).
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", "."]
        if not sha256_of_sources:
            return _packed([*words, "--only-binary", ":all:", package], package, folder)
        (folder / "setuptools").mkdir()
        (folder / "setuptools" / "__init__.py").touch()
        shutil.copy(backend.__file__, folder / "setuptools" / "build_meta.py")
        (folder / "wanted").write_text(f"{package} --hash=sha256:{sha256_of_sources}\n")
        words += ["--require-hashes", "--no-build-isolation", "--use-pep517", "-r", "wanted"]
        name, _, version = package.partition("==")
        known = {"PYTHONPATH": temporary, backend.NAME: name, backend.VERSION: version}
        return _packed(words, package, folder, known)


def _packed(
    command: list[str], package: str, folder: Path, variables: Mapping[str, str] | None = None
) -> Files:
    """Run a registry's client, which leaves one archive in the folder."""
    client = "npm" if command[0] == "npm" else "pip"
    environment = {**os.environ, **(variables or {})}
    try:
        subprocess.run(
            command,
            capture_output=True,
            check=True,
            timeout=PACK_SECONDS,
            cwd=folder,
            env=environment,
        )
        (archive,) = (file for file in folder.iterdir() if file.suffix in ARCHIVES)
    except FileNotFoundError as error:
        raise Unavailable(f"{client} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{client} gave no answer in {PACK_SECONDS:g} s") from error
    except (subprocess.CalledProcessError, ValueError) as error:
        raise Unavailable(f"{client} has no {package}") from error
    return unpacked(archive.read_bytes())


def unpacked(archive: bytes) -> Files:
    """All ordinary files of an archive, tar or zip, in memory."""
    packed = io.BytesIO(archive)
    try:
        if zipfile.is_zipfile(packed):
            with zipfile.ZipFile(packed) as zipped:
                return {name: zipped.read(name) for name in zipped.namelist()}
        packed.seek(0)
        with tarfile.open(fileobj=packed) as tar:
            members = [member for member in tar if member.isreg()]
            contents = [tar.extractfile(member) for member in members]
            return {
                member.name: content.read()
                for member, content in zip(members, contents, strict=True)
                if content is not None
            }
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise Unavailable(f"the package is damaged ({error})") from error


def downloaded(url: str) -> bytes:
    """A file on the web; where it cannot be reached, that is said soon."""
    try:
        # The addresses are torchvision's.
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:  # noqa: S310
            content: bytes = answer.read()
            return content
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(str(getattr(error, "reason", error))) from error


def _unzipped(content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError) as error:
        raise Unavailable("a gzipped file is cut or altered") from error
