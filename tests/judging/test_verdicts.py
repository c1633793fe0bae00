"""Verdicts on hand-made seeds with a known truth come out at their nominal rates."""

import math

import numpy as np
import pytest

from skipgate.judging.judgement import JudgedTable, Judgement, out_of_reach
from skipgate.judging.papers import Cell, Table
from skipgate.judging.statistics import (
    Estimate,
    Spread,
    draw_moments,
    estimate,
    pooled_deviation,
    spreads,
)
from skipgate.judging.verdicts import _tested, distance, words
from skipgate.reporting import tables
from skipgate.settings.measures import error_rate

MEASURE = error_rate(10)


def table(cells, **changes):
    given = {
        "metric": "test_error",
        "images": 10000,
        "margin": 0.2,
        "margin_reason": "a test",
        **changes,
    }
    return Table("t", "Table 1", "%", 0.01, "printed", tuple(cells), **given)


def judged(made, estimates):
    return _tested(
        made, [(cell, "x", e) for cell, e in zip(made.cells, estimates, strict=True)], MEASURE
    )


def test_prior_and_pooled_spread():
    assert MEASURE.deviation(1.6, 10000) == pytest.approx(0.0887, abs=1e-3)
    spread, freedom = pooled_deviation([Estimate(0, 0, 2.0, 5), Estimate(0, 0, 1.0, 5)], prior=3.0)
    assert freedom == 12
    assert spread == pytest.approx(math.sqrt((4 * 9 + 4 * 4 + 4 * 1) / 12))


def test_spreads_are_pooled_in_proportion_to_their_level():
    groups = [Estimate(1.0, 0, 0.1, 5), Estimate(4.0, 0, 0.4, 5)]
    first, second = spreads(groups, [1.0, 4.0], scales_are_prior=False)
    assert (first.freedom, second.freedom) == (8, 8)
    assert (first.deviation, second.deviation) == (pytest.approx(0.1), pytest.approx(0.4))


def test_a_wild_cell_does_not_blur_its_neighbours():
    """A network that fails to train varies by tens of points; the others are judged without it."""
    made = table([Cell("d", str(i), 1.62) for i in range(2)])
    wild, tame = judged(made, [Estimate(60.0, 20.0, 25.0, 5), Estimate(4.0, 0.1, 0.09, 5)])
    assert tame.word == "differs"
    assert wild.gap.error > 25


@pytest.mark.parametrize(
    ("reported", "margin", "word"),
    [(2.0, 0.5, "agrees"), (2.0, 0.05, "inconclusive"), (4.0, 0.5, "differs")],
)
def test_the_three_judgements(reported, margin, word):
    made = table([Cell("d = 2", "gated", reported)], margin=margin)
    (verdict,) = judged(made, [Estimate(2.01, 0.1, 0.1, 5)])
    assert verdict.word == word


def test_cells_that_could_not_have_agreed_are_counted():
    """A single run of a spread of 0.1 goes 0.17 or so to either side, however many seeds are set beside it."""
    for margin, said in ((0.1, "1 of 1 could not have agreed"), (0.5, "")):
        made = table([Cell("d = 2", "gated", 2.0)], margin=margin)
        assert out_of_reach(made, judged(made, [Estimate(2.0, 0.1, 0.1, 5)])).startswith(said)
        assert bool(out_of_reach(made, judged(made, [Estimate(2.0, 0.1, 0.1, 5)]))) == bool(said)


@pytest.mark.parametrize(
    ("margin", "mark", "surprises"), [(1.0, "", 1), (3.0, ", within the margin", 0)]
)
def test_a_difference_that_does_not_matter_is_marked_and_no_surprise(margin, mark, surprises):
    made = table([Cell("d = 2", "gated", 4.0)], margin=margin)
    verdicts = judged(made, [Estimate(2.0, 0.1, 0.1, 5)])
    assert tables._word(verdicts[0], margin) == f"**differs** (ours is lower{mark})"
    assert (
        len(Judgement("s", 1, [JudgedTable("p", "t", made, verdicts, [])], []).plain()["findings"])
        == surprises
    )


@pytest.mark.parametrize(
    ("statistic", "runs"), [("single", 1), ("mean", 3), ("median", 3), ("median", 5), ("best", 5)]
)
def test_draws_of_a_paper_are_modelled_by_their_statistic(statistic, runs):
    draws = np.random.default_rng(1).normal(size=(200000, runs))
    found = {
        "single": draws[:, 0],
        "mean": draws.mean(1),
        "median": np.median(draws, 1),
        "best": draws.min(1),
    }[statistic]
    mean, variance = draw_moments(statistic, runs)
    assert mean == pytest.approx(found.mean(), abs=0.01)
    assert variance == pytest.approx(found.var(), rel=0.02)


