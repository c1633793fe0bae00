"""Lesions: the error after one block becomes its shortcut (Veit et al. 2016, in unrolled section 2 and the lecture)."""

from typing import Any

from skipgate.nets.surgery import closed, one_closed
from skipgate.params import Probes
from skipgate.probes.subject import Subject


def probe(subject: Subject, _: Probes) -> dict[str, Any]:
    """Error in % of the whole network as [seed], and without each block as [block][seed]."""
    network, errors = subject.network, []
    for index in range(len(network.blocks)):
        with closed(network, one_closed(network, index)):
            errors.append(subject.errors())
    return {"whole": subject.errors(), "without": errors, "stage": [block.site.stage for block in network.blocks]}
