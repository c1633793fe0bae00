import pytest
import torch

from skipgate.nets.surgery import arranged, closed, one_closed
from skipgate.nets.weights import to_list
from skipgate.settings import Fleuret, GateChoice, Mlp, Resnet
from tests.toys import CONV, MLP, ONE, ZERO, images, network


@pytest.mark.parametrize(
    "pair",
    [
        (ONE, ONE),
        (ONE, ZERO),
        (GateChoice("scalar"), ONE),
        (GateChoice("sigmoid"), GateChoice("coupled")),
    ],
)
@pytest.mark.parametrize(
    "body",
    [
        Mlp("mlp", depth=6, width=5),
        CONV,
        Resnet("resnet", 2, 4, order="post"),
        Fleuret("fleuret", 3, 4),
    ],
)
def test_a_lesion_equals_a_deletion(body, pair):
    made, x = network(body, *pair, replicas=2).eval(), images(4, 2)
    for index, block in enumerate(made.blocks):
        if block.site.keeps_shape:
            with closed(made, one_closed(made, index)):
                lesioned = made(x)
            with arranged(made, [i for i in range(len(made.blocks)) if i != index]):
                assert torch.equal(made(x), lesioned)


def test_blocks_that_epsilon_has_closed_can_go_without_changing_a_prediction():
    """Image by image; without the open ones, predictions do change."""
    body, x = Resnet("resnet", blocks=4, width=8), images(200)
    made = network(body, GateChoice("epsilon", {"epsilon": 0.5})).eval()
    weak = [i for i, block in enumerate(made.blocks) if block.site.keeps_shape][::2]
    with torch.no_grad():
        for index in weak:
            for parameter in made.blocks[index].transform.parameters():
                parameter.mul_(0.01)
    shut, h = [], made.stem(x)
    for index, block in enumerate(made.blocks):
        if not block.T(h, block.transform(h)).any():
            shut.append(index)
        h = block(h)
    assert set(weak) <= set(shut)
    whole = made(x).argmax(-1)
    without = [
        i for i, block in enumerate(made.blocks) if i not in shut or not block.site.keeps_shape
    ]
    with arranged(made, without):
        assert torch.equal(made(x).argmax(-1), whole)
    with arranged(made, [i for i in without if not made.blocks[i].site.keeps_shape]):
        assert not torch.equal(made(x).argmax(-1), whole)


def test_replicas_can_be_closed_apart():
    made, x = network(MLP, replicas=2).eval(), images(4, 2)
    whole = made(x)
    masks = torch.tensor([[True, False], [False, False]])
    with closed(made, masks):
        part = made(x)
    assert torch.equal(part[1], whole[1])
    assert not torch.equal(part[0], whole[0])


def test_the_identity_order_changes_nothing():
    made, x = network(CONV).eval(), images(4)
    whole = made(x)
    with arranged(made, range(len(made.blocks))):
        assert torch.equal(made(x), whole)


def test_swapping_blocks_swaps_them():
    made, x = network(MLP).eval(), images(4)
    h = made.stem(x)
    expected = made.head(made.blocks[0](made.blocks[1](h)))
    with arranged(made, [1, 0]):
        assert torch.equal(made(x), expected)


@pytest.mark.parametrize(
    "order",
    [[0, 1, 3, 2, 4, 5], [2, 1, 0, 3, 4, 5], [0, 1, 3, 4, 5], [0, 2, 1, 3, 4, 5]],
    ids=[
        "a widening block after another of its stage",
        "across stages",
        "a widening block deleted",
        "out of its stage",
    ],
)
def test_an_order_that_breaks_the_network_is_refused(order):
    made = network(CONV)
    with pytest.raises(ValueError, match="within their stage"), arranged(made, order):
        pass


def test_the_network_is_as_before_even_after_an_exception():
    made = network(CONV, GateChoice("scalar"), ONE)
    before, blocks = to_list(made), made.blocks
    for surgery in (closed(made, one_closed(made, 1)), arranged(made, [1, 0, 2, 3, 4, 5])):
        with pytest.raises(ZeroDivisionError), surgery:
            _ = 1 / 0
    assert made.blocks == blocks
    assert all(block.T.shut is None for block in blocks)
    assert all(torch.equal(a, b) for a, b in zip(before, to_list(made), strict=True))
