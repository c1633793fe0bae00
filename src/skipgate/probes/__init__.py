"""What a trained network is made of.

A probe takes a network and examples, and leaves the network as it was.
"""

import importlib
from collections.abc import Callable
from typing import Any

from skipgate.data.images import Images
from skipgate.probes.adopt import adopt
from skipgate.probes.subject import Subject
from skipgate.settings import LAYOUTS, Probes

__all__ = ["BESIDE", "PROBES", "Images", "Probe", "Probes", "Subject", "adopt"]

Probe = Callable[[Subject, Probes], dict[str, Any]]

PROBES: dict[str, Probe] = {
    name: importlib.import_module(f"{__name__}.{name}").probe for name in LAYOUTS
}
"""Each result is plain: numbers as [..., seed], keyed by what they are."""

BESIDE = ("seconds", "k", "strips", "file")
"""What is recorded and not hashed.

Times are never the same twice; older results, which lack the k of scalar gates, stand without; and
pictures and weights are packed by a library.
"""
