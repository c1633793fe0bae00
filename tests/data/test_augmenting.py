"""Random changes of images are torchvision's given the same draws, and each seed's own."""

import pytest
import torch
from torchvision.transforms import functional
from torchvision.transforms.v2 import functional as v2

from skipgate.data.augmenting import WINDOW_DRAWS, Augmentation, box, cut
from skipgate.data.images import Images
from skipgate.data.pixels import AS_IS, scaling_of
from skipgate.settings import (
    Augment,
    ConstantRate,
    FixedPixels,
    Jitter,
    Lighting,
    Nadam,
    Recipe,
    Window,
)
from skipgate.streams import stream, streams

SZEGEDY = Window((0.08, 1.0), (3 / 4, 4 / 3))
LIGHT = Lighting(0.1, (0.2, 0.02, 0.005), ((0.6, 0.7, 0.4), (0.6, 0.0, -0.8), (0.6, -0.7, 0.4)))
KINDS = {
    "crop and flip": Augment(pad=4, flip=True),
    "brightness": Augment(brightness=10),
    "contrast": Augment(contrast=0.2),
    "window": Augment(window=SZEGEDY),
    "jitter": Augment(jitter=Jitter(0.4, 0.4, 0.4)),
    "lighting": Augment(lighting=LIGHT),
    "all": Augment(4, True, 10, 0.2, SZEGEDY, Jitter(0.4, 0.4, 0.4), LIGHT),
}


def some(count=12, low=0, high=256, side=16):
    """Images as bytes with their scaling by 255."""
    x = torch.randint(low, high, (count, 3, side, side), generator=stream(1, "x")).byte()
    return Images(x, torch.arange(count), scaling_of(x, 255, "unit", torch.float32))


def epoch(images, augment, seeds=(0,), batch=5, shuffle=False):
    recipe = Recipe(
        1, batch, Nadam("nadam"), ConstantRate("constant"), augment=augment, shuffle=shuffle
    )
    found = list(images.epoch(recipe, lambda purpose: streams(seeds, purpose)))
    return torch.cat([x for x, _ in found], 1), torch.cat([y for _, y in found], 1)


def pixels(images, augment):
    """What one seed gets, from 0 to 255 again."""
    return epoch(images, augment, batch=len(images))[0][0] * 255


def test_crops_and_flips_are_torchvisions_given_the_same_offsets():
    images = some()
    found, _ = epoch(images, Augment(pad=4, flip=True), batch=len(images))
    generator = stream(0, "augment")
    tops, lefts = torch.randint(9, (2, len(images)), generator=generator).tolist()
    turned = (torch.rand(len(images), generator=generator) < 0.5).tolist()
    assert any(turned)
    assert not all(turned)
    for image, result, top, left, flip in zip(images.x, found[0], tops, lefts, turned, strict=True):
        wanted = functional.crop(functional.pad(image, 4), top, left, 16, 16)
        wanted = functional.hflip(wanted) if flip else wanted
        assert torch.equal(result, wanted.float() / 255)


def test_brightness_is_one_number_of_its_range_for_all_pixels_of_an_image():
    images = some(200, 20, 230)
    shifts = pixels(images, Augment(brightness=10)) - images.x
    assert shifts.flatten(1).std(1).max() < 1e-4
    numbers = shifts[:, 0, 0, 0]
    assert numbers.abs().max() <= 10
    assert numbers.min() < -8
    assert numbers.max() > 8


def test_contrast_scales_the_residual_to_the_mean_of_each_channel():
    images = some(200, 60, 190)
    found = pixels(images, Augment(contrast=0.2))
    mean = images.x.float().mean((2, 3), keepdim=True)
    assert torch.allclose(found.mean((2, 3), keepdim=True), mean, atol=1e-3)
    factors = (found - mean).flatten(1).norm(dim=1) / (images.x - mean).flatten(1).norm(dim=1)
    wanted = mean + (images.x - mean) * factors.view(-1, 1, 1, 1)
    assert torch.allclose(found, wanted, atol=1e-3)
    assert 0.8 <= factors.min() < 0.84
    assert 1.16 < factors.max() <= 1.2001


