"""Pieces of images that excite a unit, on images where one can say which they are."""

import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from skipgate.data.images import Images
from skipgate.files import Problem
from skipgate.nets.block import Block, Gates, Paths, Site
from skipgate.nets.gate import Slot
from skipgate.nets.gates.constant import Constant
from skipgate.nets.network import Network
from skipgate.nets.parts import Pooled
from skipgate.probes import PROBES
from skipgate.probes.subject import Subject
from skipgate.settings import Patches, Probes
from tests.toys import MLP, images, network

SIDE = 16


class Halved(nn.Module):
    """Every second pixel: a map half as large as the image."""

    def forward(self, x, _shut=None):
        return x[..., ::2, ::2]


def spotted() -> Images:
    """Grey images; in image i the red channel has a spot of brightness i / 10 at its own place."""
    x = torch.full((8, 3, SIDE, SIDE), 0.05)
    for i in range(8):
        x[i, 0, 2 * i : 2 * i + 4, SIDE - 2 - 2 * i :][:, :4] = i / 10
    x[3, 1, 4, 4] = 1.0  # the green unit responds to one image alone, and is the most selective
    return Images(x, torch.zeros(8, dtype=torch.long))


def subject() -> Subject:
    slot = Slot(1, 0, 1, lambda: None)
    paths = Paths(Halved(), Halved(), nn.Identity(), nn.Identity())
    block = Block(Site(0, 0, keeps_shape=False), paths, Gates(Constant(slot), Constant(slot, 0.0)))
    return Subject(Network(1, nn.Identity(), [block], Pooled()), spotted(), 3)


def shown(strip: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(strip))))


def test_the_strongest_images_come_first_with_the_place_that_excited_the_unit():
    found = PROBES["patches"](subject(), Probes(patches=Patches(units=2, pieces=3, side=5)))
    assert found["units"] == [1, 0]
    green, red = (unit[0] for unit in found["activations"])
    assert green == pytest.approx([1.0, 0.05, 0.05])
    assert red == pytest.approx([0.7, 0.6, 0.5])
    strip = shown(found["strips"][1][0])
    assert strip.shape == (5, 15, 3)
    brightest = [strip[:, 5 * i : 5 * i + 5, 0].max() for i in range(3)]
    assert brightest[0] > brightest[1] > brightest[2] > 80, "each piece has its spot"


def test_units_of_a_dense_network_have_no_place():
    made = network(MLP)
    case = Subject(made, Images(images(4)[0], torch.zeros(4, dtype=torch.long)), 4)
    with pytest.raises(Problem, match="leave patches out"):
        PROBES["patches"](case, Probes())
