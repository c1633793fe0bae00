"""Random changes of training images, in batches, on the device that they lie on.

Each change draws from a stream of its own per seed: switching one on leaves the others as they
were, and a seed in a stack is changed as it is alone. Draws are made for whole batches: an image is
changed as it is whichever of several processes has it.
"""

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from skipgate.data.examples import Streams
from skipgate.data.pixels import CHANNEL, Scaling
from skipgate.group import EVERYTHING, Share
from skipgate.settings import Augment, Window

GREY = (0.299, 0.587, 0.114)
"""Shares of red, green and blue in a grey value (ITU-R BT.601)."""
ATTEMPTS = 10
"""How often a window that does not fit is drawn again, before the middle is taken."""
WINDOW_DRAWS = 2 * ATTEMPTS + 2
"""Random numbers for one window: an area and a ratio per attempt, then its place."""

Change = Callable[[Tensor, Tensor], Tensor]
"""Images (image, channel, height, width) and numbers that fit them, to changed images."""


class Augmentation:
    """The random changes of one epoch; images are (replica, batch, channel, height, width).

    They are the rows of a share; `whole` is how many images the batch has in all.
    """

    def __init__(self, augment: Augment, streams: Streams, share: Share = EVERYTHING) -> None:
        self.augment = augment
        self.share = share
        self._streams = streams
        self._begun: dict[str, Sequence[torch.Generator]] = {}

    def windows(self, whole: int) -> Tensor:
        """Random numbers (replica, image, `WINDOW_DRAWS`), by which `cut` chooses a part."""
        return self._uniform("window", whole, WINDOW_DRAWS)

    def applied(self, x: Tensor, scaling: Scaling, whole: int) -> Tensor:
        """Colours are changed on pixels, then these are scaled, cropped and flipped."""
        x = self._distorted(self._coloured(x, scaling, whole), scaling, whole)
        return self._moved(scaling(x), whole)

    def _coloured(self, x: Tensor, scaling: Scaling, whole: int) -> Tensor:
        """Brightness and contrast as in *epsilon-resnet* section 4: numbers for a whole image.

        What is added to all its pixels, and what their distance from the mean of their channel is
        multiplied by; the result is cut to the range of pixels.
        """
        augment = self.augment
        if not (augment.brightness or augment.contrast):
            return x
        x = scaling.numbers(x)
        if augment.brightness:
            x = x + self._around(0, augment.brightness, "brightness", whole).to(x.device)
        if augment.contrast:
            mean = x.mean((-2, -1), keepdim=True)
            factor = self._around(1, augment.contrast, "contrast", whole)
            x = mean + (x - mean) * factor.to(x.device)
        return x.clamp(0, scaling.top)

    def _distorted(self, x: Tensor, scaling: Scaling, whole: int) -> Tensor:
        """Jitter and lighting, in an order that is drawn for each image."""
        jitter = self.augment.jitter
        kinds = (
            (torch.mul, jitter.brightness, "jitter-brightness"),
            (_starker, jitter.contrast, "jitter-contrast"),
            (_richer, jitter.saturation, "jitter-saturation"),
        )
        changes: list[tuple[Change, Tensor]] = [
            (change, self._around(1, spread, purpose, whole).to(x.device))
            for change, spread, purpose in kinds
            if spread
        ]
        if self.augment.lighting.deviation:
            changes.append((torch.add, self._light(scaling, whole).to(x.device)))
        if not changes:
            return x
        orders = self._uniform("order-of-colours", whole, len(changes)).argsort(-1)
        flat = [(change, numbers.flatten(0, 1)) for change, numbers in changes]
        images = scaling.numbers(x).flatten(0, 1)
        return _one_after_the_other(images, flat, orders.flatten(0, 1)).view(x.shape)

    def _light(self, scaling: Scaling, whole: int) -> Tensor:
        """Krizhevsky et al. 2012: a step along each principal component of ImageNet's colours."""
        lighting = self.augment.lighting
        values = scaling.top * lighting.deviation * torch.tensor(lighting.values)
        drawn = [
            torch.randn(whole, len(values), generator=g) * values
            for g in self._generators("lighting")
        ]
        shifts = torch.stack(drawn) @ torch.tensor(lighting.vectors).T
        return self._own(shifts)[..., None, None]

    def _moved(self, x: Tensor, whole: int) -> Tensor:
        """Crops and flips, each replica by its own generator."""
        augment = self.augment
        generators = self._generators("augment")
        if augment.pad:
            most = 2 * augment.pad + 1
            drawn = [torch.randint(most, (2, whole), generator=g) for g in generators]
            shifts = self._own(torch.stack(drawn).mT).mT
            replicas = zip(x, shifts, strict=True)
            x = torch.stack([_cropped(images, augment.pad, own) for images, own in replicas])
        if augment.flip:
            draws = [torch.rand(whole, generator=g) < 0.5 for g in generators]
            turned = self._own(torch.stack(draws)).to(x.device)
            x = torch.where(turned[..., None, None, None], x.flip(-1), x)
        return x

    def _around(self, middle: float, spread: float, purpose: str, whole: int) -> Tensor:
        """For each image a number of [middle - spread, middle + spread]."""
        drawn = self._uniform(purpose, whole, 1, 1, 1)
        return middle + spread * (2 * drawn - 1)

    def _uniform(self, purpose: str, *shape: int) -> Tensor:
        """Numbers from 0 to 1 for a whole batch, of which (replica, image, ...) are its own."""
        drawn = torch.stack([torch.rand(shape, generator=g) for g in self._generators(purpose)])
        return self._own(drawn)

    def _own(self, drawn: Tensor) -> Tensor:
        """Of what was drawn for a whole batch, (replica, image, ...), the rows of the share."""
        return drawn[:, self.share.rows(drawn.shape[1])]

    def _generators(self, purpose: str) -> Sequence[torch.Generator]:
        """One per replica; they go on from batch to batch."""
        if purpose not in self._begun:
            self._begun[purpose] = self._streams(purpose)
        return self._begun[purpose]


