"""Dropout between the maps of a block, drawn per seed."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F

from skipgate.nets.dropout import Dropout, random_words
from skipgate.settings import Mlp, Resnet
from skipgate.streams import streams
from tests.toys import images, network

WIDE = Resnet("resnet", 1, width=4, widen=2, shortcut="project", dropout=0.3)
POST = dataclasses.replace(WIDE, order="post", shortcut="pad")


def drawn(made, seeds=range(1)):
    coins = streams(seeds, "dropout")
    for part in made.drawing:
        part.draw(coins)
    return made


def test_words_are_those_of_splitmix64():
    """The outputs that its published form gives for the seed 1234567."""
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [
        word % 2**64 for word in random_words(torch.tensor([1234567]), 5)[0].tolist()
    ] == expected


def test_units_are_dropped_at_the_rate_it_says_and_the_mean_is_kept():
    part = Dropout(2, 0.3).train()
    part.draw(streams(range(2), "dropout"))
    y = part(torch.ones(2, 10, 100, 10, 10, dtype=torch.float64))
    assert torch.allclose(
        (y == 0).double().mean((1, 2, 3, 4)), torch.tensor(0.3).double(), atol=0.005
    )
    assert torch.allclose(y[y != 0], torch.tensor(1 / 0.7).double())
    apart = ((y[0] == 0) == (y[1] == 0)).double().mean()
    assert apart == pytest.approx(0.3**2 + 0.7**2, abs=0.005), "replicas draw apart from each other"


def test_neighbours_and_batches_are_dropped_apart():
    part = Dropout(1, 0.5).train()
    coins, x = streams(range(1), "dropout"), torch.ones(1, 64, 64)
    masks = []
    for _ in range(3):
        part.draw(coins)
        masks.append(part(x)[0] == 0)
    pairs = [(masks[0], masks[1]), (masks[0], masks[2]), (masks[0], masks[0].roll(1, 1))]
    for a, b in [*pairs, (masks[0], masks[0].roll(1, 0))]:
        assert float((a == b).double().mean()) == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("body", [WIDE, POST])
def test_dropout_is_of_training_alone(body):
    made, plain = network(body), network(dataclasses.replace(body, dropout=0.0))
    x = images(4)
    assert torch.equal(made.eval()(x), plain.eval()(x))
    assert not torch.allclose(drawn(made.train())(x), plain.train()(x))


@pytest.mark.parametrize("body", [WIDE, POST])
def test_it_stands_after_the_relu_between_the_two_maps(body):
    """Zagoruyko and Komodakis: conv, BN, ReLU, dropout, conv."""
    transform = drawn(network(body).train()).blocks[0].transform
    (drop,) = transform.drops
    seen = {}
    drop.register_forward_hook(lambda _, inputs, y: seen.update(x=inputs[0], y=y))
    transform.affines[1].register_forward_hook(lambda _, inputs, __: seen.update(next=inputs[0]))
    x = torch.rand(1, 3, 4, 8, 8, dtype=torch.float64)
    transform(x)
    assert seen["x"].min() == 0
    assert seen["next"] is seen["y"]
    conv = F.conv2d(x[0], transform.affines[0].weight[0], padding=1)
    by_hand = F.relu(F.batch_norm(conv, None, None, training=True))
    assert torch.allclose(seen["x"][0], by_hand)


def test_every_block_draws_its_own():
    made = drawn(network(Resnet("resnet", 2, width=4, dropout=0.5)).train())
    keys = [int(block.transform.drops[0].key) for block in made.blocks]
    assert len(set(keys)) == len(keys) == 6


def test_networks_without_dropout_have_no_such_parts():
    assert not any(isinstance(part, Dropout) for part in network(Mlp("mlp", 4)).modules())
    with pytest.raises(ValueError, match="dropout must be between"):
        Resnet("resnet", 1, dropout=1.0)
