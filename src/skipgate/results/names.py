"""What nets are called on pages and in figures."""

from skipgate.settings import GateChoice
from skipgate.specs import Spec

FAMILIES = {
    ("constant 0", "constant 1"): "closed",
    ("constant 1", "constant 0"): "plain",
    ("constant 1", "constant 1"): "residual",
    ("scalar", "constant 1"): "gated",
    ("scalar", "coupled"): "scalar-gated layer",
    ("sigmoid", "coupled"): "highway",
    ("layers", "coupled"): "highway",
    ("pointwise", "coupled"): "highway, 1x1 gates",
    ("sigmoid", "sigmoid"): "highway, full",
    ("sigmoid", "constant 1"): "highway, T only",
    ("constant 1", "sigmoid"): "highway, C only",
    ("epsilon", "constant 1"): "epsilon",
    ("survival", "constant 1"): "stochastic depth",
}

ONE_PATH = ("plain", "CReLU")
"""Families without shortcuts."""


def family(spec: Spec) -> str:
    """The usual name of a pair of gates; a pair without one is spelt out."""
    if spec.settings.body.family:
        return spec.settings.body.family
    pair = _word(spec.settings.T), _word(spec.settings.C)
    return FAMILIES.get(pair, f"T {pair[0]}, C {pair[1]}")


def line(spec: Spec) -> str:
    """What a net is called in a legend: its family, and its start where nets differ by that."""
    body = spec.settings.body
    return f"{family(spec)}, {body.init}" if body.told_by_init else family(spec)


def size(spec: Spec) -> str:
    """The size by which nets of different families are set side by side."""
    return spec.settings.body.size


def _word(choice: GateChoice) -> str:
    return f"constant {choice.settings['value']:g}" if choice.gate == "constant" else choice.gate
