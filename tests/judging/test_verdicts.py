"""Verdicts on hand-made seeds with a known truth come out at their nominal rates."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pipeline import calibrate
from skipgate.judging import calibration
from skipgate.judging.calibration import Drawn
from skipgate.judging.evidence import Outcome, above
from skipgate.judging.judgement import (
    JudgedClaim,
    JudgedTable,
    Judgement,
    better_rule,
    out_of_reach,
)
from skipgate.judging.papers import Cell, Claim, Table
from skipgate.judging.statistics import (
    Estimate,
    Spread,
    draw_moments,
    estimate,
    pooled_deviation,
    spreads,
)
from skipgate.judging.verdicts import (
    LEVEL,
    Gap,
    Verdict,
    _tested,
    bars,
    distance,
    together,
    words,
)
from skipgate.reporting import tables
from skipgate.settings.measures import error_rate
from tests.toys import ROOT

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


def recorded(made, verdicts):
    return Judgement("s", 1, [JudgedTable("p", "t", made, verdicts, [])], []).plain()


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


def test_the_further_a_cell_spreads_beside_others_the_more_it_stands_for_itself():
    """Four seeds' worth at the least; the others' eight more where they spread alike."""
    others = [Estimate(1.0, 0, 1.0, 5)] * 10
    found = [
        spreads([*others, Estimate(1.0, 0, far, 5)], [1.0] * 11, scales_are_prior=False)[-1]
        for far in (0.5, 1.5, 3.0, 50.0)
    ]
    freedoms = [spread.freedom for spread in found]
    assert freedoms == sorted(freedoms, reverse=True)
    assert freedoms[0] == 12
    assert freedoms[-1] == pytest.approx(4, abs=1e-6)
    assert found[0].deviation == pytest.approx(math.sqrt((8 * 1 + 4 * 0.25) / 12))
    assert found[-1].deviation == pytest.approx(50)


def test_a_lonely_cell_has_its_own_spread_and_what_its_measure_lets_expect():
    own = Estimate(1.0, 0, 0.5, 5)
    assert spreads([own], [1.0], scales_are_prior=False) == [Spread(0.5, 4)]
    (expected,) = spreads([own], [1.0], scales_are_prior=True)
    assert expected == Spread(pytest.approx(math.sqrt((4 * 1 + 4 * 0.25) / 8)), 8)
    assert spreads([], [], scales_are_prior=True) == []


def test_cells_without_any_spread_do_not_stop_the_table():
    still = [Estimate(1.0, 0, 0.0, 5)] * 3
    found = spreads([*still, Estimate(1.0, 0, 0.2, 5)], [1.0] * 4, scales_are_prior=False)
    assert [spread.deviation for spread in found] == [0, 0, 0, 0.2]


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
    for margin, said in ((0.1, "Of 1 numbers 0 could be decided, and 0 were"), (0.5, "")):
        made = table([Cell("d = 2", "gated", 2.0)], margin=margin)
        verdicts = judged(made, [Estimate(2.0, 0.1, 0.1, 5)])
        assert out_of_reach(made, verdicts).startswith(said)
        assert bool(out_of_reach(made, verdicts)) == bool(said)
        (cell,) = recorded(made, verdicts)["cells"].values()
        assert cell["decidable"] == (not said)


@pytest.mark.parametrize(("margin", "mark", "surprises"), [(1.0, "", 1), (3.0, " †", 0)])
def test_a_difference_that_does_not_matter_is_marked_and_no_surprise(margin, mark, surprises):
    made = table([Cell("d = 2", "gated", 4.0)], margin=margin)
    verdicts = judged(made, [Estimate(2.0, 0.1, 0.1, 5)])
    assert tables._word(verdicts[0], margin) == f"**differs**, lower{mark}"
    assert len(recorded(made, verdicts)["findings"]) == surprises


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


ROUNDS = 400
ERROR = 3 * math.sqrt(LEVEL * (1 - LEVEL) / ROUNDS)
"""Three binomial standard errors of a rate at the level."""


@pytest.mark.parametrize("ratios", [(), (3.0,), (17.0, 7.0, 2.9), (50.0,) * 3])
def test_false_alarms_are_as_rare_as_promised_whatever_cells_spread(ratios):
    """Where nothing differs, a table of 15 is without a 'differs' 95 times out of 100."""
    now = calibration.rates(calibration.shrunk, Drawn(ratios), ROUNDS, seed=2)
    own = calibration.rates(calibration.alone, Drawn(ratios), ROUNDS, seed=2)
    assert now.alarms < LEVEL + ERROR
    assert now.joint < LEVEL + ERROR
    assert abs(own.alarms - LEVEL) < ERROR
    assert abs(own.joint - LEVEL) < ERROR
    assert now.power > own.power + 0.2


def test_a_spread_that_all_cells_share_raises_false_alarms():
    """What the rule replaced: a cell at three times the others' spread was judged by theirs."""
    assert calibration.rates(calibration.cut, Drawn((3.0,)), ROUNDS, seed=2).alarms > 2 * LEVEL


def test_drawn_tables_are_judged_as_real_ones_are():
    """The rate that the calibration states is that of verdicts on hand-made seeds."""
    generator = np.random.default_rng(2)
    alarms = sum(
        any(v.word == "differs" for v in simulated(generator, [0.0] * 15)) for _ in range(ROUNDS)
    )
    expected = calibration.rates(calibration.shrunk, Drawn(), ROUNDS, seed=3).alarms
    assert abs(alarms / ROUNDS - expected) < ERROR


