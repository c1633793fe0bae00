"""What becomes, epoch by epoch, of blocks whose gates may stay shut for good (Yu et al. 2018).

A block is *strict identity* in an epoch in which its gate was shut for every mini-batch. From then
on decay alone acts on its weights; it has *collapsed* once the largest is below 1% of what it was
when that began.
"""

import math
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor

from skipgate.files import Problem, rounded
from skipgate.group import Group
from skipgate.nets.layers import Conv, Linear
from skipgate.nets.network import Network
from skipgate.results import turns

COLLAPSED = 0.01
"""Share of its largest weight at shutting that a collapsed block has left at most."""
PERCENTILES = (0, 7, 50, 93, 100)
"""Of a block's weights: those of the paper's Figure 5."""
POINTS = 100
"""Epochs, at most and evenly spread, at which a training keeps the percentiles."""


@dataclass
class Lives:
    """The blocks of a training so far; all lists are by epoch, seed and block as they say."""

    discarded: list[list[float]] = field(default_factory=list)
    """How many blocks were strict identity: [epoch][seed]."""
    rate: list[list[float]] = field(default_factory=list)
    """The learning rate of the last step: [epoch][seed]."""
    shut: list[list[list[int]]] = field(default_factory=list)
    """The epochs at which a block turned strict identity or back: [seed][block]."""
    collapsed: list[list[list[int]]] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)
    """Those after which the percentiles were kept."""
    weights: list[list[list[list[float]]]] = field(default_factory=list)
    """[kept epoch][seed][block][percentile]."""
    largest: list[list[float]] = field(default_factory=list)
    """The largest weight after the last epoch: [seed][block]."""
    begun: list[list[float]] = field(default_factory=list)
    """The largest weight when the present stretch of strict identity began: [seed][block]."""

    def add(self, network: Network, group: Group, epoch: int, epochs: int, rate: float) -> None:
        """What an epoch has done; the host waits for the device here, and not before."""
        opened = _opened(network, group)
        largest = _largest(network)
        for seed, blocks in enumerate(opened):
            for block, is_open in enumerate(blocks):
                self._extend((seed, block), epoch, largest[seed][block], shut=not is_open)
        self.largest = largest
        self.discarded.append([float(blocks.count(False)) for blocks in opened])
        self.rate.append([rate] * len(opened))
        every = math.ceil(epochs / POINTS)
        if epoch % every == 0 or epoch == epochs - 1:
            self.epochs.append(epoch)
            self.weights.append(_percentiles(network))

    def _extend(self, place: tuple[int, int], epoch: int, now: float, *, shut: bool) -> None:
        seed, block = place
        if shut and not turns.is_on(self.shut[seed][block]):
            # It was shut from the first mini-batch on: as large as the epoch before has left it.
            self.begun[seed][block] = self.largest[seed][block]
        gone = shut and now < COLLAPSED * self.begun[seed][block]
        turns.extend(self.shut[seed][block], epoch, on=shut)
        turns.extend(self.collapsed[seed][block], epoch, on=gone)

    @property
    def history(self) -> dict[str, list[list[float]]]:
        """What there is one number of for each epoch and seed."""
        return {"discarded": self.discarded, "rate": self.rate}

    def blocks(self, network: Network, seed: int) -> dict[str, Any]:
        """The record of one seed, of all that there is more than one number of."""
        kept = zip(*(one[seed] for one in self.weights), strict=True)
        by_block = [list(zip(*block, strict=True)) for block in kept]
        return {
            "stage": [block.site.stage for block in network.blocks],
            "shut": self.shut[seed],
            "collapsed": self.collapsed[seed],
            "epochs": self.epochs,
            "percentiles": {
                str(p): [rounded(list(block[i])) for block in by_block]
                for i, p in enumerate(PERCENTILES)
            },
        }

    def to_plain(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def lives_of(network: Network) -> Lives | None:
    """The lives of a network's blocks at the start; None if no gate of it stays shut by itself."""
    if not all(block.T.opened is not None for block in network.blocks):
        return None
    largest = _largest(network)
    count = len(network.blocks)

    def none() -> list[list[list[int]]]:
        return [[[] for _ in range(count)] for _ in range(network.replicas)]

    begun = [[0.0] * count for _ in range(network.replicas)]
    return Lives(shut=none(), collapsed=none(), largest=largest, begun=begun)


def restored(saved: dict[str, Any] | None, lives: Lives | None) -> Lives | None:
    """The lives that a checkpoint has, for a network that has those."""
    if lives is not None and saved is None:
        raise Problem(
            "the checkpoint is of a version that kept no record of blocks; delete it to begin again"
        )
    return None if saved is None else Lives(**saved)


def clear(network: Network) -> None:
    """Forget which gates were open, at the beginning of an epoch."""
    for gate in network.gates:
        if gate.opened is not None:
            gate.opened.zero_()


def _opened(network: Network, group: Group) -> list[list[bool]]:
    """Whether a block was open in any mini-batch of any process: [seed][block]."""
    found = torch.stack([_known(block.T.opened) for block in network.blocks], dim=1).float()
    group.add_up([found])
    opened: list[list[bool]] = (found > 0).tolist()
    return opened


def _known(opened: Tensor | None) -> Tensor:
    if opened is None:
        raise ValueError("the gate is not watched")
    return opened


@torch.no_grad()
def _by_block(network: Network) -> list[Tensor]:
    """All weights of the maps of each block's F: (replica, weight)."""
    return [
        torch.cat(
            [
                module.weight.flatten(1)
                for module in block.transform.modules()
                if isinstance(module, Linear | Conv)
            ],
            dim=1,
        )
        for block in network.blocks
    ]


@torch.no_grad()
def _largest(network: Network) -> list[list[float]]:
    found = [weights.abs().amax(1) for weights in _by_block(network)]
    largest: list[list[float]] = torch.stack(found, dim=1).tolist()
    return largest


@torch.no_grad()
def _percentiles(network: Network) -> list[list[list[float]]]:
    """[seed][block][percentile]: of the weights in order, the nearest to its share of the way."""
    found = []
    for weights in _by_block(network):
        last = weights.shape[1] - 1
        places = [round(last * p / 100) for p in PERCENTILES]
        found.append(weights.sort(dim=1).values[:, places])
    kept: list[list[list[float]]] = torch.stack(found, dim=1).tolist()
    return kept
