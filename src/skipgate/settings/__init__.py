"""How a net may be built and trained: the values of `params.yaml`, as frozen dataclasses that say what they mean."""

from skipgate.settings.bodies import Body, Crelu, Fleuret, GateChoice, Init, Mlp, Norm, Resnet
from skipgate.settings.probing import Estimating, PathSampling, Probes, Pruning, Shuffling
from skipgate.settings.recipes import (
    Augment,
    Constant,
    Dataset,
    Decay,
    Fractions,
    Nadam,
    Pixels,
    Recipe,
    Sgd,
    Steps,
)

__all__ = [
    "Augment",
    "Body",
    "Constant",
    "Crelu",
    "Dataset",
    "Decay",
    "Estimating",
    "Fleuret",
    "Fractions",
    "GateChoice",
    "Init",
    "Mlp",
    "Nadam",
    "Norm",
    "PathSampling",
    "Pixels",
    "Probes",
    "Pruning",
    "Recipe",
    "Resnet",
    "Sgd",
    "Shuffling",
    "Steps",
]
