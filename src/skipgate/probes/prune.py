"""Pruning: the error as more and more blocks become their shortcuts.

gresnet-v2 Figure 5, right.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from skipgate.evaluation import evaluating
from skipgate.nets.block import Block
from skipgate.nets.surgery import bypass, none_closed, removable
from skipgate.probes.estimation import Moments
from skipgate.probes.gates import gate_means
from skipgate.probes.subject import Subject
from skipgate.probes.walk import Walk, with_closed
from skipgate.settings import Probes
from skipgate.streams import stream
from skipgate.tasks.task import Tally


def probe(subject: Subject, settings: Probes) -> dict[str, Any]:
    """The measure after removing 0, 1, ... blocks.

    At random it is [order][removed][seed], by a rule [removed][seed]. The rules: smallest gate
    first, smallest response first, and greedily, each time the block without which the network
    scores best on training examples. A rule is null where it has nothing to go by, such
    as gates that are all equal.
    """
    network = subject.network
    places = torch.tensor(removable(network))
    drawn = [
        places[torch.randperm(len(places), generator=stream(draw, "prune"))]
        for draw in range(settings.prune.orders)
    ]
    random = [order.unsqueeze(1).expand(-1, network.replicas) for order in drawn]
    rules = {
        "smallest": _ranked(gate_means(subject, [block.T for block in network.blocks]), places),
        "response": _ranked(response_norms(subject), places),
        "greedy": greedy(subject, settings.prune.greedy_images),
    }
    known = {name: order for name, order in rules.items() if order is not None}
    errors = _errors(subject, [*random, *known.values()])
    by_rule = dict(zip(known, errors[len(random) :], strict=True))
    return {"random": errors[: len(random)], **{name: by_rule.get(name) for name in rules}}


@torch.no_grad()
def response_norms(subject: Subject) -> Tensor:
    """How much each block adds to its shortcut: the mean norm over examples, (block, replica)."""
    network = subject.network
    means = [Moments() for _ in network.blocks]

    def visit(place: int, block: Block, h: Tensor) -> Tensor:
        y: Tensor = block(h)
        means[place].add((y - bypass(block, h)).flatten(2).norm(dim=2, keepdim=True))
        return y

    with evaluating(network):
        for x, _targets in subject.batches():
            network.follow(network.stem(x), visit)
    return torch.stack([mean.mean() for mean in means]).cpu()


def greedy(subject: Subject, examples: int) -> Tensor | None:
    """The order (step, replica) that removes the block whose absence costs the fewest mistakes.

    Of several such blocks it is the one whose absence gives the smallest loss.
    """
    if not examples or subject.training is None:
        return None
    network = subject.network
    chooser = Subject(network, subject.training.first(examples), subject.batch, task=subject.task)
    masks = none_closed(network)
    places = removable(network)
    order = []
    for left in range(len(places), 0, -1):
        open_places = (~masks[places]).T.nonzero()[:, 1].view(network.replicas, left)
        open_blocks = torch.tensor(places)[open_places]
        tallies = chooser.tallies_of(
            [with_closed(_without(masks, open_blocks[:, i])) for i in range(left)]
        )
        wrong, loss = (
            torch.stack(found).nan_to_num(torch.inf)
            for found in zip(*map(_costs, tallies), strict=True)
        )
        choice = torch.where(wrong == wrong.min(0).values, loss, torch.inf).argmin(0)
        order.append(open_blocks.gather(1, choice.unsqueeze(1)).squeeze(1))
        masks = _without(masks, order[-1])
    return torch.stack(order)


def _costs(tally: Tally) -> tuple[Tensor, Tensor]:
    """The measure, turned so that less is better, and the loss."""
    lower = tally.task.settings.measure.lower_is_better
    return tally.values() if lower else -tally.values(), tally.mean_loss()


def _ranked(strength: Tensor, places: Tensor) -> Tensor | None:
    """These blocks from the weakest to the strongest, (step, replica); None where all are equal."""
    strength = strength[places]
    tied = len(strength) > 1 and bool((strength == strength[0]).all())
    return None if tied else places[strength.argsort(dim=0, stable=True)]


def _without(masks: Tensor, blocks: Tensor) -> Tensor:
    """The masks with one more block closed in each replica."""
    return masks.scatter(0, blocks.unsqueeze(0), True)


def _errors(subject: Subject, orders: Sequence[Tensor]) -> list[list[list[float]]]:
    """The error after each step of removing blocks in each order (step, replica)."""
    walks = [walk for order in orders for walk in _walks(order, none_closed(subject.network))]
    found = subject.scores_of(walks)
    steps = len(orders[0]) + 1
    return [found[start : start + steps] for start in range(0, len(found), steps)]


def _walks(order: Tensor, masks: Tensor) -> list[Walk]:
    walks = [with_closed(masks)]
    for step in order:
        masks = _without(masks, step)
        walks.append(with_closed(masks))
    return walks
