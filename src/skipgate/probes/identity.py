"""Blocks that have become strict identities, and the network without them.

epsilon-ResNet (Yu et al. 2018), sections 3 and 4, Figures 6 and 7.
"""

import math
from typing import Any

from skipgate.compression import Trained, gating, seconds, size, swayed, without
from skipgate.files import Problem
from skipgate.nets.gates.epsilon import Epsilon
from skipgate.nets.network import alone
from skipgate.probes.subject import Subject
from skipgate.settings import Probes

SIZES = ("layers", "parameters", "memory", "file")


def probe(subject: Subject, settings: Probes) -> dict[str, Any]:
    """What each seed can do without.

    `strict` as [block][seed] is 1 where the gate stayed shut over one pass of the `training`
    examples, and `gates` counts those of the compressed network, which were shut at times and not
    always. Of the whole network and of the compressed one, as [network][seed]: `layers`,
    `parameters`, `memory` of these and the `file` in bytes, `seconds` for a batch, `errors` on all
    `images`, and `swayed`, the share of the first `alone` of them that are predicted otherwise one
    at a time than in batches. `changed` counts images that the two predict otherwise, `unlike`
    those for which some output differs, be it in the last bit. A seed that has failed has nothing.
    """
    network = subject.network
    training = subject.training
    if training is None or not all(isinstance(block.T, Epsilon) for block in network.blocks):
        raise Problem(
            "the probe 'identity' takes a net whose gates discard, T: epsilon, and what it was "
            "trained on; leave it out of the kinds of this net's probes"
        )
    few = settings.identity.alone
    rest = subject.task, training, subject.examples, subject.batch
    replicas = [alone(network, place) for place in range(network.replicas)]
    found = [_of_seed(Trained("", each, *rest), few) for each in replicas]
    return {
        "stage": [block.site.stage for block in network.blocks],
        "training": len(training),
        "images": len(subject.examples),
        "alone": len(subject.examples.first(few)),
        **_seed_last(found),
    }


def _of_seed(whole: Trained, few: int) -> dict[str, Any]:
    """The record of one network, without the axis of seeds."""
    gates = gating(whole.network, whole.train, whole.batch)
    strict = [each.strict for each in gates]
    smaller = without(whole.network, [i for i, gone in enumerate(strict) if gone], gates)
    pair = whole.network, smaller
    cost = whole.cost(smaller)
    sizes = [size(each) for each in pair]
    found = {
        "strict": [int(gone) for gone in strict],
        "gates": sum(isinstance(block.T, Epsilon) for block in smaller.blocks),
        **{name: [getattr(each, name) for each in sizes] for name in SIZES},
        "seconds": seconds(pair, whole.test, whole.batch),
        "errors": [cost.before, cost.after],
        "swayed": [swayed(each, whole.test.first(few), whole.batch) for each in pair],
        "changed": cost.changed,
        "unlike": cost.unlike,
    }
    return _nothing(found) if math.isnan(cost.before) else found


def _nothing(like: Any) -> Any:
    """The same shape with NaN for every number: what it says of a failed network means nothing."""
    if isinstance(like, dict):
        return {key: _nothing(value) for key, value in like.items()}
    return [math.nan for _ in like] if isinstance(like, list) else math.nan


def _seed_last(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Records of all seeds as one, the seed being the last axis."""
    return {
        key: [[record[key][row] for record in records] for row in range(len(first))]
        if isinstance(first, list)
        else [record[key] for record in records]
        for key, first in records[0].items()
    }
