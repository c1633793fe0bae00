"""Words by class and by likeness, and the model that knows their frequency alone."""

import math

import pytest
import torch

from skipgate.data.text import Text, Vocabulary
from skipgate.files import Problem
from skipgate.nets.gates.sigmoid import Sigmoid
from skipgate.probes import PROBES
from skipgate.probes.subject import Subject
from skipgate.probes.words import CLASSES, classes, unigram
from skipgate.settings import Probes, Reading
from tests.nets.test_reading import SIGMOID, TASK, network, text
from tests.toys import ONE

WORDS = ("the", "<unk>", "<eos>", "N", "so-called", "cat", "mat", "--", "dog")


def subject(net):
    read = text(7)
    named = Vocabulary(WORDS, read.vocabulary.spelling)
    whole = Text(read.tokens, named, 7, 0)
    return Subject(net, whole, 2, whole, TASK)


def test_signs_and_hyphens_decide_before_frequency_does():
    found = classes(WORDS, [50, 40, 30, 20, 60, 1, 5, 1, 70], Reading(frequent=3, rare=1))
    assert found[1:5] == ["<unk>", "other", "N", "hyphenated"]
    assert (found[0], found[5], found[6], found[8]) == ("frequent", "rare", "other", "frequent")
    assert found[7] == "rare"


def test_a_unigram_model_has_the_perplexity_of_its_counts():
    counts = torch.tensor([7, 1, 0])
    tokens = torch.tensor([0, 0, 1, 2])
    by_hand = math.exp(-(2 * math.log(8 / 11) + math.log(2 / 11) + math.log(1 / 11)) / 4)
    assert unigram(counts, tokens) == pytest.approx(by_hand)
    assert unigram(torch.zeros(9, dtype=torch.long), tokens) == pytest.approx(9)


def test_openness_is_the_mean_of_the_gates_over_the_words_of_a_class():
    net = network(SIGMOID, ONE)
    for block in net.blocks:
        assert isinstance(block.T, Sigmoid)
        torch.nn.init.zeros_(block.T.affine.weight)
        torch.nn.init.constant_(block.T.affine.bias, 1.0)
    found = PROBES["words"](subject(net), Probes(words=Reading(frequent=2, rare=1)))
    assert "C" not in found, "a constant gate has nothing to tell"
    expected = 1 / (1 + math.exp(-1))
    present = [i for i, count in enumerate(found["counts"]) if count]
    assert sum(found["counts"]) == len(WORDS)
    for block in found["T"]["by_class"]:
        assert len(block) == len(CLASSES)
        assert [block[i] for i in present] == [[pytest.approx(expected)]] * len(present)
    assert all(row == [pytest.approx(expected)] for b in found["T"]["by_unit"] for row in b)


def test_neighbours_are_spelt_alike_before_the_layers():
    net = network()
    made = subject(net)
    spelling = made.examples.vocabulary.spelling
    spelling[8] = spelling[5]
    settings = Probes(words=Reading(queries=("cat", "absent"), nearest=2))
    found = PROBES["words"](made, settings)
    assert found["queries"] == ["cat"]
    assert found["before"][0][0] == found["after"][0][0] == ["dog"]
    assert len(found["before"][0]) == 2


def test_lesions_of_layers_work_with_a_state_that_is_carried():
    net = network()
    found = PROBES["lesion"](subject(net), Probes())
    assert found["whole"] == pytest.approx(subject(net).scores())
    assert len(found["without"]) == 2
    assert found["without"][0] != found["whole"]


def test_networks_of_images_have_no_words(split):
    from tests.toys import MLP
    from tests.toys import network as images

    with pytest.raises(Problem, match="is for networks that read text"):
        PROBES["words"](Subject(images(MLP), split.test, 8), Probes())
