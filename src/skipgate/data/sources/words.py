"""Texts of licences that lie inside the locked package `identify`: no download."""

import ast
import re
from importlib import metadata
from pathlib import Path

from skipgate.data.fetching import Arrays
from skipgate.data.words import PARTS, encoded
from skipgate.files import Problem
from skipgate.settings import Language, Source

PACKAGE = "identify"
MODULE = "identify/vendor/licenses.py"
LICENCES = {
    "train": (
        "Apache-2.0 Artistic-2.0 CC-BY-SA-4.0 EPL-1.0 EUPL-1.1 GPL-3.0 LGPL-2.1 LPPL-1.3c MPL-2.0 "
        "OSL-3.0"
    ),
    "validation": "EPL-2.0",
    "test": "GPL-2.0",
}
TOKEN = re.compile(r"[a-z]+(?:-[a-z]+)*|\d+")
"""Words, also hyphenated ones, and numbers: what Penn Treebank's preparation has left."""
NUMBER = "N"


def arrays(name: str, _: Source, content: Language) -> Arrays:
    """Each part is the texts of some licences, one after the other."""
    texts = {
        part: "\n".join(_prepared(licence) for licence in _licences(name, part)) for part in PARTS
    }
    return encoded(name, texts, content)


def _licences(name: str, part: str) -> list[str]:
    """The package's literals, of which nothing is imported, in the order of our list."""
    wanted = LICENCES[part].split()
    text = _module().decode()
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.AnnAssign | ast.Assign) and node.value is not None:
            found |= dict(ast.literal_eval(node.value))
    missing = [licence for licence in wanted if licence not in found]
    if missing:
        raise Problem(
            f"data.{name}: {PACKAGE} has no text of {', '.join(missing)}; run: make setup"
        )
    return [found[licence] for licence in wanted]


def _module() -> bytes:
    try:
        return Path(str(metadata.distribution(PACKAGE).locate_file(MODULE))).read_bytes()
    except (metadata.PackageNotFoundError, OSError) as error:
        raise Problem(f"the package {PACKAGE} is not installed; run: make setup") from error


def _prepared(licence: str) -> str:
    """Small letters, N for numbers, no punctuation and no empty lines; a line is a line."""
    lines = (TOKEN.findall(line.lower()) for line in licence.splitlines())
    return "\n".join(
        " ".join(NUMBER if word.isdigit() else word for word in line) for line in lines if line
    )
