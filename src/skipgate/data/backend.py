"""A build that builds nothing, for pip to find where it looks for setuptools.

To learn a package's name and version pip would run its build. These hooks (PEP 517) say what is
known already and never look into the package.
"""

import os
from pathlib import Path
from types import SimpleNamespace

NAME = "SKIPGATE_NAME"
VERSION = "SKIPGATE_VERSION"


def get_requires_for_build_wheel(_settings: object = None) -> list[str]:
    """Nothing is needed."""
    return []


def prepare_metadata_for_build_wheel(folder: str, _settings: object = None) -> str:
    """Name and version, from the environment."""
    name = os.environ[NAME]
    version = os.environ[VERSION]
    made = Path(folder) / f"{name.replace('-', '_')}-{version}.dist-info"
    made.mkdir()
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return made.name


__legacy__ = SimpleNamespace(
    get_requires_for_build_wheel=get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel=prepare_metadata_for_build_wheel,
)
