"""Finished trainings, kept by what they are: the spec's digest and the hash of the data.

Whoever needs a training asks here first, so that it is done once, whether by `dvc repro`, by a pool
of processes or by a cluster. An entry is a folder that appears whole or not at all; a lock that
dies with its holder keeps two from training the same.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from skipgate.files import Problem, read_json, sha256, write_atomically, write_json
from skipgate.specs import Spec

MODEL = "model.pt"
RESULT = "train.json"
RUN = "run.json"
MANIFEST = "manifest.json"
"""The files of an entry: weights, result, provenance, and the hashes of these."""


def key_of(spec: Spec) -> str:
    """What a training is kept under."""
    return f"{spec.digest}-{spec.settings.data.sha256[:16]}"


@dataclass(frozen=True)
class Vault:
    """A folder of finished trainings; it may lie on a disk that several machines share."""

    root: Path

    def find(self, key: str) -> Path | None:
        """The entry, if it is there and undamaged; a damaged one is removed, so that it is trained again."""
        entry = self.root / key
        if not entry.exists():
            return None
        try:
            hashes = read_json(entry / MANIFEST, "it is trained again")
            whole = all(
                sha256((entry / name).read_bytes()) == found for name, found in hashes.items()
            )
        except (Problem, OSError):
            whole = False
        if not whole:
            shutil.rmtree(entry)
        return entry if whole else None

    def put(self, key: str, files: Mapping[str, bytes]) -> Path:
        """Keep a training; if another was faster, its entry stays."""
        self.root.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=self.root, prefix=f".new-{key}-"))
        try:
            for name, content in files.items():
                write_atomically(folder / name, content)
            write_json(
                folder / MANIFEST, {name: sha256(content) for name, content in files.items()}
            )
            folder.chmod(0o755)  # mkdtemp makes folders private
            if self.find(key) is None:
                os.rename(folder, self.root / key)  # noqa: PTH104
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self.checkpoint(key).unlink(missing_ok=True)
        return self.root / key

    def drop(self, key: str) -> None:
        """Remove a training, finished or not."""
        with self.lock(key):
            shutil.rmtree(self.root / key, ignore_errors=True)
            self.checkpoint(key).unlink(missing_ok=True)

    def checkpoint(self, key: str) -> Path:
        """Where a training under way keeps its state."""
        return self.root / "checkpoints" / f"{key}.pt"

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold the right to train this; the system takes it back from a holder that dies."""
        folder = self.root / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{key}.lock"):
            for left in self.root.glob(
                f".new-{key}-*"
            ):  # by a holder that was killed while it wrote
                shutil.rmtree(left)
            yield
