"""Pixels as networks want them: bytes lie in memory, and are made into numbers batch by batch."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from skipgate.settings import FixedPixels, Pixels

CHANNEL = -3
"""The axis of channels, whatever stands before it."""
CHUNK = 10000
"""Images that are summed at once."""
EPSILON_DIVISOR = 128
"""What epsilon-ResNet's code divides by, whatever the largest pixel is."""
Step = tuple[Callable[[Tensor, Tensor], Tensor], Tensor]
"""An operation and its second number: a tensor, as CUDA divides by plain numbers less exactly."""


@dataclass(frozen=True)
class Scaling:
    """From pixels of 0 to `top` to what a network is fed, step by step."""

    top: int
    dtype: torch.dtype | None
    """That of the numbers; None leaves it as it is."""
    steps: tuple[Step, ...] = ()
    turned: bool = False
    """Whether blue comes first."""

    def numbers(self, x: Tensor) -> Tensor:
        """Pixels as numbers from 0 to `top`."""
        return x if self.dtype is None else x.to(self.dtype)

    def __call__(self, x: Tensor) -> Tensor:
        """Scale images (..., channel, height, width)."""
        x = self.numbers(x)
        x = x.flip(CHANNEL) if self.turned else x
        for operation, number in self.steps:
            x = operation(x, number)
        return x

    def to(self, device: torch.device) -> "Scaling":
        """The same on another device."""
        steps = tuple((operation, number.to(device)) for operation, number in self.steps)
        return replace(self, steps=steps)


AS_IS = Scaling(1, None)
"""For images that a network takes as they are."""


def scaling_of(
    train: Tensor, top: int, pixels: Pixels | FixedPixels, dtype: torch.dtype
) -> Scaling:
    """How all images are scaled, by what those of the training set have.

    unit: divided by the largest value, `top`. centred: moreover less the mean image, pixel by
    pixel, as He et al. do. standardised: less each channel's mean, divided by its standard
    deviation, as Zagoruyko and Komodakis do. centred-128: less the mean image, divided by 128, as
    epsilon-ResNet's code does. Fixed ones go by numbers that are given.
    """
    if isinstance(pixels, FixedPixels):
        return fixed_scaling(top, pixels, dtype)
    if pixels == "centred-128":
        divisor = torch.tensor(EPSILON_DIVISOR, dtype=dtype)
        return Scaling(top, dtype, ((torch.sub, _mean(train, dtype)), (torch.div, divisor)))
    unit = Scaling(top, dtype, ((torch.div, torch.tensor(top, dtype=dtype)),))
    if pixels == "unit":
        return unit
    images = unit(train)
    if pixels == "centred":
        return replace(unit, steps=(*unit.steps, (torch.sub, images.mean(0))))
    axes = (0, 2, 3)
    mean = images.mean(axes, keepdim=True)[0]
    deviation = images.std(axes, keepdim=True)[0]
    return replace(unit, steps=(*unit.steps, (torch.sub, mean), (torch.div, deviation)))


def fixed_scaling(top: int, pixels: FixedPixels, dtype: torch.dtype) -> Scaling:
    """Scaling by numbers that are given."""
    factor = torch.tensor(pixels.brightest / top, dtype=dtype)
    mean, deviation = _by_channel(pixels, dtype)
    steps = ((torch.mul, factor), (torch.sub, mean), (torch.div, deviation))
    return Scaling(top, dtype, steps, turned=pixels.order == "bgr")


def unscaled(x: Tensor, pixels: Pixels | FixedPixels) -> Tensor:
    """Inputs as colours from 0 to 1 again; where it is not known how, from darkest to brightest."""
    if not isinstance(pixels, FixedPixels):
        return (x - x.amin()) / (x.amax() - x.amin()).clamp(min=1e-12)
    mean, deviation = _by_channel(pixels, x.dtype)
    x = (x * deviation + mean) / pixels.brightest
    return x.flip(1) if pixels.order == "bgr" else x


def _by_channel(pixels: FixedPixels, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    mean, deviation = (
        torch.tensor(values, dtype=dtype).view(-1, 1, 1)
        for values in (pixels.mean, pixels.deviation)
    )
    return mean, deviation


def _mean(images: Tensor, dtype: torch.dtype) -> Tensor:
    """The mean image, of exact sums and without a copy of all images as numbers."""
    total = torch.stack([chunk.sum(0, dtype=torch.long) for chunk in images.split(CHUNK)]).sum(0)
    return (total.double() / len(images)).to(dtype)
