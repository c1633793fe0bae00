"""Blocks that are discarded while a net trains, and what follows from it."""

import dataclasses
import os
import signal
import subprocess
import sys

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from skipgate.files import Problem
from skipgate.nets.weights import to_list
from skipgate.reader import read
from skipgate.results import turns
from skipgate.results.by_seed import join
from skipgate.results.by_seed import split as by_seed
from skipgate.settings import Adaptive, Decay, GateChoice, Mlp, Moment, Recipe, Resnet, Sgd
from skipgate.specs import Spec
from skipgate.streams import stream
from skipgate.tasks import task_of
from skipgate.training import checkpoints
from skipgate.training.job import _result
from skipgate.training.loop import begin, fit, run_epoch
from tests.toys import CONV, MLP, ONE, ROOT, TOY, toy_settings

CPU = torch.device("cpu")
CIFAR = Adaptive("adaptive", (82, 123), (41, 61), 0.1, 0.0002, 300, 150)
SVHN = Adaptive("adaptive", (20, 28, 50), (10, 14, 25), 0.1)
SOON = Adaptive("adaptive", (2, 5), (1, 2), 0.1)
GATE = GateChoice("epsilon", {"epsilon": 1.2})
PRE = Mlp("mlp", depth=8, width=6, order="pre", bias=False)
DYING = {
    "optimiser": Sgd("sgd", 0.1),
    "decay": Decay(0.3),
    "schedule": SOON,
    "epochs": 9,
}


def rates(schedule, counts, epochs):
    """The rate of every epoch, the count of discarded blocks being known of those before."""
    history = {"discarded": [[float(count)] for count in counts]}
    return [
        schedule.rate(0.1, Moment(e, 1000, 0, {"discarded": history["discarded"][:e]}))
        for e in epochs
    ]


def test_the_standard_schedule_holds_until_a_block_is_lost():
    never = [0] * 400
    assert rates(CIFAR, never, (0, 81, 82, 123, 299, 300)) == pytest.approx(
        [0.1, 0.1, 0.01, 0.001, 0.001, 0.0002]
    )
    assert rates(SVHN, never, (19, 20, 28, 50, 399)) == pytest.approx(
        [0.1, 0.01, 0.001, 0.0001, 0.0001]
    )


def test_every_growth_of_the_count_begins_anew_and_falls_twice_as_fast():
    counts = [0] * 100 + [1] * 300
    assert rates(CIFAR, counts, (100, 101, 141, 142, 162, 250, 251)) == pytest.approx(
        [0.01, 0.1, 0.1, 0.01, 0.001, 0.001, 0.0002]
    )
    counts = [0] * 5 + [2] * 10 + [1] + [2] * 30
    assert rates(SVHN, counts, (6, 15, 16, 17, 26, 27, 31, 42)) == pytest.approx(
        [0.1, 0.1, 0.01, 0.1, 0.1, 0.01, 0.001, 0.0001]
    ), "a block that comes back and goes again is lost again"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"after": [3, 2]}, r"the epochs of after must rise, found \[3, 2\]"),
        ({"at": [0]}, "an epoch of at must be above 0"),
        ({"last_rate": 0.1}, "last_rate needs a last_at past at, and a last_after past after"),
        ({"last_at": 9}, "last_at and last_after need a last_rate"),
        ({"factor": 0}, "factor must be above 0"),
    ],
)
def test_bad_schedules_are_refused(change, sentence):
    value = {"kind": "adaptive", "at": [2, 5], "after": [1, 2], "factor": 0.1, **change}
    with pytest.raises(Problem, match=f"schedule: {sentence}"):
        read(Adaptive, value, "schedule")


def test_an_adaptive_rate_needs_a_gate_that_discards():
    with pytest.raises(Problem, match="the gate 'constant' discards none; take the gate 'epsilon'"):
        begin(toy_settings(schedule=SOON), [0], CPU)


def fitted(settings, seeds, split, file):
    state = begin(settings, seeds, CPU)
    fit(state, split, file, lambda _: None)
    return state


def result(state):
    return _result(Spec("x", "toy", "toy", state.settings, 1, "d", 1), state)


