"""Distances to identity: the layers of this project against the formulas."""

import math

import pytest
import torch

from skipgate.theory import sdi

FAMILIES = [(name, convention) for name in sdi.FAMILIES for convention in sdi.CONVENTIONS]


@pytest.fixture(scope="module")
def layers():
    return {(kind, n): sdi._layer(kind, n, 200) for kind in sdi.LAYERS for n in (5, 40)}


@pytest.mark.parametrize(("name", "convention"), FAMILIES)
@pytest.mark.parametrize("n", [5, 40])
def test_sampled_layers_follow_the_formula(layers, name, convention, n):
    family = sdi.FAMILIES[name]
    total = sdi.sample(family, layers[family.kind, n], convention).total
    slope, intercept = sdi.closed_form(family, convention)
    error = float(total.std()) / math.sqrt(len(total))
    assert abs(float(total.mean()) - (slope * n + intercept)) < 5 * error
    assert error < 0.05 * slope * n  # else anything would pass


def test_only_a_classical_layer_has_a_diagonal_of_its_own(layers):
    """Equations 4, 9 and 12: M is uniform except where the identity matrix must be learned."""
    for name, family in sdi.FAMILIES.items():
        found = sdi.sample(family, layers[family.kind, 40], "paper").elements
        assert found["off diagonal"] == pytest.approx(2 / 40, rel=0.02)
        assert found["diagonal"] == pytest.approx(2 / 40 + (name == "classical"), abs=0.03)


def test_the_conventions_differ_by_the_variance_of_the_biases(layers):
    family = sdi.FAMILIES["residual"]
    paper, project = (
        sdi.sample(family, layers["residual", 40], convention) for convention in sdi.CONVENTIONS
    )
    assert project.elements["bias"] == 0
    assert paper.elements["bias"] == pytest.approx(2 / 40, rel=0.1)
    assert torch.all(paper.total > project.total)


@pytest.mark.parametrize(("c", "printed"), [(-4.0, 0.018), (-4.5, 0.011), (-5.0, 0.007)])
def test_the_gate_of_table_1(c, printed):
    assert round(sdi.gate_at(c), 3) == printed
    assert sdi.gate_at(c) == pytest.approx(1 / (1 + math.exp(-c)), rel=1e-12)


def test_the_formulas_are_the_printed_ones():
    printed = {
        "classical": (3, 2),
        "highway -4.0": (2, 2),
        "highway -4.5": (2.25, 2),
        "highway -5.0": (3, 2),
        "residual": (2, 2),
    }
    assert {
        name: sdi.closed_form(family, "paper") for name, family in sdi.FAMILIES.items()
    } == printed


def test_a_fit_finds_a_line_and_its_interval_holds_it():
    generator = torch.Generator().manual_seed(0)
    noisy = {
        n: sdi.Distances(
            2.5 * n + 7 + torch.randn(400, generator=generator, dtype=torch.float64), {}
        )
        for n in (10, 100, 1000)
    }
    found = sdi.fitted(noisy)
    assert abs(found["sampled slope"] - 2.5) < 3 * found["slope margin"] < 0.01
    assert abs(found["sampled intercept"] - 7) < 3 * found["intercept margin"] < 1


@pytest.mark.parametrize("start", [0.25, 3.0])
def test_a_scalar_gate_is_as_far_as_its_k(start):
    assert sdi.gated(start) == start**2


def test_equation_15_as_derived_and_not_as_printed():
    found = sdi.misprint()
    assert (
        abs(found["sampled"] - found["derived"])
        < 5 * found["error"]
        < abs(found["sampled"] - found["as printed"])
    )
