"""The character-aware language model against plain PyTorch, and its sizes by hand."""

import dataclasses
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from skipgate.data.text import Text, Vocabulary
from skipgate.evaluation import evaluate
from skipgate.nets.bodies import Plan, build
from skipgate.nets.network import parameter_count
from skipgate.nets.weights import initialise
from skipgate.settings import Character, GateChoice, Language
from skipgate.streams import streams
from skipgate.tasks import task_of
from tests.toys import ONE, ZERO

SIGMOID = GateChoice("sigmoid")
COUPLED = GateChoice("coupled")
LARGE = Character("character", 2, 650, (50, 100, 150, 200, 200, 200, 200))
SMALL = Character("character", 1, 300, (25, 50, 75, 100, 125, 150))
TOY = Character("character", 2, 4, (2, 3), embedding=3, dropout=0.0)
CONTENT = Language("language", (7,), 9, 8, 60, 20, 20, "x")
TASK = task_of(CONTENT)


def count(body, T=SIGMOID, C=COUPLED):
    with torch.device("meta"):
        return parameter_count(build(body, Plan(T, C, (22,), 10000, 1, symbols=51)))


def network(T=SIGMOID, C=COUPLED, body=TOY, replicas=1):
    made = build(body, Plan(T, C, CONTENT.shape, CONTENT.outputs, replicas, symbols=8))
    initialise(made, "torch", streams(range(replicas), "init"))
    return made.double()


def text(steps, length=60):
    generator = torch.Generator().manual_seed(3)
    spelling = torch.randint(3, 8, (9, 6), generator=generator)
    spelling[:, 4:] = 0
    words = tuple(map(str, range(9)))
    tokens = torch.randint(9, (length,), generator=generator)
    return Text(tokens, Vocabulary(words, spelling), steps, 0)


def test_large_has_19_million_parameters():
    """Embedding, kernels, two layers with a gate each, two LSTMs with two biases, softmax."""
    maps = (50, 100, 150, 200, 200, 200, 200)
    kernels = sum(15 * w * m + m for w, m in enumerate(maps, 1))
    layers = 2 * 2 * (1100 * 1100 + 1100)
    lstm = 4 * 650 * (1100 + 650 + 2) + 4 * 650 * (650 + 650 + 2)
    whole = 50 * 15 + kernels + layers + lstm + 650 * 10000 + 10000
    assert count(LARGE) == whole == 19373150


def test_small_has_5_million_parameters():
    kernels = sum(15 * w * 25 * w + 25 * w for w in range(1, 7))
    layers = 2 * (525 * 525 + 525)
    lstm = 4 * 300 * (525 + 300 + 2) + 4 * 300 * (300 + 300 + 2)
    assert count(SMALL) == 750 + kernels + layers + lstm + 3010000 == 5312500


@pytest.mark.parametrize(
    ("T", "C", "matrices"),
    [(ONE, ZERO, 1), (ONE, ONE, 1), (SIGMOID, ONE, 2), (ONE, SIGMOID, 2), (SIGMOID, SIGMOID, 3)],
)
def test_a_variant_has_as_many_matrices_a_layer_as_the_table_says(T, C, matrices):
    rest = count(LARGE, ONE, ZERO) - 2 * (1100 * 1100 + 1100)
    assert count(LARGE, T, C) == rest + 2 * matrices * (1100 * 1100 + 1100)


def reference(net, x, T, C):
    """Features after the layers and logits of a text (row, step, 1 + character), token by token."""
    stem, head = net.stem, net.head
    table = nn.Embedding(8, 3, padding_idx=0).double()
    table.weight.data[1:] = stem.embedding.weight[0].T
    table.weight.data[0] = 0
    letters = table(x[..., 1:]).flatten(0, 1).transpose(1, 2)
    found = []
    for width, kernel in enumerate(stem.kernels, 1):
        weight = kernel.weight[0].view(-1, 3, width)
        found.append(torch.tanh(F.conv1d(letters, weight, kernel.bias[0])).max(2).values)
    h = torch.cat(found, 1)
    for block in net.blocks:
        affine = block.transform.affines[0]
        f = F.relu(F.linear(h, affine.weight[0], affine.bias[0]))
        h = T(block, h) * f + C(block, h) * h
    lstm = nn.LSTM(5, 4, 2).double()
    for i, layer in enumerate(head.layers):
        getattr(lstm, f"weight_ih_l{i}").data = layer.inputs.weight[0]
        getattr(lstm, f"weight_hh_l{i}").data = layer.hidden.weight[0]
        getattr(lstm, f"bias_ih_l{i}").data = layer.inputs.bias[0]
        getattr(lstm, f"bias_hh_l{i}").data = layer.hidden.bias[0]
    out, _ = lstm(h.view(*x.shape[:2], -1).transpose(0, 1))
    return h, F.linear(out.transpose(0, 1), head.last.weight[0], head.last.bias[0])


