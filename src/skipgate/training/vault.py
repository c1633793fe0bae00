"""Finished work, kept by what it is: a seed's training, or what a probe found in one.

Whoever needs it asks here first, so that it is done once, whether by `dvc repro`, by a pool of
processes or by a cluster. An entry is a folder that appears whole or not at all; a lock that dies
with its holder keeps two from training the same.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from skipgate.files import Problem, read_json, sha256, write_atomically, write_json
from skipgate.specs import Spec

MODEL = "model.pt"
RESULT = "train.json"
RUN = "run.json"
MANIFEST = "manifest.json"
"""The files of a training: weights, result, provenance, and the hashes of these."""


def name_of(spec: Spec) -> str:
    """What all trainings of a net have in common: its behaviour and the content of its data."""
    return f"{spec.digest}-{spec.settings.data.identity[:16]}"


def key_of(spec: Spec, seed: int) -> str:
    """What one seed's training is kept under, whatever stack trained it."""
    return f"{name_of(spec)}-{seed}"


def piece_of(spec: Spec, seeds: Sequence[int]) -> str:
    """What seeds that are cut together share: a lock and a checkpoint."""
    return f"{name_of(spec)}-of{spec.stack}-{seeds[0] // spec.stack}"


@dataclass(frozen=True)
class Vault:
    """A folder of finished work; it may lie on a disk that several machines share."""

    root: Path

    def find(self, key: str) -> Path | None:
        """The entry, if it is there and undamaged; a damaged one is removed, and made again."""
        entry = self.root / key
        if not entry.exists():
            return None
        try:
            hashes = read_json(entry / MANIFEST, "it is made again")
            whole = all(
                sha256((entry / name).read_bytes()) == found for name, found in hashes.items()
            )
        except (Problem, OSError):
            whole = False
        if not whole:
            shutil.rmtree(entry)
        return entry if whole else None

    def missing(self, spec: Spec, seeds: Sequence[int]) -> list[int]:
        """The seeds whose training is not here."""
        return [seed for seed in seeds if self.find(key_of(spec, seed)) is None]

    def put(self, key: str, files: Mapping[str, bytes]) -> Path:
        """Keep something; if it is there already, that stays."""
        found = self.find(key)
        if found is not None:
            return found
        self.root.mkdir(parents=True, exist_ok=True)
        for left in self.root.glob(f".new-{key}-*"):  # by one that was killed while it wrote
            shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(dir=self.root, prefix=f".new-{key}-"))
        try:
            for name, content in files.items():
                write_atomically(folder / name, content)
            write_json(
                folder / MANIFEST, {name: sha256(content) for name, content in files.items()}
            )
            folder.chmod(0o755)  # mkdtemp makes folders private
            with suppress(OSError):  # another was faster
                os.rename(folder, self.root / key)  # noqa: PTH104
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return self.root / key

    def drop(self, spec: Spec) -> None:
        """Remove all that is kept of a net: trainings, finished or not, and what probes found."""
        for entry in self.root.glob(f"*{spec.digest}*"):
            shutil.rmtree(entry, ignore_errors=True)
        for file in self.root.glob(f"checkpoints/{spec.digest}-*.pt"):
            file.unlink(missing_ok=True)

    def checkpoint(self, piece: str) -> Path:
        """Where a training under way keeps its state."""
        return self.root / "checkpoints" / f"{piece}.pt"

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold the right to make this; the system takes it back from a holder that dies."""
        folder = self.root / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{name}.lock"):
            yield
