"""Lesions: the error after one block becomes its shortcut.

Veit et al. 2016, in unrolled section 2 and the lecture.
"""

from typing import Any

from skipgate.nets.surgery import none_closed, one_closed
from skipgate.probes.subject import Subject
from skipgate.probes.walk import with_closed
from skipgate.settings import Probes


def probe(subject: Subject, _: Probes) -> dict[str, Any]:
    """The measure of the whole network as [seed], and without each block as [block][seed]."""
    network = subject.network
    masks = [
        none_closed(network),
        *(one_closed(network, index) for index in range(len(network.blocks))),
    ]
    whole, *without = subject.scores_of([with_closed(mask) for mask in masks])
    return {
        "whole": whole,
        "without": without,
        "stage": [block.site.stage for block in network.blocks],
    }
