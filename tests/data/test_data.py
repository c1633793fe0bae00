import numpy as np
import pytest
import torch

from skipgate import params
from skipgate.data.fetching import fetch
from skipgate.data.images import NAMES, Images, load
from skipgate.files import Problem
from skipgate.settings import Augment, ConstantRate, Nadam, Recipe, Source
from skipgate.streams import streams
from tests.toys import ROOT

CPU = torch.device("cpu")
SOURCE = Source("digits")


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """The digits, fetched, with their settings."""
    folder = tmp_path_factory.mktemp("data") / "digits"
    dataset = params.load(ROOT / "params.yaml").data["digits"]
    fetch("digits", dataset, SOURCE, folder)
    return folder, dataset


def test_digits_are_whole(digits):
    folder, dataset = digits
    arrays = {name: np.load(folder / f"{name}.npy") for name in NAMES}
    assert len(arrays["train_labels"]) + len(arrays["test_labels"]) == 1797
    assert len(arrays["test_labels"]) == dataset.test
    assert arrays["train_images"].max() == dataset.top
    assert set(arrays["test_labels"]) == set(range(dataset.classes))


def test_altered_content_is_refused_and_nothing_is_written(digits, tmp_path):
    import dataclasses

    altered = dataclasses.replace(digits[1], sha256="0" * 64)
    with pytest.raises(
        Problem, match=r"data\.digits: the decoded content hashes to efd5.*not to the recorded 0000"
    ):
        fetch("digits", altered, SOURCE, tmp_path / "digits")
    assert not (tmp_path / "digits").exists()


@pytest.mark.parametrize("content", [None, b"", b"\x93NUMPY cut"])
def test_a_missing_or_damaged_array_is_refused_with_the_remedy(digits, tmp_path, content):
    folder = tmp_path / "digits"
    fetch("digits", digits[1], SOURCE, folder)
    file = folder / "test_images.npy"
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(
        Problem, match=r"test_images\.npy is missing or damaged; run: dvc repro -f -s fetch@digits"
    ):
        load(folder, 16, "unit", CPU)


def whole(images):
    """All images as a network gets them."""
    return torch.cat([x for x, _ in images.in_turn(100)])


def test_pixels_are_scaled_by_the_training_images(digits):
    unit, centred, standard = (
        whole(load(digits[0], 16, pixels, CPU).train)
        for pixels in ("unit", "centred", "standardised")
    )
    assert (unit.min(), unit.max()) == (0, 1)
    assert centred.mean(0).abs().max().item() == pytest.approx(0, abs=1e-6)
    assert standard.std().item() == pytest.approx(1, abs=1e-4)
    assert whole(load(digits[0], 16, "centred", CPU).test).mean().abs() > 1e-5, (
        "the test set has a mean of its own"
    )


def numbered(count):
    """Images that carry their number in every pixel."""
    return Images(
        torch.arange(float(count)).view(-1, 1, 1, 1).expand(-1, 1, 4, 4), torch.arange(count)
    )


def batches(images, size, augment=None, seeds=range(1), epoch=0):
    recipe = Recipe(1, size, Nadam("nadam"), ConstantRate("constant"), augment=augment or Augment())
    return images.epoch(recipe, lambda purpose: streams(seeds, purpose, epoch))


def test_every_image_comes_once_an_epoch_for_every_seed():
    seen = [y for _, y in batches(numbered(10), 4, seeds=range(3))]
    assert [y.shape[1] for y in seen] == [4, 4, 2]
    orders = torch.cat(seen, 1)
    assert all(sorted(row.tolist()) == list(range(10)) for row in orders)
    assert len({tuple(row.tolist()) for row in orders}) == 3


def test_images_stay_with_their_labels():
    for x, y in batches(numbered(10), 4, seeds=range(2)):
        assert torch.equal(x[..., 0, 0, 0], y.float())


def test_images_are_tested_as_they_are_and_in_their_order():
    x, y = torch.rand(10, 1, 4, 4, generator=streams([0], "x")[0]), torch.arange(10)
    batches_in_turn = list(Images(x, y).in_turn(4))
    assert [len(labels) for _, labels in batches_in_turn] == [4, 4, 2]
    for all_of_them, parts in zip((x, y), zip(*batches_in_turn, strict=True), strict=True):
        assert torch.equal(torch.cat(parts), all_of_them)


def test_crops_move_an_image_by_up_to_pad_pixels_and_flips_mirror_it():
    image = torch.zeros(1, 1, 5, 5)
    image[0, 0, 2, 1] = 1  # off the middle, so that a flip shows
    places = set()
    flipped = set()
    for epoch in range(60):
        for augment, found in ((Augment(pad=1), places), (Augment(flip=True), flipped)):
            ((x, _),) = batches(Images(image, torch.zeros(1)), 1, augment, epoch=epoch)
            assert x.sum() == 1
            found.add(tuple(x[0, 0, 0].nonzero()[0].tolist()))
    assert places == {(row, column) for row in (1, 2, 3) for column in (0, 1, 2)}
    assert flipped == {(2, 1), (2, 3)}
