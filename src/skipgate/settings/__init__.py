"""What may be asked for: the values of `params.yaml`, as frozen dataclasses. No torch."""

from skipgate.settings.bodies.character import Character
from skipgate.settings.bodies.crelu import Crelu
from skipgate.settings.bodies.fleuret import Fleuret
from skipgate.settings.bodies.imagenet import Imagenet
from skipgate.settings.bodies.mlp import Mlp
from skipgate.settings.bodies.resnet import Resnet
from skipgate.settings.bodies.vgg import Vgg
from skipgate.settings.body import Body, Init, Norm, Shared, Shortcut
from skipgate.settings.gates import GateChoice
from skipgate.settings.gpu import Gpu
from skipgate.settings.measures import (
    COMPRESSION,
    DISCARDED,
    MEAN_GATE,
    PROBED,
    SAVED,
    Measure,
)
from skipgate.settings.probing import (
    LAYOUTS,
    Estimating,
    Identities,
    Layout,
    Patches,
    PathSampling,
    Probes,
    Pruning,
    Reading,
    Shuffling,
)
from skipgate.settings.recipes import (
    Augment,
    Decay,
    FixedPixels,
    Given,
    Handling,
    Jitter,
    Lighting,
    Nadam,
    Pixels,
    Recipe,
    Sgd,
    Window,
)
from skipgate.settings.schedules import (
    Adaptive,
    ConstantRate,
    Fractions,
    Halving,
    History,
    Moment,
    Schedule,
    Steps,
)
from skipgate.settings.task import Source, TaskSettings
from skipgate.settings.tasks.classify import Classify
from skipgate.settings.tasks.language import MARKS, Language
from skipgate.settings.weights import Names, Weights

__all__ = [
    "COMPRESSION",
    "DISCARDED",
    "LAYOUTS",
    "MARKS",
    "MEAN_GATE",
    "PROBED",
    "SAVED",
    "Adaptive",
    "Augment",
    "Body",
    "Character",
    "Classify",
    "ConstantRate",
    "Crelu",
    "Decay",
    "Estimating",
    "FixedPixels",
    "Fleuret",
    "Fractions",
    "GateChoice",
    "Given",
    "Gpu",
    "Halving",
    "Handling",
    "History",
    "Identities",
    "Imagenet",
    "Init",
    "Jitter",
    "Language",
    "Layout",
    "Lighting",
    "Measure",
    "Mlp",
    "Moment",
    "Nadam",
    "Names",
    "Norm",
    "Patches",
    "PathSampling",
    "Pixels",
    "Probes",
    "Pruning",
    "Reading",
    "Recipe",
    "Resnet",
    "Schedule",
    "Sgd",
    "Shared",
    "Shortcut",
    "Shuffling",
    "Source",
    "Steps",
    "TaskSettings",
    "Vgg",
    "Weights",
    "Window",
]
