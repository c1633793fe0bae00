"""Probes on networks whose answers are known, and on every family."""

import pytest
import torch
from scipy.stats import kendalltau

from skipgate.data.images import Images
from skipgate.nets.surgery import arranged, closed, one_closed
from skipgate.nets.weights import to_list
from skipgate.probes import PROBES
from skipgate.probes.gates import Watched, gate_means
from skipgate.probes.prune import greedy
from skipgate.probes.shuffle import kendall, placed, swapped
from skipgate.probes.subject import Subject
from skipgate.settings import GateChoice, Imagenet, Mlp, Probes, Pruning, Shuffling
from skipgate.streams import stream
from tests.toys import CONV, MLP, ONE, ZERO, images, network

SETTINGS = Probes(prune=Pruning(2, 5), shuffle=Shuffling(4))
DEEP = Mlp("mlp", depth=8, width=6)


def subject(body=DEEP, T=ONE, C=ONE) -> Subject:
    made = network(body, T, C, replicas=2).eval()
    x = images(20)[0]
    answers = made(x.expand(2, *x.shape)).argmax(-1)
    # The first replica's own answers are the labels, so that it makes no mistake as long as it is
    # whole.
    return Subject(made, Images(x, answers[0]), 7, Images(x[:5], answers[0][:5]))


@pytest.mark.parametrize(
    "pair",
    [
        (ONE, ZERO),
        (ONE, ONE),
        (GateChoice("scalar"), ONE),
        (GateChoice("survival"), ONE),
        (GateChoice("epsilon", {"epsilon": 1.5}), ONE),
    ],
)
@pytest.mark.parametrize("body", [DEEP, CONV])
@pytest.mark.parametrize("name", PROBES)
def test_a_probe_leaves_the_network_as_it_was(name, body, pair):
    if name == "patches" and body is DEEP:
        pytest.skip("units of a dense network have no place")
    if name == "identity" and pair[0].gate != "epsilon":
        pytest.skip("such gates discard nothing")
    if name == "words":
        pytest.skip("these networks read no text")
    case = subject(body, *pair)
    before, blocks = to_list(case.network), case.network.blocks
    first, second = (PROBES[name](case, SETTINGS) for _ in range(2))
    for result in (first, second):
        result.pop("seconds", None)
    assert first == second
    assert case.network.blocks == blocks
    assert all(torch.equal(a, b) for a, b in zip(before, to_list(case.network), strict=True))


def test_lesions_are_errors_without_each_block():
    case = subject()
    result = PROBES["lesion"](case, SETTINGS)
    assert result["whole"][0] == 0
    assert len(result["without"]) == 4
    for index, errors in enumerate(result["without"]):
        with arranged(case.network, [i for i in range(4) if i != index]):
            assert case.scores() == errors


@pytest.mark.parametrize("body", [CONV, Imagenet("imagenet", (2, 2, 2), width=2, shortcut="pad")])
def test_what_a_plain_network_cannot_do_without_is_left_by_every_rule(body):
    """The blocks that change the shape: there is nothing else that does."""
    case = subject(body, ONE, ZERO)
    alone = [block.site.alone for block in case.network.blocks]
    assert alone == [False, False, True, False, True, False]
    assert not any(block.site.alone for block in network(body).blocks), "these have shortcuts"
    lesions = PROBES["lesion"](case, SETTINGS)
    assert [row == [None, None] for row in lesions["without"]] == alone
    orders = greedy(case, 5)
    assert all(sorted(order) == [0, 1, 3, 5] for order in orders.T.tolist())
    pruned = PROBES["prune"](case, SETTINGS)
    rules = [pruned["response"], pruned["greedy"], *pruned["random"]]
    assert [len(rule) for rule in rules] == [5] * len(rules)
    assert all(rule[0] == lesions["whole"] for rule in rules)
    assert len({tuple(rule[-1]) for rule in rules}) == 1, "all orders end with the same network"


def test_pruning_goes_from_whole_to_shortcuts_only():
    case = subject(T=GateChoice("scalar"))
    with torch.no_grad():
        for block, ks in zip(
            case.network.blocks, ([3, 0.1], [1, 2], [2, 3], [0.5, 4]), strict=True
        ):
            block.T.k.copy_(torch.tensor(ks))
    result = PROBES["prune"](case, SETTINGS)
    with closed(case.network, torch.ones(4, 2, dtype=torch.bool)):
        none_left = case.scores()
    for order in [*result["random"], result["smallest"], result["response"], result["greedy"]]:
        assert len(order) == 5
        assert order[0] == case.scores()
        assert order[-1] == none_left
    masks = one_closed(case.network, 3) & torch.tensor([True, False]) | one_closed(
        case.network, 0
    ) & torch.tensor([False, True])
    with closed(case.network, masks):
        assert case.scores() == result["smallest"][1], "each seed loses its own smallest k first"


def test_equal_gates_have_no_smallest():
    assert PROBES["prune"](subject(), SETTINGS)["smallest"] is None


def test_shuffles_begin_with_the_trained_order_and_stay_within_stages():
    result = PROBES["shuffle"](subject(), SETTINGS)
    assert result["tau"][0] == 1
    assert min(result["tau"]) < 1
    assert result["swaps"] == [0, 0, 2, 4]
    order = swapped(9, [[0, 1, 2], [4, 5], [7, 8]], 50, stream(0, "shuffle"))
    assert order[3] == 3
    assert order[6] == 6
    assert sorted(order[:3]) == [0, 1, 2]
    assert sorted(order[4:6]) == [4, 5]