def test_blocks_are_recorded_as_they_are_discarded(split, tmp_path):
    state = fitted(toy_settings(PRE, GATE, ONE, **DYING), [0], split, tmp_path / "a.pt")
    found = result(state)
    (blocks,) = found["blocks"]
    epochs = len(found["metrics"]["discarded"][0])
    shut = [turns.by_epoch(each, epochs) for each in blocks["shut"]]
    assert [sum(column) for column in zip(*shut, strict=True)] == found["metrics"]["discarded"][0]
    assert found["metrics"]["discarded"][0][-1] > 0, "decay closes the gates"
    assert found["metrics"]["discarded"][0][0] < 4
    assert blocks["stage"] == [0] * 4
    assert blocks["epochs"] == list(range(9))
    for i, block in enumerate(state.network.blocks):
        weights = torch.cat([a.weight.detach().flatten() for a in block.transform.affines])
        last = {p: rows[i][-1] for p, rows in blocks["percentiles"].items()}
        assert last["0"] == pytest.approx(float(weights.min()), rel=1e-5)
        assert last["100"] == pytest.approx(float(weights.max()), rel=1e-5)
        assert last["50"] == pytest.approx(float(weights.quantile(0.5)), abs=0.1)
        assert last["0"] <= last["7"] <= last["50"] <= last["93"] <= last["100"]


def test_a_block_has_collapsed_at_a_hundredth_of_its_weights_at_shutting(split):
    settings = toy_settings(PRE, GateChoice("epsilon", {"epsilon": 1000}), ONE, epochs=3)
    state = begin(settings, [0], CPU)
    run_epoch(state, split, 0)
    run_epoch(state, split, 1)
    assert state.lives.shut == [[[0]] * 4]
    assert state.lives.collapsed == [[[]] * 4]
    with torch.no_grad():
        for affine in state.network.blocks[2].transform.affines:
            affine.weight.mul_(0.005)
    run_epoch(state, split, 2)
    assert state.lives.collapsed == [[[], [], [2], []]]


def test_a_kill_between_two_discards_leaves_no_trace(split, tmp_path):
    settings = toy_settings(PRE, GATE, ONE, **DYING)
    whole = fitted(settings, [0], split, tmp_path / "a.pt")
    counts = [row[0] for row in whole.lives.discarded]
    growths = [e for e in range(9) if counts[e] > ([0, *counts])[e]]
    assert len(growths) > 1, counts
    between = growths[0] + 1

    def stop(history):
        if len(history["test_loss"]) == between:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(begin(settings, [0], CPU), split, tmp_path / "b.pt", stop)
    again = fitted(settings, [0], split, tmp_path / "b.pt")
    assert result(again) == result(whole)
    assert all(map(torch.equal, to_list(again.network), to_list(whole.network)))
    files = [checkpoints.load(tmp_path / f"{name}.pt", "") for name in "ab"]
    assert files[0]["lives"] == files[1]["lives"]


def test_seeds_that_discard_at_different_epochs_keep_their_own_rates(split, tmp_path):
    settings = toy_settings(PRE, GATE, ONE, **DYING)
    alone = {s: result(fitted(settings, [s], split, tmp_path / f"{s}.pt")) for s in range(3)}
    metrics = join("train", alone)["metrics"]
    assert len({tuple(column) for column in metrics["discarded"]}) > 1
    assert len({tuple(column) for column in metrics["rate"]}) > 1
    for counts, found in zip(metrics["discarded"], metrics["rate"], strict=True):
        assert found == pytest.approx(rates(SOON, counts, range(9)))


def test_results_with_and_without_blocks_are_put_together(split, tmp_path):
    new = result(fitted(toy_settings(PRE, GATE, ONE), [0, 1], split, tmp_path / "a.pt"))
    assert join("train", by_seed("train", new)) == new
    parts = by_seed("train", new)
    del parts[0]["blocks"], parts[0]["metrics"]["rate"], parts[0]["metrics"]["discarded"]
    joined = join("train", parts)
    assert joined["blocks"] == [None, new["blocks"][1]]
    assert joined["metrics"]["rate"] == [[None] * 2, new["metrics"]["rate"][1]]


def test_other_nets_have_no_such_record(split, tmp_path):
    state = fitted(toy_settings(), [0], split, tmp_path / "a.pt")
    assert result(state).keys() == {"net", "digest", "seeds", "diverged", "metrics"}
    assert "lives" not in checkpoints.load(tmp_path / "a.pt", "")


def test_weight_decay_falls_every_so_many_steps(split):
    decay = Decay(0.01, fall=0.2, every=4)
    state = begin(toy_settings(decay=decay, optimiser=Sgd("sgd", 0.1)), [0], CPU)
    run_epoch(state, split, 0)
    assert state.optimiser.param_groups[0]["weight_decay"] == 0.01
    run_epoch(state, split, 1)
    assert state.optimiser.param_groups[0]["weight_decay"] == pytest.approx(0.002)
    assert state.optimiser.param_groups[1]["weight_decay"] == 0
    with pytest.raises(ValueError, match="go together"):
        Decay(0.01, fall=0.2)