def sigmoid(name):
    def value(block, h):
        affine = getattr(block, name).affine
        return torch.sigmoid(F.linear(h, affine.weight[0], affine.bias[0]))

    return value


@pytest.mark.parametrize(
    ("gates", "T", "C"),
    [
        ((ONE, ZERO), lambda _, __: 1, lambda _, __: 0),
        ((ONE, ONE), lambda _, __: 1, lambda _, __: 1),
        ((SIGMOID, ONE), sigmoid("T"), lambda _, __: 1),
        ((ONE, SIGMOID), lambda _, __: 1, sigmoid("C")),
        ((SIGMOID, COUPLED), sigmoid("T"), lambda b, h: 1 - sigmoid("T")(b, h)),
        ((SIGMOID, SIGMOID), sigmoid("T"), sigmoid("C")),
    ],
)
def test_features_and_loss_of_a_batch_are_those_of_plain_pytorch(gates, T, C):
    net = network(*gates)
    x, y = next(text(6).in_turn(3))
    h, logits = reference(net, x, T, C)
    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    for mode in (True, False):
        net.train(mode)
        output = net.run(x.unsqueeze(0))
        torch.testing.assert_close(output.main[0], logits)
        torch.testing.assert_close(TASK.losses(output.main, y.unsqueeze(0))[0], loss)
    net.train()
    ours = net.follow(net.stem(x.unsqueeze(0)))
    torch.testing.assert_close(ours[0][net.places.taken.flatten()], h)


def test_gradients_of_distinct_words_are_those_of_all_tokens():
    net = network().train()
    x, y = next(text(6).in_turn(3))
    _, logits = reference(net, x, sigmoid("T"), lambda b, h: 1 - sigmoid("T")(b, h))
    watched = [net.stem.kernels[1].weight, net.blocks[0].T.affine.weight]
    theirs = torch.autograd.grad(F.cross_entropy(logits.flatten(0, 1), y.flatten()), watched)
    loss = TASK.losses(net.run(x.unsqueeze(0)).main, y.unsqueeze(0)).sum()
    torch.testing.assert_close(torch.autograd.grad(loss, watched), theirs)


def test_a_carried_state_is_one_long_pass():
    net = network()
    long, short = (evaluate(net, TASK, text(steps), 2).mean_loss() for steps in (30, 7))
    torch.testing.assert_close(long, short)
    forgetful = TASK.tally(1, torch.device("cpu"))
    net.eval()
    for x, y in text(7).in_turn(2):
        forgetful.add(net.run(x.unsqueeze(0)).main.detach(), y.unsqueeze(0))
    assert not torch.allclose(forgetful.mean_loss(), long)


def test_training_carries_a_state_without_its_graph():
    net = network().train()
    batches = text(7).in_turn(2)
    first = net.run(next(batches)[0].unsqueeze(0))
    assert not any(part.requires_grad for pair in first.state.hidden for part in pair)
    x, _ = next(batches)
    carried = net.run(x.unsqueeze(0), first.state).main
    assert not torch.allclose(carried, net.run(x.unsqueeze(0)).main)


def test_to_say_the_same_of_all_words_has_the_vocabulary_for_its_perplexity():
    net = network()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
    assert evaluate(net, TASK, text(7), 2).values().tolist() == [pytest.approx(9)]
    assert CONTENT.measure.guessing == 9


def test_features_of_a_word_are_computed_once_in_an_evaluation():
    net = network()
    seen = []
    net.blocks[0].register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].shape[1]))
    read = text(7)
    evaluate(net, TASK, read, 2)
    assert sum(seen) == len(read.tokens.unique())


def test_a_stack_is_its_seeds():
    both = network(replicas=2)
    alone = build(TOY, Plan(SIGMOID, COUPLED, CONTENT.shape, 9, 1, symbols=8))
    initialise(alone, "torch", streams([1], "init"))
    x, _ = next(text(6).in_turn(3))
    pair = both.train().run(x.expand(2, *x.shape)).main
    torch.testing.assert_close(pair[1], alone.double().train().run(x.unsqueeze(0)).main[0])


def test_dropout_is_on_what_leaves_an_lstm_and_not_on_what_enters_the_first():
    net = network(body=dataclasses.replace(TOY, dropout=0.5)).train()
    entered, left = [], []
    net.head.layers[0].register_forward_hook(lambda _, inputs, __: entered.append(inputs[0]))
    for drop in net.head.drops:
        drop.register_forward_hook(lambda _, __, y: left.append(float((y == 0).double().mean())))
    x, _ = next(text(20).in_turn(3))
    for part in net.drawing:
        part.draw(streams([0], "dropout"))
    net.run(x.unsqueeze(0))
    assert not (entered[0] == 0).any()
    assert len(left) == 2
    assert all(math.isclose(share, 0.5, abs_tol=0.2) for share in left)
