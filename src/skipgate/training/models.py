"""The file with a net's trained weights: an archive with one file per seed that is at hand.

Putting it together takes no PyTorch: a seed's file is the one that its training left, byte for
byte, whichever stack it was trained in.
"""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from skipgate.files import Problem, sha256

DIGEST = "digest"
"""The member that names the behaviour of the net."""


def pack(digest: str, seeds: Mapping[int, bytes]) -> bytes:
    """The weights of some seeds as one file; equal weights, equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo(DIGEST), digest)
        for seed in sorted(seeds):
            archive.writestr(zipfile.ZipInfo(f"{seed}.pt"), seeds[seed])
    return buffer.getvalue()


def unpack(file: Path, digest: str, remedy: str) -> dict[int, bytes]:
    """The weights in a file by seed; those of another behaviour are refused."""
    try:
        with zipfile.ZipFile(file) as archive:
            if archive.read(DIGEST).decode() != digest:
                raise Problem(f"{file} was trained by other code or settings; {remedy}")
            names = [name for name in archive.namelist() if name != DIGEST]
            return {int(Path(name).stem): archive.read(name) for name in names}
    except FileNotFoundError as error:
        raise Problem(f"{file} is not there; {remedy}") from error
    except KeyError as error:
        raise Problem(f"{file} was written by an earlier version; {remedy}") from error
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise Problem(f"{file} is damaged or cut short; {remedy}") from error


def fingerprint(weights: bytes) -> str:
    """A name for one seed's weights."""
    return sha256(weights)[:16]