@pytest.mark.parametrize("body", [MLP, CONV, Resnet("resnet", blocks=2, width=2, dropout=0.3)])
@pytest.mark.parametrize("T", [ONE, GATE, GateChoice("survival")], ids=lambda T: T.gate)
def test_blocks_computed_twice_train_alike(body, T, split):
    kept, again = (
        begin(toy_settings(body, T, ONE, checkpointed=on, optimiser=Sgd("sgd", 0.1)), [0, 1], CPU)
        for on in (False, True)
    )
    for state in (kept, again):
        run_epoch(state, split, 0)
    for a, b in zip(to_list(kept.network), to_list(again.network), strict=True):
        assert torch.allclose(a, b, rtol=1e-5, atol=1e-6)


def kept(network, x):
    """Bytes that a forward pass leaves for the way back."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        output = network.run(x)
    assert output.main.requires_grad
    return sum(event.self_cpu_memory_usage for event in seen.key_averages())


def test_blocks_that_are_computed_again_keep_little():
    """A block's input instead of all that it computes: a fifth in pre-activation blocks."""
    body = Resnet("resnet", blocks=3, shortcut="pool")
    found = []
    for on in (False, True):
        network = begin(toy_settings(body, GATE, ONE, checkpointed=on), [0], CPU).network
        found.append(kept(network.train(), torch.rand(1, 64, *TOY.shape)))
    assert 0 < found[1] < found[0] / 3


def test_checkpointed_blocks_are_not_compiled():
    recipe = toy_settings().training
    with pytest.raises(ValueError, match="checkpointed blocks cannot be compiled"):
        dataclasses.replace(recipe, checkpointed=True, compiled=True)
    assert isinstance(recipe, Recipe)


@pytest.mark.parametrize("body", [MLP, PRE, CONV])
def test_a_side_head_is_there_in_training_alone(body, split):
    settings = toy_settings(dataclasses.replace(body, side=0.1))
    network = begin(settings, [0], CPU).network
    x = split.train.x[:8].unsqueeze(0)
    ((weight, side),) = network.train().run(x).sides
    assert weight == 0.1
    assert side.shape == (1, 8, 10)
    assert list(network.side_weights) == [body.count // 2 - 1]
    assert network.eval().run(x).sides == ()
    with pytest.raises(ValueError, match="side needs a network of at least 2 blocks, found 1"):
        Mlp("mlp", depth=2, side=0.1)


TRAINING = """
import sys
from pathlib import Path

import torch

from skipgate.training.loop import begin, fit
from tests.training.test_lives import DYING, GATE, ONE, PRE, made_up, toy_settings

settings = toy_settings(PRE, GATE, ONE, **DYING)
state = begin(settings, [0], torch.device("cpu"), torch.float64)
fit(state, made_up(), Path(sys.argv[1]), lambda history: print(len(state.lives.rate), flush=True))
"""


def made_up():
    """The same examples in every process."""
    return task_of(TOY).made_up(24, toy_settings().training, stream(0, "examples"))


def train_apart(file, until=None):
    """Train in a process of its own; kill -9 it once it has done so many epochs."""
    command = [sys.executable, "-c", TRAINING, str(file)]
    where = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    with subprocess.Popen(command, env=where, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if int(line) == until:
                process.kill()
                break
    assert process.returncode == (0 if until is None else -signal.SIGKILL)


def same_bytes(one, other):
    """All that a checkpoint has but the seconds, which are the clock's."""
    saved = [checkpoints.load(file, "") for file in (one, other)]
    for each in saved:
        del each["seconds"]
    return checkpoints.to_bytes(saved[0]) == checkpoints.to_bytes(saved[1])


def test_a_process_killed_between_two_discards_goes_on_to_the_same_bytes(tmp_path):
    train_apart(tmp_path / "whole.pt")
    lives = checkpoints.load(tmp_path / "whole.pt", "")["lives"]
    counts = [0.0, *(row[0] for row in lives["discarded"])]
    growths = [epoch for epoch in range(1, len(counts)) if counts[epoch] > counts[epoch - 1]]
    assert len(growths) > 1, counts
    train_apart(tmp_path / "killed.pt", until=growths[0])
    killed = checkpoints.load(tmp_path / "killed.pt", "")
    assert growths[0] <= killed["epoch"] < len(counts) - 1
    train_apart(tmp_path / "killed.pt")
    assert same_bytes(tmp_path / "whole.pt", tmp_path / "killed.pt")
    assert len({row[0] for row in lives["rate"]}) > 1, "the rate has moved"
