"""Lesions: the error after one block becomes its shortcut (Veit et al. 2016, in unrolled section 2 and the lecture)."""

from typing import Any

from skipgate.evaluation import Images, evaluate
from skipgate.nets.network import Network
from skipgate.nets.surgery import closed, one_closed
from skipgate.params import Probes


def probe(network: Network, images: Images, settings: Probes) -> dict[str, Any]:
    """Error in % of the whole network as [seed], and without each block as [block][seed]."""
    errors = []
    for index in range(len(network.blocks)):
        with closed(network, one_closed(network, index)):
            errors.append(evaluate(network, images, network.replicas, settings.batch)[0].tolist())
    whole = evaluate(network, images, network.replicas, settings.batch)[0].tolist()
    return {"whole": whole, "without": errors, "stage": [block.site.stage for block in network.blocks]}