def test_the_published_pair_differs():
    """5.90 as the median of 3 runs against 5.46 as the median of 5, with a prior spread of 0.165."""
    made = table([Cell("a", "b", 5.90)], statistic="median", runs=3)
    share = draw_moments("median", 5)[1]
    # A median of 5 weighs as much as a mean of 1 / share runs; the prior is all there is to tell
    # the spread.
    ours = Estimate(5.46, math.nan, math.nan, round(1 / share))
    gap = distance(made, made.cells[0], ours, Spread(0.165, 4))
    assert words(made, [gap])[0][0] == "differs"


def simulated(generator, gaps, seeds=5):
    """A table of cells whose true gaps are given: the paper drew one run, we drew five."""
    level, estimates, cells = 1.6, [], []
    spread = MEASURE.deviation(level, 10000)
    for i, gap in enumerate(gaps):
        cells.append(Cell(str(i), "x", round(float(generator.normal(level, spread)), 2)))
        estimates.append(estimate(generator.normal(level + gap, spread, seeds).tolist()))
    return judged(table(cells), estimates)


def test_false_alarms_are_as_rare_as_promised():
    """Where nothing differs, a whole table of 15 cells is without a 'differs' 95 times out of 100."""
    generator, rounds = np.random.default_rng(2), 400
    alarms = sum(
        any(v.word == "differs" for v in simulated(generator, [0.0] * 15)) for _ in range(rounds)
    )
    assert 0.02 < alarms / rounds < 0.08


def test_a_difference_of_the_size_called_visible_is_seen_four_times_out_of_five():
    generator, rounds = np.random.default_rng(3), 600
    visible = np.mean([simulated(generator, [0.0])[0].gap.visible for _ in range(100)])
    seen = sum(simulated(generator, [visible])[0].word == "differs" for _ in range(rounds))
    assert 0.74 < seen / rounds < 0.86


def test_agreement_is_rarely_claimed_where_the_gap_is_the_margin():
    """The 90% interval inside the margin is a test at 5%."""
    generator, rounds = np.random.default_rng(4), 400
    agreed = sum(simulated(generator, [0.2], seeds=30)[0].word == "agrees" for _ in range(rounds))
    assert agreed / rounds < 0.08


def test_the_seeds_it_would_take_are_enough_and_no_more():
    made = table([Cell("a", "b", 1.60)], margin=0.3)
    spread = Spread(0.15, 40)
    gap = distance(made, made.cells[0], Estimate(1.62, 0, 0.15, 2), spread)
    assert gap.seeds is not None
    assert gap.seeds > 2
    assert distance(made, made.cells[0], Estimate(1.62, 0, 0.15, gap.seeds), spread).reach <= 0.3
    assert distance(made, made.cells[0], Estimate(1.62, 0, 0.15, gap.seeds - 1), spread).reach > 0.3
    never = distance(
        table([Cell("a", "b", 1.60)], margin=0.1), made.cells[0], Estimate(1.62, 0, 0.15, 5), spread
    )
    assert never.seeds is None, "the paper's single draw alone reaches beyond the margin"


def test_a_paper_that_reports_its_best_of_five_is_not_called_different():
    """Our mean lies above the smallest of five by 1.16 spreads, which is no difference."""
    made = table([Cell("a", "b", 1.60 - 1.163 * 0.1)], statistic="best", runs=5)
    gap = distance(made, made.cells[0], Estimate(1.60, 0, 0.1, 5), Spread(0.1, 20))
    assert gap.size == pytest.approx(0, abs=1e-3)


def test_the_best_of_five_is_the_largest_where_more_is_better():
    made = table([Cell("a", "b", 1.60 + 1.163 * 0.1)], statistic="best", runs=5)
    spread = Spread(0.1, 20)
    gap = distance(made, made.cells[0], Estimate(1.60, 0, 0.1, 5), spread, lower_is_better=False)
    assert gap.size == pytest.approx(0, abs=1e-3)


def test_the_seeds_that_would_decide_come_with_the_command():
    made = table([Cell("a", "b", 1.60)], margin=0.22)
    (verdict,) = judged(made, [Estimate(1.62, 0, 0.12, 2)])
    assert verdict.word == "inconclusive"
    assert (
        f"set `seeds: {verdict.gap.seeds}` on the net's line and run `dvc repro probe@x`"
        in verdict.reason
    )