def test_the_bar_of_a_cell_is_where_its_verdict_turns():
    generator = np.random.default_rng(5)
    for _ in range(100):
        chances = (generator.uniform(size=6) ** 3).tolist()
        adjusted = stats.false_discovery_control(chances)
        assert [p < bar for p, bar in zip(chances, bars(chances), strict=True)] == [
            p < LEVEL for p in adjusted
        ]
    assert bars([0.9, 0.9]) == [LEVEL / 2, LEVEL / 2]
    assert bars([0.9, 0.001]) == [LEVEL, LEVEL / 2]


def test_a_difference_of_the_size_called_visible_is_seen_four_times_out_of_five():
    generator, rounds = np.random.default_rng(3), 600
    visible = np.mean([simulated(generator, [0.0])[0].gap.visible(LEVEL) for _ in range(100)])
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

    def reach(seeds):
        more = Spread(0.15, 40 + seeds - 2)
        return distance(made, made.cells[0], Estimate(1.62, 0, 0.15, seeds), more).reach

    assert reach(gap.seeds) <= 0.3 < reach(gap.seeds - 1)
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


def verdict(size, error=0.1, column="gated", **changes):
    cell = Cell("d = 2", column, 2.0)
    return Verdict(cell, "x", None, "inconclusive", "", Gap(size, error, 8, None), **changes)


def test_the_rule_that_fits_is_named():
    """Reported numbers that are our best epochs, then our last ones."""
    near, far = verdict(0.01), verdict(0.4)
    assert "fit our best epoch on the test set better" in better_rule([far], [near])
    assert "fit our last epoch better" in better_rule([near], [far])
    assert "fit our best epoch" in better_rule([verdict(0.04, error=5.0)], [near]), (
        "a rule is not the better one for being vague"
    )
    both = better_rule([near, verdict(0.15)], [verdict(0.15), near])
    assert "about equally well" in both
    assert "1 of 2 are nearer to the best" in both
    assert better_rule([Verdict(near.cell, "x", None, "not run", "")], []) == ""


def test_neither_rule_may_fit_and_columns_may_disagree():
    found = better_rule(
        [verdict(0.01, column="classical"), verdict(0.8, column="residual")],
        [verdict(0.8, column="classical"), verdict(0.01, column="residual")],
    )
    assert "fit neither our last epoch nor our best" in found
    assert "classical favours the last" in found
    assert "residual favours the best" in found


def test_nets_that_did_not_learn_do_not_decide_between_epochs():
    near, failed = verdict(0.01), verdict(9.0, learnt=False)
    assert "over the 1 nets that learnt" in better_rule([near, failed], [near, near])


def test_all_cells_together_are_as_improbable_as_fisher_has_it():
    gaps = [verdict(size).gap for size in (0.1, 0.2, 0.3)]
    found = stats.combine_pvalues([gap.chance for gap in gaps], "fisher").pvalue
    assert together(gaps) == pytest.approx(found)


def test_a_cell_is_recorded_with_its_distance_and_interval():
    made = table([Cell("d = 2", "gated", 4.0)], margin=0.5)
    verdicts = judged(made, [Estimate(2.0, 0.1, 0.1, 5)])
    line = recorded(made, verdicts)
    (cell,) = line["cells"].values()
    assert cell["distance"] == pytest.approx(-2.0)
    assert (cell["margin"], cell["unit"], cell["decidable"]) == (0.5, "%", True)
    low, high = stats.t.interval(0.95, verdicts[0].gap.freedom, scale=verdicts[0].gap.error)
    assert 2 * cell["half"] == pytest.approx(high - low, rel=1e-4)
    assert line["totals"] == {"cells": 1, "decidable": 1, "decided": 1}


def test_a_computed_cell_has_its_rounding_for_a_margin_and_one_not_judged_no_distance():
    made = table([Cell("d = 2", "gated", 4.0)])
    computed = Verdict(made.cells[0], "q", Estimate(4.2, 0.0, 0.0, 1), "differs", "")
    (cell,) = recorded(made, [computed])["cells"].values()
    assert cell["distance"] == pytest.approx(0.2)
    assert (cell["half"], cell["margin"], cell["decidable"]) == (0, 0.005, True)
    (cell,) = recorded(made, [replace(computed, word="not comparable")])["cells"].values()
    assert (cell["distance"], cell["half"], cell["decidable"]) == (None, None, False)


def test_surprises_are_told_in_standard_errors():
    """A claim that fails and a cell that differs are ordered by one unit, which the text names."""
    made = table([Cell("d = 2", "gated", 4.0)], margin=0.5)
    verdicts = judged(made, [Estimate(2.0, 0.1, 0.1, 5)])
    part = above("x", [-1.0, -2.0, -3.0], 0.0)
    failed = JudgedClaim("p", "c", Claim("It is so.", "It is.", "here"), Outcome("fails", (part,)))
    tables_of = [JudgedTable("p", "t", made, verdicts, [])]
    claim, cell = Judgement("s", 1, tables_of, [failed]).plain()["findings"]
    assert claim["clarity"] == pytest.approx(2 * math.sqrt(3), rel=1e-4)
    assert "3.5 standard errors" in claim["text"]
    gap = verdicts[0].gap
    assert cell["clarity"] == pytest.approx(abs(gap.size) / gap.error, rel=1e-4)
    assert f"{cell['clarity']:.1f} standard errors" in cell["text"]


def test_the_page_has_the_rates_that_the_command_finds():
    """Decision 9 shows every kind of table that is drawn; one row of it is drawn again."""
    page = (ROOT / calibrate.PAGE).read_text()
    rows = [line.strip("| ").split("|") for line in calibrate.PLACE.search(page)[0].splitlines()]
    shown = {row[0].strip(): [cell.strip() for cell in row] for row in rows}
    assert set(calibrate.TABLES) < set(shown)
    name = "as MNIST: 17, 7 and 2.9 times"
    again = calibrate.row(name, seed=list(calibrate.TABLES).index(name))
    assert shown[name] == list(again.values())
