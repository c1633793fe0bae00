import pytest

from skipgate.settings import Constant, Fractions, Nadam, Recipe, Steps
from skipgate.streams import stream
from skipgate.training.schedules import learning_rate, milestones


def recipe(schedule, epochs=20):
    return Recipe(epochs, 8, Nadam("nadam", rate=1.0), schedule)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Constant("constant"), {0: 1.0, 19: 1.0}),
        (Steps("steps", (5, 12), 0.1), {0: 1.0, 4: 1.0, 5: 0.1, 11: 0.1, 12: 0.01}),
        (Fractions("fractions", (0.5, 0.75), 0.1), {9: 1.0, 10: 0.1, 14: 0.1, 15: 0.01, 19: 0.01}),
        (Fractions("fractions", (0.3, 0.6, 0.8), 0.2), {5: 1.0, 6: 0.2, 12: 0.04, 16: 0.008}),
    ],
)
def test_rates(schedule, expected):
    assert {epoch: learning_rate(recipe(schedule), epoch) for epoch in expected} == pytest.approx(
        expected
    )


def test_milestones_are_where_the_rate_changes():
    assert milestones(recipe(Fractions("fractions", (0.5, 0.75), 0.1))) == [0, 10, 15]
    assert milestones(recipe(Constant("constant"))) == [0]


def test_streams_are_told_apart_by_each_of_their_words():
    seeds = {
        stream(*words).initial_seed()
        for words in ((0, "init"), (1, "init"), (0, "order"), (0, "order", 1))
    }
    assert len(seeds) == 4
    assert stream(0, "order", 1).initial_seed() == stream(0, "order", 1).initial_seed()
