"""What a trained network is made of. A probe takes a network and images, and leaves the network as it was."""

from collections.abc import Callable
from typing import Any

from skipgate.evaluation import Images
from skipgate.probes import estimation, gates, lesion, paths, prune, shuffle, speed
from skipgate.probes.adopt import adopt
from skipgate.probes.subject import Subject
from skipgate.settings import Probes

__all__ = ["PROBES", "TIMED", "Images", "Probe", "Probes", "Subject", "adopt"]

Probe = Callable[[Subject, Probes], dict[str, Any]]

PROBES: dict[str, Probe] = {
    "gates": gates.probe,
    "lesion": lesion.probe,
    "prune": prune.probe,
    "shuffle": shuffle.probe,
    "estimation": estimation.probe,
    "paths": paths.probe,
    "speed": speed.probe,
}
"""Each result is plain: numbers as [..., seed], keyed by what they are."""

TIMED = ("seconds",)
"""Results that are never the same twice."""
