"""What a trained network is made of. A probe takes a network and images, and leaves the network as it was."""

from collections.abc import Callable
from typing import Any

from skipgate.params import Probes
from skipgate.probes import estimation, gates, lesion, prune, shuffle, speed
from skipgate.probes.subject import Subject

Probe = Callable[[Subject, Probes], dict[str, Any]]

PROBES: dict[str, Probe] = {
    "gates": gates.probe,
    "lesion": lesion.probe,
    "prune": prune.probe,
    "shuffle": shuffle.probe,
    "estimation": estimation.probe,
    "speed": speed.probe,
}
"""Each result is plain: numbers as [..., seed], keyed by what they are."""

TIMED = ("speed",)
"""Probes that measure seconds, which are never the same twice."""
