"""Settings follow the statements that they are said to follow."""

import dataclasses
import inspect

import pytest
import yaml

from skipgate.files import Problem
from skipgate.judging.papers import Paper, Protocol, Statement
from skipgate.judging.protocols import Settings, departures, expanded
from skipgate.nets.gates.scalar import Scalar
from tests.toys import ROOT

AT_PROTOCOL = {
    "recipes": ("mnist-dense",),
    "bodies": ("mnist-2", "mnist-10", "mnist-20", "mnist-50", "mnist-100"),
}
"""What params.yaml says is at gresnet's own protocol."""


def one(statement):
    return {"gresnet": Paper("p", protocols={"mnist": Protocol("t", (statement,))})}


def test_no_setting_departs_from_what_it_follows(settings, loaded):
    assert departures(settings, loaded) == []


@pytest.mark.parametrize(
    ("section", "name", "changes", "message"),
    [
        (
            "recipes",
            "mnist-dense",
            {"epochs": 99},
            "recipes.mnist-dense.epochs is 99, where gresnet has 100: mnist, epochs",
        ),
        (
            "recipes",
            "mnist-dense",
            {"pixels": "centred"},
            "recipes.mnist-dense.pixels is centred, where gresnet has unit: mnist, pixels",
        ),
        (
            "bodies",
            "mnist-50",
            {"depth": 48},
            "bodies.mnist-50.depth is 48, where gresnet has 50: mnist, d",
        ),
        (
            "recipes",
            "epsilon-svhn",
            {"epochs": 149},
            "recipes.epsilon-svhn.epochs is 149, where epsilon has 150: svhn, epochs of "
            "epsilon-ResNet",
        ),
        (
            "bodies",
            "strict-500-side",
            {"side": 0.2},
            "bodies.strict-500-side.side is 0.2, where epsilon has 0.1: all, loss on the side",
        ),
        (
            "bodies",
            "mnist-100",
            {"order": "pre"},
            "bodies.mnist-100.order is pre, where gresnet has post: mnist, order in a layer",
        ),
    ],
)
def test_a_setting_that_departs_is_named(settings, loaded, section, name, changes, message):
    parts = dict(getattr(settings, section))
    parts[name] = dataclasses.replace(parts[name], **changes)
    moved = dataclasses.replace(settings, **{section: parts})
    assert departures(moved, loaded) == [message]


def test_structure_is_held_too(settings, loaded):
    bodies = settings.bodies | {
        "fleuret": dataclasses.replace(settings.bodies["fleuret"], width=8),
    }
    moved = dataclasses.replace(settings, bodies=bodies)
    assert departures(moved, loaded) == [
        "bodies.fleuret.width is 8, where fleuret has 16: network, channels",
        "bodies.fleuret.width is 8, where fleuret has 16.0: stated-structure, network, channels",
    ]


def test_all_that_is_set_at_a_protocol_has_a_statement(loaded):
    """A line that is added to a recipe at the paper's protocol must say whose choice it is."""
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    stated = {
        path
        for protocol in loaded["gresnet"].protocols.values()
        for line in protocol.statements
        for path in expanded(line.setting)
    }
    missing = {
        f"{section}.{name}.{key}"
        for section, names in AT_PROTOCOL.items()
        for name in names
        for key in raw[section][name]
        if key != "kind"
        and not any(f"{path}.".startswith(f"{section}.{name}.{key}.") for path in stated)
    }
    assert missing == set()


def test_gates_start_where_the_paper_starts_them(loaded):
    stated = [
        line.value
        for protocol in loaded["gresnet"].protocols.values()
        for line in protocol.statements
        if line.what == "first k" and line.by == "paper"
    ]
    assert set(stated) == {inspect.signature(Scalar).parameters["start"].default}


def test_braces_stand_for_several_settings():
    assert expanded("bodies.mnist-{2,10}.width") == [
        "bodies.mnist-2.width",
        "bodies.mnist-10.width",
    ]
    assert expanded("studies.mnist.rule") == ["studies.mnist.rule"]


def test_open_statements_bind_nothing(settings):
    line = Statement("epochs", "open", setting="recipes.mnist-dense.epochs")
    assert departures(settings, one(line)) == []
    assert Settings(settings).found(line.setting) == {"recipes.mnist-dense.epochs": 100}


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        (
            "recipes.mnist-dense.epoch",
            100,
            "no setting 'recipes.mnist-dense.epoch'; did you mean 'recipes.mnist-dense.epochs'",
        ),
        ("bodies.mnist-{2,10}.depth", [2, 10, 20], "cannot go to 2 settings; name one setting for"),
    ],
)
def test_a_setting_that_leads_nowhere_is_refused(settings, setting, value, message):
    line = Statement("x", "paper", "section 1", value, setting)
    with pytest.raises(Problem, match=message):
        departures(settings, one(line))