def test_changed_colours_are_cut_to_those_of_pixels_before_the_crop():
    images = some(50)
    found = pixels(images, Augment(brightness=10, contrast=0.2))
    assert found.min() == 0
    assert found.max() == 255
    centred = Images(images.x, images.y, scaling_of(images.x, 255, "centred", torch.float32))
    padded, _ = epoch(centred, Augment(pad=4, brightness=10))
    assert (padded == 0).any(), "the margin is 0 for the network, not a darkened or centred black"


@pytest.mark.parametrize("word", ["brightness", "contrast", "saturation"])
def test_jitter_is_torchvisions_given_the_same_factors(word):
    images = some(30, 100, 140)  # nothing that torchvision would cut off
    found, _ = epoch(images, Augment(jitter=Jitter(**{word: 0.4})), batch=len(images))
    drawn = torch.rand(len(images), generator=stream(0, f"jitter-{word}"))
    factors = (0.6 + 0.8 * drawn).tolist()
    change = getattr(functional, f"adjust_{word}")
    for image, result, factor in zip(images.x, found[0], factors, strict=True):
        # It takes 0.2989 of red where ours is the standard's 0.299.
        assert torch.allclose(result, change(image.float() / 255, factor), atol=2e-4)


def test_lighting_is_a_step_along_the_components():
    images = some(400)
    shifts = epoch(images, Augment(lighting=LIGHT), batch=400)[0][0] - images.x / 255
    assert shifts.flatten(2).std(2).max() < 1e-6, "one colour for a whole image"
    steps = torch.linalg.solve(torch.tensor(LIGHT.vectors), shifts[:, :, 0, 0].T)
    drawn = torch.randn(400, 3, generator=stream(0, "lighting"))
    wanted = 0.1 * drawn * torch.tensor(LIGHT.values)
    assert torch.allclose(steps.T, wanted, atol=1e-5)


def test_colours_change_in_every_order():
    """Twice as bright and half a step of light, or the light made twice as bright with the rest."""
    x = torch.full((64, 3, 2, 2), 100, dtype=torch.uint8)
    images = Images(x, torch.arange(64), scaling_of(x, 255, "unit", torch.float64))
    augment = Augment(jitter=Jitter(brightness=0.5), lighting=LIGHT)
    found = epoch(images, augment, batch=64)[0][0, :, :, 0, 0] * 255
    factor = 0.5 + torch.rand(64, generator=stream(0, "jitter-brightness"))[:, None]
    drawn = torch.randn(64, 3, generator=stream(0, "lighting"))
    light = 25.5 * drawn * torch.tensor(LIGHT.values) @ torch.tensor(LIGHT.vectors).T
    first, last = ((100 + light) * factor, 100 * factor + light)
    is_first = (found - first).abs().amax(1) < 1e-3
    is_last = (found - last).abs().amax(1) < 1e-3
    assert (is_first | is_last).all()
    assert 16 < is_first.sum() < 48


def test_a_window_is_torchvisions_given_its_box():
    generator = stream(0, "windows")
    image = torch.randint(256, (3, 50, 70), generator=generator).byte()
    for _ in range(20):
        draws = torch.rand(WINDOW_DRAWS, generator=generator)
        place = box(50, 70, SZEGEDY, draws.tolist())
        wanted = v2.resized_crop(image, *place, [24, 24], antialias=True)
        assert torch.equal(cut(image, SZEGEDY, draws, 24), wanted)


def test_windows_have_the_areas_and_ratios_that_are_asked_for_and_fill_the_image():
    draws = torch.rand(4000, WINDOW_DRAWS, generator=stream(0, "w"))
    boxes = torch.tensor([box(400, 400, SZEGEDY, row) for row in draws.tolist()]).double()
    top, left, height, width = boxes.T
    area = height * width / 400**2
    ratio = width / height
    assert 0.078 < area.min() < 0.1
    assert area.max() > 0.97
    assert 0.74 < ratio.min() < 0.76
    assert 1.32 < ratio.max() < 1.35
    assert ratio.log().mean().abs() < 0.02, "as often wide as high"
    assert top.min() == 0
    assert left.min() == 0
    assert (top + height).max() == 400
    assert (left + width).max() == 400


