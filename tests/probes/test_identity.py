"""What each seed can do without, measured on it alone."""

import math

import pytest
import torch

from skipgate.files import Problem, rounded
from skipgate.nets.network import alone
from skipgate.probes import PROBES
from skipgate.probes.subject import Subject
from skipgate.results.by_seed import join, split
from skipgate.settings import GateChoice, Identities, Mlp, Probes, Resnet
from tests.test_compression import BATCH, BODIES, COUNT, EPSILON, epsilon, examples, halfway
from tests.toys import ONE, network

SETTINGS = Probes(kinds=("identity",), identity=Identities(alone=10))
ALL = Probes(kinds=("identity",), identity=Identities(alone=0))


@torch.no_grad()
def stack(body, weak, over="batch"):
    """Two replicas: the blocks `weak` of the first respond by next to nothing."""
    made = network(body, epsilon(over, EPSILON), replicas=2).eval()
    for index, block in enumerate(made.blocks):
        for parameter in block.transform.parameters():
            parameter.mul_(1.5)
            if index in weak:
                parameter[0].mul_(1e-3)
    return made


def subject(made, training=None):
    return Subject(made, examples(4), BATCH, training or examples())


@pytest.mark.parametrize("body", [BODIES["pool"], BODIES["post"], BODIES["dense"]])
def test_a_replica_alone_is_what_it_is_in_the_stack(body):
    made = stack(body, {1})
    x = examples().x.expand(2, COUNT, *examples().x.shape[1:])
    together = made(x)
    for replica in range(2):
        one = alone(made, replica)
        assert one.replicas == 1
        torch.testing.assert_close(one(x[:1])[0], together[replica], rtol=1e-10, atol=1e-10)
    assert made.replicas == 2
    assert torch.equal(made(x), together)


def test_replicas_with_shared_weights_still_share_them_alone():
    body = Resnet("resnet", blocks=3, width=4, share=("maps",))
    made = stack(body, ())
    count = len({id(p) for p in made.parameters()})
    assert len({id(p) for p in alone(made, 1).parameters()}) == count


def test_each_seed_loses_its_own_blocks_and_no_prediction():
    made = stack(BODIES["pool"], {1, 4})
    found = PROBES["identity"](subject(made), SETTINGS)
    first, second = zip(*found["strict"], strict=True)
    assert {1, 4} <= {i for i, gone in enumerate(first) if gone}
    assert not any(second)
    gone = sum(first)
    whole, smaller = found["layers"]
    assert whole == [20, 20]
    assert smaller == [20 - 2 * gone, 20]
    for key in ("parameters", "memory", "file"):
        assert found[key][1][0] < found[key][0][0], key
        assert found[key][0][0] == found[key][0][1], key
    assert found["memory"][0][0] == 8 * found["parameters"][0][0]
    assert found["changed"] == found["unlike"] == [0, 0]
    assert found["errors"][0] == found["errors"][1]
    assert (found["training"], found["images"], found["alone"]) == (COUNT, COUNT, 10)
    assert found["stage"] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_blocks_are_judged_by_the_training_set_and_the_cost_is_the_test_sets():
    """A test image that opens a gate which no training image has opened is predicted otherwise."""
    made = stack(BODIES["dense"], {1})
    loud = examples(4)
    loud.x[-1] *= 1e20
    found = PROBES["identity"](Subject(made, loud, BATCH, examples()), SETTINGS)
    assert found["strict"][1] == [1, 0]
    assert found["unlike"][0] > 0
    assert found["unlike"][1] == 0


@pytest.mark.parametrize(("over", "depends"), [("batch", True), ("sample", False)])
def test_neighbours_matter_before_and_where_no_gate_is_left_not_after(over, depends):
    """In batches no gate is ever shut; alone, half of the images shut each."""
    made = stack(BODIES["dense"], {1}, over)
    one = alone(made, 0)
    for index in (0, 2, 3):
        made.blocks[index].T.epsilon = halfway(one, index, examples())
    case = Subject(made, examples(), BATCH, examples())
    found = PROBES["identity"](case, ALL)
    before, after = (row[0] for row in found["swayed"])
    assert (before > 0) == depends
    assert after == 0
    assert (found["gates"][0] == 0) == depends, "by sample, those that are shut at times stay"
    assert found["alone"] == COUNT


def test_a_seed_that_has_failed_has_nothing_and_the_others_what_they_have():
    made = stack(BODIES["dense"], {1})
    with torch.no_grad():
        made.head[-1].weight[1] = math.nan
    found = rounded(PROBES["identity"](subject(made), SETTINGS))
    assert [row[0] for row in found["strict"]][1] == 1
    assert [row[1] for row in found["strict"]] == [None] * 4
    for key in ("layers", "errors", "swayed", "seconds"):
        assert [row[1] for row in found[key]] == [None, None], key
    assert found["changed"][1] is None


def test_seeds_are_taken_apart_and_put_together():
    found = PROBES["identity"](subject(stack(BODIES["dense"], {1})), SETTINGS)
    head = {"net": "x", "digest": "d", "probe_digest": "p"}
    whole = {**head, "seeds": [0, 1], "models": ["a", "b"], **found}
    parts = split("identity", whole)
    assert parts[1]["layers"] == [[10], [10]]
    assert parts[0]["training"] == COUNT
    assert join("identity", parts) == whole


@pytest.mark.parametrize("T", [ONE, GateChoice("scalar"), GateChoice("survival")])
def test_nets_that_discard_nothing_are_refused(T):
    made = network(Mlp("mlp", depth=4, width=6), T)
    with pytest.raises(Problem, match="takes a net whose gates discard"):
        PROBES["identity"](subject(made), SETTINGS)


def test_a_network_whose_training_examples_are_unknown_is_refused():
    with pytest.raises(Problem, match="what it was trained on"):
        PROBES["identity"](Subject(stack(BODIES["dense"], {1}), examples(), BATCH), SETTINGS)
