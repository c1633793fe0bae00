"""How a net may be built and trained: the values of `params.yaml`, as frozen dataclasses that say what they mean."""

from skipgate.settings.bodies import Body, Crelu, Fleuret, GateChoice, Init, Mlp, Norm, Resnet
from skipgate.settings.recipes import Augment, Constant, Dataset, Decay, Fractions, Nadam, Pixels, Recipe, Sgd, Steps

__all__ = [
    "Augment",
    "Body",
    "Constant",
    "Crelu",
    "Dataset",
    "Decay",
    "Fleuret",
    "Fractions",
    "GateChoice",
    "Init",
    "Mlp",
    "Nadam",
    "Norm",
    "Pixels",
    "Recipe",
    "Resnet",
    "Sgd",
    "Steps",
]
