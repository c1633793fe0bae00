"""What a trained network is made of. A probe takes a network and images, and leaves the network as it was."""

from collections.abc import Callable
from typing import Any

from skipgate.params import Probes
from skipgate.probes import gates, lesion, prune, shuffle
from skipgate.probes.subject import Subject

Probe = Callable[[Subject, Probes], dict[str, Any]]

PROBES: dict[str, Probe] = {"gates": gates.probe, "lesion": lesion.probe, "prune": prune.probe, "shuffle": shuffle.probe}
"""Each result is plain: numbers as [..., seed], keyed by what they are."""
