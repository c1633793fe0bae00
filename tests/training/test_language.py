"""Language models in training: clipping, halving, and a kill that changes nothing."""

import dataclasses
import shutil
import signal
import time

import pytest
import torch

from skipgate import params
from skipgate.files import Problem
from skipgate.settings import Halving, Moment, Recipe, Sgd
from skipgate.specs import Settings
from skipgate.streams import stream
from skipgate.training.loop import begin, clip, run_epoch
from tests.nets.test_reading import CONTENT, COUPLED, SIGMOID, TOY, network, text
from tests.project import Project
from tests.toys import ROOT

HALVING = Halving("halving", "validation_perplexity", 1.0)


def rate(*perplexities):
    history = {"validation_perplexity": [[p] for p in perplexities]}
    return HALVING.rate(1.0, Moment(len(perplexities), 25, 0, history))


def test_the_rate_is_halved_after_every_epoch_that_gains_less_than_1():
    assert rate() == rate(300.0) == rate(300.0, 200.0) == rate(201.0, 200.0) == 1.0
    assert rate(200.5, 200.0) == rate(200.0, 300.0) == rate(200.0, float("nan")) == 0.5
    assert rate(300.0, 299.5, 200.0, 199.5) == 0.25


def test_a_schedule_that_looks_at_nothing_recorded_is_refused():
    with pytest.raises(Problem, match="looks at validation_perplexity, not recorded"):
        HALVING.rate(1.0, Moment(1, 25, 0, {"test_loss": [[1.0]]}))


def test_seeds_of_a_stack_cannot_share_such_a_schedule(tmp_path):
    file = tmp_path / "params.yaml"
    known = (ROOT / "params.yaml").read_text()
    line = "defaults: {data: words, recipe: words, seeds: 3, stack: 1,"
    assert line in known
    file.write_text(known.replace(line, line.replace("stack: 1", "stack: 2")))
    with pytest.raises(Problem, match="set stack: 1"):
        params.load(file)


def test_bodies_that_read_and_texts_go_together(tmp_path):
    file = tmp_path / "params.yaml"
    known = (ROOT / "params.yaml").read_text()
    file.write_text(known.replace("gated-10: {body: mlp-10,", "gated-10: {body: character-toy,", 1))
    with pytest.raises(Problem, match="'character-toy' reads text, and 'digits' is none"):
        params.load(file)


def test_each_replica_is_clipped_by_its_own_norm_as_pytorch_would():
    net = network(replicas=2).train()
    x, _ = next(text(6).in_turn(3))
    factors = torch.tensor([1.0, 1000.0], dtype=torch.float64).view(2, 1, 1, 1)
    (net.run(x.expand(2, *x.shape)).main * factors).sum().backward()
    small, large = (
        torch.cat([p.grad[i].flatten() for p in net.parameters()]).clone() for i in range(2)
    )
    most = float(small.norm()) * 2
    clip(net, most)
    ours = [torch.cat([p.grad[i].flatten() for p in net.parameters()]) for i in range(2)]
    torch.testing.assert_close(ours[0], small)
    torch.testing.assert_close(ours[1], large * most / large.norm())
    clip(net, 0.0)
    torch.testing.assert_close(ours[0], small)


def recipe(**changes):
    sgd = Sgd("sgd", 1.0, momentum=0.0, nesterov=False)
    made = Recipe(3, 2, sgd, HALVING, evaluation_batch=2, steps=5, clip=5.0)
    return dataclasses.replace(made, **changes)


def test_a_step_is_by_the_sum_over_a_rows_words_and_the_mean_over_rows():
    """One batch, plain SGD: the weights move by the gradient of that sum."""
    settings = Settings(CONTENT, TOY, recipe(clip=0.0, epochs=1), SIGMOID, COUPLED)
    state = begin(settings, [0], torch.device("cpu"), torch.float64)
    split = state.task.made_up(1, settings.training, stream(0, "twin"))
    once = dataclasses.replace(split, train=text(5, 10))
    before = state.network.head.last.bias.detach().clone()
    x, y = next(once.train.in_turn(2))
    state.network.train()
    loss = state.task.losses(state.network.run(x.unsqueeze(0)).main, y.unsqueeze(0)) * 5
    (gradient,) = torch.autograd.grad(loss.sum(), [state.network.head.last.bias])
    run_epoch(state, once, 0)
    torch.testing.assert_close(state.network.head.last.bias.detach(), before - gradient)


def test_validation_is_scored_every_epoch():
    settings = Settings(CONTENT, TOY, recipe(), SIGMOID, COUPLED)
    state = begin(settings, [0], torch.device("cpu"), torch.float64)
    split = state.task.made_up(4, settings.training, stream(0, "twin")).used_by(settings.training)
    for epoch in range(2):
        run_epoch(state, split, epoch)
    assert len(state.history["validation_perplexity"]) == 2
    assert state.history["validation_perplexity"] != state.history["test_perplexity"]


def test_a_recipe_for_text_without_steps_is_refused():
    settings = Settings(CONTENT, TOY, recipe(steps=0), SIGMOID, COUPLED)
    state = begin(settings, [0], torch.device("cpu"))
    with pytest.raises(Problem, match="says in `steps`"):
        state.task.made_up(4, settings.training, stream(0, "twin"))


def test_a_killed_language_model_goes_on_to_the_same_bytes(tmp_path):
    project = Project(tmp_path / "project")
    known = params.read_yaml(ROOT / "params.yaml")

    def add(settings):
        settings["studies"]["words"] = known["studies"]["words"]
        settings["studies"]["words"]["defaults"]["seeds"] = 1
        settings["recipes"]["words"]["epochs"] = 4
        content = {"train": 2000, "validation": 400, "test": 400, "sha256": "0"}
        settings["data"]["words"].update(content)
        settings["nets"]["words"] = {"words-full": known["nets"]["words"]["words-full"]}

    project.edit_params(add)
    told = project.stage("fetch", "words", code=1)
    found = told.split("hashes to ")[1].split(",")[0]
    project.edit_params(lambda s: s["data"]["words"].update(sha256=found))
    project.stage("fetch", "words")
    project.stage("specify")
    project.stage("train", "words-full")
    model = project.folder / "models" / "words" / "words-full.pt"
    whole, result = model.read_bytes(), project.result("words-full", "train")
    model.unlink()
    shutil.rmtree(project.folder / ".vault")

    process = project.start("python", "-m", "pipeline.train", "words-full")
    while not list(project.folder.glob(".vault/checkpoints/*.pt")):
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    project.stage("train", "words-full")
    assert model.read_bytes() == whole
    assert project.result("words-full", "train") == result
