"""How much a block adds, in units of what it adds it to."""

from typing import Any

import torch
from torch import Tensor

from skipgate.evaluation import evaluating
from skipgate.nets.block import Block
from skipgate.nets.surgery import bypass
from skipgate.probes.subject import Subject
from skipgate.settings import Probes

LEAST = 1e-12
"""For a shortcut that gives nothing but zeros."""


@torch.no_grad()
def probe(subject: Subject, _: Probes) -> dict[str, Any]:
    """The norm of what a block adds over that of its shortcut, mean over examples, [block][seed].

    A block that makes its stage's first estimate adds much; one that refines an estimate, little.
    """
    network = subject.network
    found: list[list[Tensor]] = [[] for _ in network.blocks]

    def visit(place: int, block: Block, h: Tensor) -> Tensor:
        y: Tensor = block(h)
        skip = bypass(block, h)
        added = (y - skip).flatten(2).norm(dim=2)
        found[place].append(added / skip.flatten(2).norm(dim=2).clamp(min=LEAST))
        return y

    with evaluating(network):
        for x, _targets in subject.batches():
            network.follow(network.stem(x), visit)
    ratios = [subject.averages(torch.cat(each, 1)).tolist() for each in found]
    return {"stage": [block.site.stage for block in network.blocks], "ratio": ratios}
