"""Tables of what probes found."""

import dataclasses
import re

import pytest

from skipgate import params
from skipgate.reporting import probe_tables
from skipgate.results import names, store
from skipgate.settings import Crelu
from tests.toys import ROOT


@pytest.fixture
def study(monkeypatch):
    monkeypatch.chdir(ROOT)
    return store.load(params.load(), "digits")


def rows(table):
    """Cells by the first one, without their links."""
    lines = [
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line).strip("|").split("|")
        for line in table.splitlines()[2:]
    ]
    return [[cell.strip() for cell in line] for line in lines]


def test_lost_paths_are_means_over_draws_and_seeds(study):
    part = study.results["residual-10"].parts["paths"]
    part["removed"], part["cut"], part["errors"] = (
        [0, 1, 1, 0],
        [0, 0, 0, 1],
        [[1.0, 3.0], [2.0, 4.0], [6.0, 8.0], [9.0, 9.0]],
    )
    found = {row[0]: row[1:] for row in rows(probe_tables.lost_paths(study))}
    assert found["`residual-10`"] == ["1 x 5", "2.00", "5.00", "9.00", "-", "-", "-"]
    assert "`plain-10`" not in found, "a plain network has one path"


def test_half_of_the_blocks_is_two_of_five_and_none_of_one(study):
    prune = study.results["gated-10"].parts["prune"]
    prune["random"], prune["greedy"] = (
        [[[float(removed)] for removed in range(6)]],
        [[10.0 + removed] for removed in range(6)],
    )
    found = {row[0]: row[1:] for row in rows(probe_tables.pruning(study))}
    assert (found["`gated-10`"][1], found["`gated-10`"][4]) == ("2.00", "12.00")
    assert found["`gated-2`"][1:] == ["-"] * 4


def test_pruned_networks_show_what_was_measured_of_one_and_the_same_network(study):
    part = study.results["gated-10"].parts["speed"]
    part["errors"], part["parameters"] = (
        [[1.0, 3.0], [2.0, None], [3.0, 3.0], [4.0, 4.0]],
        [4000, 3000, 2000, 1000],
    )
    table = rows(probe_tables.speed(study))
    four = table[(start := [row[0] for row in table].index("`gated-10`")) : start + 4]
    assert [row[1] for row in four] == [
        "0%, 0 blocks",
        "25%, 1 blocks",
        "50%, 2 blocks",
        "75%, 4 blocks",
    ]
    assert [row[2:4] for row in four] == [
        ["2.00", "4,000"],
        ["2.00", "3,000"],
        ["3.00", "2,000"],
        ["4.00", "1,000"],
    ]


def test_gates_that_depend_on_the_sample_are_those_of_highways(study):
    assert [row[:2] for row in rows(probe_tables.sample_gates(study))] == [
        ["`highway-10`", "T"],
        ["`highway-10`", "C"],
    ]


def test_lines_tell_starts_apart_where_nets_differ_by_them(study):
    spec = study.specs["plain-10"]
    starts = [
        dataclasses.replace(spec.settings, body=Crelu("crelu", 10, init=init))
        for init in ("looks-linear", "he-normal")
    ]
    found = [names.line(dataclasses.replace(spec, settings=settings)) for settings in starts]
    assert found == ["CReLU, looks-linear", "CReLU, he-normal"]
    assert names.line(spec) == names.family(spec) == "plain"
