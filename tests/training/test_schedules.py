import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from skipgate import params
from skipgate.files import Problem
from skipgate.settings import ConstantRate, Fractions, Moment, Nadam, Schedule, Sgd, Steps
from skipgate.specs import Spec
from skipgate.streams import stream
from skipgate.training.job import train
from skipgate.training.loop import begin, fit, train_batches
from tests.toys import MLP, ROOT, toy_settings


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (ConstantRate("constant"), {0: 1.0, 19: 1.0}),
        (Steps("steps", (5, 12), 0.1), {0: 1.0, 4: 1.0, 5: 0.1, 11: 0.1, 12: 0.01}),
        (Fractions("fractions", (0.5, 0.75), 0.1), {9: 1.0, 10: 0.1, 14: 0.1, 15: 0.01, 19: 0.01}),
        (Fractions("fractions", (0.3, 0.6, 0.8), 0.2), {5: 1.0, 6: 0.2, 12: 0.04, 16: 0.008}),
    ],
)
def test_rates(schedule, expected):
    rates = {epoch: schedule.rate(1.0, Moment(epoch, 20)) for epoch in expected}
    assert rates == pytest.approx(expected)


def test_milestones_are_where_the_rate_changes():
    assert Fractions("fractions", (0.5, 0.75), 0.1).milestones(20) == [0, 10, 15]
    assert ConstantRate("constant").milestones(20) == [0]


@dataclass(frozen=True)
class Cosine(Schedule):
    """A rate of its own at every step, which names a few epochs for the twin."""

    steps: int
    kind: str = "cosine"

    def rate(self, first, moment):
        return first * (1 + math.cos(math.pi * moment.step / self.steps)) / 2

    def milestones(self, epochs):
        return [0, epochs // 2, epochs - 1]


@dataclass(frozen=True)
class Halving(Schedule):
    """Halves the rate when the test loss has not fallen, and ends at a quarter."""

    by_seed: ClassVar[bool] = True
    kind: str = "halving"

    def rate(self, first, moment):
        losses = [row[0] for row in moment.history.get("test_loss", ())]
        return first * 0.5 ** sum(b >= a for a, b in itertools.pairwise(losses))

    def is_over(self, moment):
        return super().is_over(moment) or self.rate(1.0, moment) <= 0.25


def test_a_rate_may_change_at_every_step(split):
    state = begin(toy_settings(MLP, schedule=Cosine(6), batch=8), range(2), torch.device("cpu"))
    rates = []
    step = state.optimiser.step
    state.optimiser.step = lambda: (rates.append(state.optimiser.param_groups[0]["lr"]), step())
    for _ in range(2):
        train_batches(state, split)
    expected = [0.002 * (1 + math.cos(math.pi * step / 6)) / 2 for step in range(6)]
    assert rates == pytest.approx(expected)
    assert Cosine(6).milestones(100) == [0, 50, 99], "the twin does not train every epoch"


def test_a_schedule_may_end_a_training_and_goes_on_from_a_checkpoint(split, tmp_path):
    """With a rate of 1 the loss rises soon; 50 epochs are allowed."""
    settings = toy_settings(optimiser=Sgd("sgd", 1.0), schedule=Halving(), epochs=50)
    whole = begin(settings, [3], torch.device("cpu"))
    fit(whole, split, tmp_path / "a.pt", lambda _: None)
    assert 2 < whole.epoch == len(whole.history["test_loss"]) < 50
    assert whole.step == 3 * whole.epoch

    def stop(history):
        if len(history["test_loss"]) == 2:
            raise KeyboardInterrupt

    again = begin(settings, [3], torch.device("cpu"))
    with pytest.raises(KeyboardInterrupt):
        fit(again, split, tmp_path / "b.pt", stop)
    again = begin(settings, [3], torch.device("cpu"))
    fit(again, split, tmp_path / "b.pt", lambda _: None)
    assert again.history == whole.history


def test_a_schedule_that_looks_at_a_seed_is_refused_in_a_stack(monkeypatch):
    monkeypatch.setattr(ConstantRate, "by_seed", True)
    with pytest.raises(
        Problem,
        match=r"params\.nets\.plain-2: the schedule 'constant' looks at a seed's own results, "
        r"which seeds in one stack do not share; set stack: 1",
    ):
        params.load(ROOT / "params.yaml")


def test_a_rate_is_the_optimisers_own_at_the_start():
    assert ConstantRate("constant").rate(Nadam("nadam").rate, Moment(7, 8)) == 0.002


def test_streams_are_told_apart_by_each_of_their_words():
    words = ((0, "init"), (1, "init"), (0, "order"), (0, "order", 1))
    assert len({stream(*each).initial_seed() for each in words}) == 4
    assert stream(0, "order", 1).initial_seed() == stream(0, "order", 1).initial_seed()


def test_the_first_steps_are_warm():
    """He et al. 2015: a tenth of the rate for so many steps, whatever the epoch; twins are past it."""
    schedule = Steps("steps", (5,), 0.1, warm=7)
    assert schedule.rate(1.0, Moment(0, 20, 6)) == pytest.approx(0.1)
    assert schedule.rate(1.0, Moment(0, 20, 7)) == 1.0
    assert schedule.rate(1.0, Moment(5, 20, 100)) == pytest.approx(0.1)
    assert schedule.milestones(20) == [0, 5]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_net_that_needs_a_gpu_is_refused_by_name(tmp_path):
    settings = toy_settings(device="cuda")
    spec = Spec("gated", "toy", "toy", settings, 1, "0", 1, 1)
    with pytest.raises(Problem, match=r"gated needs a GPU and there is none.*device: cpu"):
        train(spec, [0], tmp_path, tmp_path / "c.pt", lambda *_: None)