def test_a_network_without_movable_blocks_has_no_shuffles():
    none = {"tau": [], "errors": []}
    result = PROBES["shuffle"](subject(Mlp("mlp", depth=2, width=6)), SETTINGS)
    assert result == {"swaps": [], **none, "full": none, "reversed": none}


def test_reversed_stages_keep_what_cannot_move():
    assert placed(6, [[0, 1, 2], [4, 5]], [[2, 1, 0], [1, 0]]) == [2, 1, 0, 3, 5, 4]
    case = subject()
    result = PROBES["shuffle"](case, SETTINGS)
    assert result["reversed"]["tau"] == [-1]
    with arranged(case.network, [3, 2, 1, 0]):
        assert result["reversed"]["errors"] == [case.scores()]
    assert len(result["full"]["tau"]) == SETTINGS.shuffle.draws // 4


def test_the_spread_of_gates_by_hand():
    """Gates of 0.05 for the first image and 0.95 for the second are half low for a sample, and no unit is so on average."""
    watched = Watched(1)
    watched.add(2, torch.tensor([[[0.05, 0.05], [0.95, 0.95]]], dtype=torch.float64))
    spread = watched.spread()
    assert watched.mean().tolist() == [0.5]
    assert (spread["low"].tolist(), spread["quiet"].tolist()) == ([0.5], [0.0])
    assert [i for i, share in enumerate(spread["bins"].flatten().tolist()) if share] == [1, 19]
    assert Watched(1, 5, torch.ones(1, 1)).spread() is None


def test_the_k_of_scalar_gates_is_recorded_also_below_0():
    case = subject(T=GateChoice("scalar"))
    with torch.no_grad():
        case.network.blocks[1].T.k.copy_(torch.tensor([-0.5, 0.25]))
    found = PROBES["gates"](case, SETTINGS)
    assert found["k"][1] == [-0.5, 0.25]
    assert found["T"][1] == [0.0, 0.25]
    assert "k" not in PROBES["gates"](subject(), SETTINGS)


def test_a_seed_without_numbers_has_no_shares_of_gates():
    watched = Watched(2)
    watched.add(2, torch.tensor([[[torch.nan], [0.5]], [[0.05], [0.05]]], dtype=torch.float64))
    assert watched.spread()["low"].isnan().tolist() == [True, False]
    assert watched.spread()["bins"][:, 0].isnan().all()


def test_only_gates_that_look_at_the_sample_have_a_spread():
    assert PROBES["gates"](subject(T=GateChoice("scalar")), SETTINGS)["spread"] == {}
    highway = PROBES["gates"](subject(T=GateChoice("sigmoid"), C=GateChoice("coupled")), SETTINGS)[
        "spread"
    ]
    for gate in ("T", "C"):
        shares = torch.tensor(highway[gate]["bins"])
        assert shares.shape == (4, 20, 2)
        assert torch.allclose(shares.sum(1), torch.ones(4, 2))


def test_gate_values_are_means_over_images_and_units():
    case = subject(MLP, GateChoice("sigmoid", {"bias": -2.0}), GateChoice("coupled"))
    result = PROBES["gates"](case, SETTINGS)
    h = case.network.stem(case.examples.x.expand(2, *case.examples.x.shape))
    means = torch.sigmoid(case.network.blocks[0].T.affine(h)).mean((1, 2))
    assert torch.allclose(torch.tensor(result["T"][0], dtype=torch.float64), means)
    both = torch.tensor(result["T"]) + torch.tensor(result["C"])
    assert torch.allclose(both, torch.ones_like(both))


def test_a_probe_that_fails_removes_its_hooks():
    case = subject()
    broken = Subject(case.network, Images(case.examples.x[:, :, :3], case.examples.y), 7)
    with pytest.raises(RuntimeError):
        gate_means(broken, [block.T for block in case.network.blocks])
    assert all(not block.T._forward_hooks for block in case.network.blocks)


@pytest.mark.parametrize("count", [2, 5, 30])
def test_kendalls_tau_is_scipys(count):
    order = torch.randperm(count, generator=stream(count, "tau")).tolist()
    assert kendall(order) == pytest.approx(kendalltau(range(count), order).statistic, abs=1e-12)


def test_a_seed_that_diverged_does_not_decide_for_the_others():
    """The second replica's weights are no numbers: what is removed of the first is what it would lose alone."""
    case = subject(T=GateChoice("scalar"))
    with torch.no_grad():
        for block, k in zip(case.network.blocks, (3.0, 1.0, 2.0, 0.5), strict=True):
            block.T.k.copy_(torch.tensor([k, torch.nan]))
    speed, paths = PROBES["speed"](case, SETTINGS), PROBES["paths"](case, SETTINGS)
    with arranged(case.network, [0, 2]):
        assert case.scores()[0] == speed["errors"][2][0], (
            "the two blocks with the smallest k are gone"
        )
    assert paths["open"] == [4, 0]
    assert (2, 0) in zip(paths["removed"], paths["cut"], strict=True)
    assert all(
        torch.tensor(errors).isfinite().tolist() == [True, False] for errors in paths["errors"]
    )
