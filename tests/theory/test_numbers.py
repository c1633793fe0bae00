"""Counts of paths, parameters and blocks."""

import math

import pytest

from skipgate.theory import counts, paths

GOLDEN = {
    "fleuret": 117_802,
    "resnet-5": 464_154,
    "wide-3-4": 4_298_970,
    "wide-4-3": 3_294_042,
    "wide-4-10": 36_479_194,
    "resnet-110": 1_727_962,
    "gates-resnet-5": 15,
    "gates-wide-3-4": 9,
    "gates-wide-4-3": 12,
    "gates-wide-4-10": 12,
    "blocks-110": 54,
    "blocks-200": 99,
    "blocks-500": 249,
    "blocks-752": 375,
}


def test_golden_counts():
    found = counts.study()
    assert {name: found[name] for name in GOLDEN} == GOLDEN
    for depth in counts.DEPTHS:
        assert found[f"layers-{depth}"] == depth


def test_paths_counted_one_by_one_are_binomial():
    assert paths.counted(6) == [1, 6, 15, 20, 15, 6, 1]
    assert [paths.counted_removed(6, m) for m in range(4)] == [0, 0.5, 0.75, 0.875]


def test_the_study_agrees_with_its_counting():
    found = paths.study()
    assert found["counted by length"] == found["formula by length"]
    assert found["counted removed"] == found["removed"]
    for n in paths.BLOCKS:
        lengths = found["by length"][str(n)]
        assert sum(lengths) == found[f"paths {n}"]
        assert (
            sum(length * count for length, count in enumerate(lengths)) / sum(lengths)
            == found[f"mean length {n}"]
        )


@pytest.mark.parametrize("n", [25, 54])
def test_the_central_range_is_the_shortest_that_holds_enough(n):
    low, high = paths.central(n)
    share = sum(math.comb(n, length) for length in range(low, high + 1)) / 2**n
    less = sum(math.comb(n, length) for length in range(low + 1, high)) / 2**n
    assert less < paths.CENTRE <= share