def _one_after_the_other(
    x: Tensor, changes: Sequence[tuple[Change, Tensor]], orders: Tensor
) -> Tensor:
    """Apply all changes, to each image in its own order, (image, change)."""
    x = x.clone()
    for turn in orders.T:
        for number, (change, values) in enumerate(changes):
            rows = (turn == number).nonzero().flatten().to(x.device)
            x[rows] = change(x[rows], values[rows].to(x.dtype))
    return x


def _grey(x: Tensor) -> Tensor:
    shares = torch.tensor(GREY, dtype=x.dtype, device=x.device).view(-1, 1, 1)
    return (x * shares).sum(CHANNEL, keepdim=True)


def _starker(x: Tensor, factor: Tensor) -> Tensor:
    mean = _grey(x).mean((-2, -1), keepdim=True)
    return mean + (x - mean) * factor


def _richer(x: Tensor, factor: Tensor) -> Tensor:
    grey = _grey(x)
    return grey + (x - grey) * factor


def _cropped(x: Tensor, pad: int, shifts: Tensor) -> Tensor:
    """A window of the original size out of each zero-padded image, shifted by (2, image)."""
    count, _, height, width = x.shape
    shifts = shifts.to(x.device)
    rows = shifts[0].view(-1, 1) + torch.arange(height, device=x.device)
    columns = shifts[1].view(-1, 1) + torch.arange(width, device=x.device)
    image = torch.arange(count, device=x.device).view(-1, 1, 1)
    padded = F.pad(x, (pad, pad, pad, pad)).permute(0, 2, 3, 1)
    return padded[image, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2)


def cut(image: Tensor, window: Window, draws: Tensor, side: int) -> Tensor:
    """The window that these draws choose of an image of bytes, resized to a square."""
    top, left, height, width = box(image.shape[-2], image.shape[-1], window, draws.tolist())
    part = image[:, top : top + height, left : left + width].unsqueeze(0)
    # CUDA resizes no bytes.
    part = part.float() if part.is_cuda else part
    resized = F.interpolate(part, (side, side), mode="bilinear", antialias=True)
    return resized[0].round()


def box(
    height: int, width: int, window: Window, draws: Sequence[float]
) -> tuple[int, int, int, int]:
    """Top, left, height and width of a window (Szegedy et al. 2015, section 6).

    Its area and the logarithm of its ratio, width to height, are uniform. Of the attempts the first
    that fits is taken; where none does, the middle at the nearest ratio that is allowed.
    """
    low, high = map(math.log, window.ratio)
    *attempts, down, right = draws
    for area, ratio in zip(attempts[::2], attempts[1::2], strict=True):
        share = window.area[0] + area * (window.area[1] - window.area[0])
        wide = math.exp(low + ratio * (high - low))
        w = round(math.sqrt(height * width * share * wide))
        h = round(math.sqrt(height * width * share / wide))
        if 0 < w <= width and 0 < h <= height:
            return int(down * (height - h + 1)), int(right * (width - w + 1)), h, w
    wide = min(max(width / height, window.ratio[0]), window.ratio[1])
    w = min(width, round(height * wide))
    h = min(height, round(width / wide))
    return (height - h) // 2, (width - w) // 2, h, w