def test_where_no_window_fits_it_is_the_middle():
    draws = [0.99] * WINDOW_DRAWS
    assert box(10, 100, Window((1, 1), (1, 1.5)), draws) == (0, 42, 10, 15)
    assert box(100, 10, Window((1, 1), (0.5, 1)), draws) == (40, 0, 20, 10)


@pytest.mark.parametrize("augment", KINDS.values(), ids=KINDS)
def test_a_seed_in_a_stack_is_changed_as_it_is_alone_and_unlike_the_others(augment):
    images = some(11)
    stack, orders = epoch(images, augment, (3, 4, 5), shuffle=True)
    for place, seed in enumerate((3, 4, 5)):
        alone, order = epoch(images, augment, (seed,), shuffle=True)
        assert torch.equal(orders[place], order[0])
        assert torch.allclose(stack[place], alone[0], atol=1e-6)
    unshuffled, _ = epoch(images, augment, (3, 4))
    assert not torch.equal(unshuffled[0], unshuffled[1])


def test_a_change_that_is_switched_on_leaves_the_draws_of_the_others_alone():
    images = some(11, 100, 120)
    plain, _ = epoch(images, Augment(pad=4, flip=True))
    brighter, _ = epoch(images, Augment(pad=4, flip=True, brightness=10, jitter=Jitter(0.1)))
    assert torch.equal(plain == 0, brighter == 0), "margins of the crops"


def test_numbers_of_a_batch_are_those_of_all_images_scaled_at_once():
    """As they were when images lay in memory as floats: the bytes of no net may change."""
    images = some(40)
    x = images.x.float() / 255
    mean = x.mean((0, 2, 3), keepdim=True)
    deviation = x.std((0, 2, 3), keepdim=True)
    torchvisions = FixedPixels("bgr", 1.0, (0.4, 0.5, 0.6), (0.2, 0.3, 0.4))
    fixed = images.x.float().flip(1) * (1.0 / 255) - torch.tensor([0.4, 0.5, 0.6]).view(-1, 1, 1)
    wanted = {
        "unit": x,
        "centred": x - x.mean(0),
        "standardised": (x - mean) / deviation,
        torchvisions: fixed / torch.tensor([0.2, 0.3, 0.4]).view(-1, 1, 1),
    }
    for kind, numbers in wanted.items():
        scaling = scaling_of(images.x, 255, kind, torch.float32)
        for size in (1, 7, 40):
            parts = [scaling(part) for part in images.x.split(size)]
            assert torch.equal(torch.cat(parts), numbers), kind
        assert torch.equal(scaling(images.x.expand(2, -1, -1, -1, -1))[1], numbers)


def test_epsilons_code_divides_by_128():
    images = some(40)
    x = images.x.double()
    alone = scaling_of(images.x, 255, FixedPixels(brightest=255, deviation=(128,)), torch.float32)
    assert torch.equal(alone(images.x), images.x.float() / 128)
    centred = scaling_of(images.x, 255, "centred-128", torch.float64)
    assert torch.allclose(centred(images.x), (x - x.mean(0)) / 128, atol=1e-12)


def test_images_that_are_numbers_already_go_from_0_to_1():
    x = torch.rand(4, 3, 8, 8, generator=stream(0, "x"))
    augmentation = Augmentation(Augment(brightness=0.1), lambda purpose: streams([0], purpose))
    (found,) = augmentation.applied(x[None], AS_IS, 4)
    shift = 0.2 * torch.rand(4, 1, 1, 1, generator=stream(0, "brightness")) - 0.1
    assert torch.allclose(found, (x + shift).clamp(0, 1))
