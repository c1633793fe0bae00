"""Lesions: the error after one block becomes its shortcut.

Veit et al. 2016, in unrolled section 2 and the lecture.
"""

from typing import Any

from skipgate.nets.surgery import none_closed, one_closed, removable
from skipgate.probes.subject import Subject
from skipgate.probes.walk import with_closed
from skipgate.settings import Probes


def probe(subject: Subject, _: Probes) -> dict[str, Any]:
    """The measure of the whole network as [seed], and without each block as [block][seed].

    It is null without a block that nothing can stand in for.
    """
    network = subject.network
    places = removable(network)
    masks = [none_closed(network), *(one_closed(network, place) for place in places)]
    whole, *scores = subject.scores_of([with_closed(mask) for mask in masks])
    without = dict(zip(places, scores, strict=True))
    return {
        "whole": whole,
        "without": [without.get(i, [None] * len(whole)) for i in range(len(network.blocks))],
        "stage": [block.site.stage for block in network.blocks],
    }
