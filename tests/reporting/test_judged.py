"""The picture of every judged number."""

import pytest
from matplotlib import pyplot as plt

from skipgate import params
from skipgate.judging import papers
from skipgate.reporting import judged
from tests.toys import ROOT


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.chdir(ROOT)
    yield papers.load(params.load())
    plt.close("all")


def cell(word, reported, ours, half=0.3, margin=0.2, decidable=True):
    return {
        "reported": reported,
        "ours": ours,
        "word": word,
        "distance": ours - reported,
        "half": half,
        "margin": margin,
        "unit": "%",
        "decidable": decidable,
    }


def record(cells, nets=1):
    return {"nets": nets, "cells": cells}


ERRORS = record(
    {
        "gresnet mnist-test-error, d = 2, classical, a": cell("agrees", 2.0, 2.1),
        "gresnet mnist-test-error, d = 2, gated, b": cell("differs", 2.0, 2.6),
        "gresnet mnist-test-error, d = 50, gated, c": cell("inconclusive", 2.0, 1.8),
        "gresnet mnist-mean-k, d = 2, mean k, d": cell("inconclusive", 5.0, 5.2, decidable=False),
    }
)
EXACT = record(
    {
        "fleuret parameters, 25 blocks, 16 channels, parameters, counts.x": {
            "reported": 117802.0,
            "ours": 117802.0,
            "word": "agrees",
            "distance": 0.0,
            "half": None,
            "margin": None,
        }
    },
    nets=0,
)


def texts(figure):
    return [text.get_text() for panel in figure.axes for text in panel.texts]


def marks(panel):
    """Markers by place, marker and whether they are filled."""
    return [
        (round(float(line.get_xdata()[0]), 6), line.get_marker(), line.get_markerfacecolor())
        for line in panel.lines
        if line.get_marker() != "None"
    ]


def test_measured_numbers_stand_at_their_distance_in_margins(known):
    errors, gates = judged.judged_figure({"mnist": ERRORS}, known).axes
    assert [(x, marker) for x, marker, _ in marks(errors)] == [(0.5, "o"), (3.0, "X"), (-1.0, "s")]
    colours = {word: colour for word, (colour, _) in judged.LOOKS.items()}
    assert [inside for *_, inside in marks(errors)] == [
        colours[word] for word in ("agrees", "differs", "inconclusive")
    ]
    assert marks(gates) == [(1.0, "s", "white")], "hollow: seeds would not decide"
    (bar, *_) = [
        line for line in errors.lines if len(line.get_xdata()) == 2 and line.get_ydata()[0] == 0
    ][1:]
    assert [*bar.get_xdata()] == pytest.approx([-1.0, 2.0])
    assert gates.get_xlabel()
    assert not errors.get_xlabel()
    assert errors.get_xlim() == gates.get_xlim()


def test_tables_have_their_place_and_cells_their_names_and_numbers(known):
    found = texts(judged.judged_figure({"mnist": ERRORS}, known))
    assert "gresnet, v1 Table 2, v2 Table 1 (mnist)" in found
    assert {"d = 2, classical", "d = 2, gated", "2.60"} <= set(found)
    assert "d = 2" in found, "a column that all cells share is not repeated"


def test_exact_numbers_are_listed_apart(known):
    figure = judged.judged_figure({"mnist": ERRORS, "theory": EXACT}, known)
    assert len(figure.axes) == 3
    assert {"25 blocks, 16 channels", "117,802"} <= set(texts(figure))


def test_what_is_not_comparable_or_not_run_is_left_out_and_counted(known):
    toy = record(
        {
            "gresnet mnist-test-error, d = 2, classical, a": cell("not comparable", 2.0, 3.0),
            "gresnet mnist-test-error, d = 2, gated, b": {
                "reported": 2.0,
                "ours": None,
                "word": "not run",
            },
        }
    )
    records = {"digits": toy, "mnist": ERRORS, "later": {}}
    assert len(judged.judged_figure(records, known).axes) == 2
    assert "Every judged number (4)" in judged.caption(records)
    assert "Left out: 2" in judged.caption(records)


def test_without_any_judged_number_there_is_a_picture_all_the_same(known, tmp_path):
    judged.draw({"digits": {}}, known, tmp_path / "judged.png")
    assert (tmp_path / "judged.png").exists()


def test_the_same_records_give_the_same_bytes(known, tmp_path):
    for name in ("one", "two"):
        judged.draw({"mnist": ERRORS, "theory": EXACT}, known, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
