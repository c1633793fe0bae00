"""What is counted as run, as decidable and as decided."""

import pytest

from skipgate.judging.coverage import Coverage, coverage
from skipgate.judging.papers import Cell, Paper, Table


def paper(kind="measured", **cell):
    made = Table(
        "t", "Table 1", "%", 0.01, "printed", (Cell("d = 2", "gated", 2.17, **cell),), kind
    )
    return {"gresnet": Paper("p", tables={"table": made})}


def record(study, by, **judged):
    return {study: {"cells": {f"gresnet table, d = 2, gated, {by}": judged}}}


NETS = {"nets": ("gated-2", "mnist-gated-2")}


@pytest.mark.parametrize(
    ("cell", "records", "expected"),
    [
        ({}, {}, Coverage(1)),
        (NETS, {}, Coverage(1, with_net=1)),
        (NETS, record("mnist", "mnist-gated-2", word="not run"), Coverage(1, 1)),
        # A toy study is no run of the paper's protocol.
        (NETS, record("digits", "gated-2", word="not comparable"), Coverage(1, 1)),
        ({"nets": ("gated-2",)}, record("digits", "gated-2", word="agrees"), Coverage(1)),
        (NETS, record("mnist", "mnist-gated-2", word="inconclusive"), Coverage(1, 1, 1)),
        (
            NETS,
            record("mnist", "mnist-gated-2", word="inconclusive", decidable=True),
            Coverage(1, 1, 1, 1),
        ),
        (
            NETS,
            record("mnist", "mnist-gated-2", word="inconclusive", decidable=False),
            Coverage(1, 1, 1),
        ),
        (NETS, record("mnist", "mnist-gated-2", word="not comparable"), Coverage(1, 1, 1)),
        (NETS, record("mnist", "mnist-gated-2", word="agrees"), Coverage(1, 1, 1, 1, 1)),
        (
            NETS,
            record("mnist", "mnist-gated-2", word="differs", decidable=True),
            Coverage(1, 1, 1, 1, 1),
        ),
    ],
)
def test_a_measured_number(settings, cell, records, expected):
    assert coverage(settings, paper(**cell), records) == expected


def test_an_exact_number(settings):
    made = paper("exact", quantity="sdi.gated power")
    assert coverage(settings, made, {}) == Coverage(exact=1)
    records = record("theory", "sdi.gated power", word="differs")
    assert coverage(settings, made, records) == Coverage(exact=1, computed=1)


@pytest.mark.parametrize("kind", ["structure", "repeated", "quoted", "encoded"])
def test_other_kinds_are_not_counted(settings, kind):
    assert coverage(settings, paper(kind), {}) == Coverage()


def test_papers_add_up(settings, loaded):
    whole = coverage(settings, loaded, {})
    parts = [coverage(settings, {name: one}, {}) for name, one in loaded.items()]
    assert sum(parts, Coverage()) == whole == Coverage(measured=55, with_net=55, exact=27)
