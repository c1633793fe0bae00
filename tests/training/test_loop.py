"""The promises of training: same bytes, seeds that do not notice each other, a kill that leaves no trace."""

import dataclasses
import math
from functools import partial

import pytest
import torch

from skipgate import params
from skipgate.data.fetching import fetch
from skipgate.evaluation import evaluate
from skipgate.files import Problem
from skipgate.nets.weights import to_list
from skipgate.settings import (
    Augment,
    Crelu,
    Decay,
    Fleuret,
    Fractions,
    GateChoice,
    Imagenet,
    Mlp,
    Nadam,
    Norm,
    Resnet,
    Sgd,
)
from skipgate.specs import Spec, resolve
from skipgate.streams import streams
from skipgate.tasks import task_of
from skipgate.training import checkpoints, models
from skipgate.training.job import _failed_at, train
from skipgate.training.loop import State, begin, fit, run_epoch
from tests.toys import CONV, MLP, ONE, ROOT, TOY, ZERO, toy_settings

CPU = torch.device("cpu")
HIGHWAY = GateChoice("sigmoid"), GateChoice("coupled")
FAMILIES = {
    "plain": (MLP, ONE, ZERO),
    "residual": (Mlp("mlp", depth=4, width=6, addition="before"), ONE, ONE),
    "gated": (MLP, GateChoice("scalar"), ONE),
    "linear": (Mlp("mlp", depth=4, width=6, addition="before-norm"), GateChoice("linear"), ONE),
    "bare": (Mlp("mlp", depth=4, width=6, bias=False, stem="norm-relu"), GateChoice("scalar"), ONE),
    "scalar-gated": (MLP, GateChoice("scalar"), GateChoice("coupled")),
    "highway": (Mlp("mlp", depth=4, width=6, layers=1), *HIGHWAY),
    "epsilon": (CONV, GateChoice("epsilon", {"epsilon": 1.5}), ONE),
    "stochastic": (CONV, GateChoice("survival"), ONE),
    "wide": (Resnet("resnet", blocks=1, width=2, widen=2, shortcut="project"), ONE, ONE),
    "fleuret": (Fleuret("fleuret", blocks=2, width=3), ONE, ONE),
    "dropout": (
        Resnet("resnet", blocks=1, width=2, widen=2, shortcut="project", dropout=0.3),
        ONE,
        ONE,
    ),
    "shared": (
        Resnet("resnet", blocks=3, width=2, stages=2, share=("maps", "gates")),
        GateChoice("scalar"),
        ONE,
    ),
    "highway-full": (
        Imagenet("imagenet", (2, 1), bottleneck=True, width=2, addition="both"),
        GateChoice("layers"),
        GateChoice("coupled"),
    ),
    "without-norm": (
        Imagenet("imagenet", (2, 1), bottleneck=True, width=2, norm=Norm(kind="none")),
        GateChoice("pointwise"),
        GateChoice("coupled"),
    ),
    "looks-linear": (Crelu("crelu", depth=4, width=2, stages=2), ONE, ZERO),
}
family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def trained(settings, split, seeds=range(2), dtype=torch.float32) -> State:
    state = begin(settings, seeds, CPU, dtype)
    for epoch in range(settings.recipe.epochs):
        run_epoch(state, split, epoch)
    return state


def equal(a, b) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def in_float64(split):
    return dataclasses.replace(
        split,
        train=dataclasses.replace(split.train, x=split.train.x.double()),
        test=dataclasses.replace(split.test, x=split.test.x.double()),
    )


@family
def test_the_same_seed_gives_the_same_bytes(family, split):
    settings = toy_settings(*family, augment=Augment(pad=1, flip=True))
    files = []
    for _ in range(2):
        state = trained(settings, split)
        files.append(
            checkpoints.to_bytes({"tensors": to_list(state.network), "history": state.history})
        )
    assert files[0] == files[1]


@family
def test_a_stack_of_seeds_equals_the_seeds_alone(family, split):
    settings = toy_settings(*family, augment=Augment(pad=1, flip=True))
    stack = trained(settings, in_float64(split), range(3), torch.float64)
    for seed in range(3):
        alone = trained(settings, in_float64(split), range(seed, seed + 1), torch.float64)
        for a, b in zip(to_list(stack.network), to_list(alone.network), strict=True):
            # Biases before batch normalisation have no gradient but rounding, which NAdam divides by 1e-8.
            assert torch.allclose(a[seed], b[0], rtol=1e-9, atol=1e-9)
        assert [row[seed] for row in stack.history["test_error"]] == [
            row[0] for row in alone.history["test_error"]
        ]


def test_seeds_differ(split):
    state = trained(toy_settings(), split)
    weight = to_list(state.network)[0]
    assert not torch.equal(weight[0], weight[1])


@family
@pytest.mark.parametrize("optimiser", [Nadam("nadam"), Sgd("sgd", 0.1)], ids=["nadam", "sgd"])
def test_an_interrupted_run_goes_on_to_the_same_bytes(family, optimiser, split, tmp_path):
    settings = toy_settings(
        *family, optimiser=optimiser, epochs=3, schedule=Fractions("fractions", (0.5,), 0.1)
    )
    whole = trained(settings, split)

    def stop_after_two(history):
        if len(history["test_error"]) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(begin(settings, range(2), CPU), split, tmp_path / "c.pt", stop_after_two)
    again, seen = begin(settings, range(2), CPU), []
    fit(again, split, tmp_path / "c.pt", lambda history: seen.append(len(history["test_error"])))
    assert seen == [2, 3], "the second run repeats no finished epoch"
    assert equal(to_list(whole.network), to_list(again.network))
    assert whole.history == again.history


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short"])
def test_a_damaged_checkpoint_is_left_aside_with_a_warning(content, split, tmp_path):
    settings, file = toy_settings(), tmp_path / "c.pt"
    file.write_bytes(content)
    state = begin(settings, range(2), CPU)
    with pytest.warns(UserWarning, match=r"c\.pt is damaged or cut short"):
        fit(state, split, file, lambda _: None)
    assert equal(to_list(state.network), to_list(trained(settings, split).network))


def test_a_damaged_model_is_refused(tmp_path):
    (tmp_path / "m.pt").write_bytes(b"half a model")
    with pytest.raises(Problem, match=r"m\.pt is damaged or cut short; run: dvc repro"):
        checkpoints.load(tmp_path / "m.pt", "run: dvc repro train@x")


def test_a_diverged_seed_is_recorded_and_harms_no_other(split):
    settings = toy_settings(epochs=3)
    state, healthy = begin(settings, range(2), CPU), begin(settings, range(2), CPU)
    with torch.no_grad():
        state.network.stem[1].weight[0, 0, 0] = math.inf
    for epoch in range(3):
        run_epoch(state, split, epoch)
        run_epoch(healthy, split, epoch)
    assert all(math.isnan(row[0]) for row in state.history["train_loss"])
    assert all(math.isnan(row[0]) for row in state.history["test_error"])
    assert [row[1] for row in state.history["test_error"]] == [
        row[1] for row in healthy.history["test_error"]
    ]


def test_divergence_is_dated_from_the_end():
    assert _failed_at([1.0, None, None], [2.0, 3.0, None]) == 1
    assert _failed_at([1.0, None, 1.0], [2.0, 3.0, 4.0]) is None, (
        "a seed that recovered has a number"
    )
    assert _failed_at([1.0, 1.0], [2.0, None]) == 1


def test_a_last_batch_of_one_example_is_refused(tmp_path):
    known = params.load(ROOT / "params.yaml")
    settings = resolve(known, "gated-2")
    recipe = dataclasses.replace(settings.recipe, batch=63)
    settings = dataclasses.replace(settings, recipe=recipe)
    fetch("digits", settings.data, known.sources["digits"], tmp_path / "digits")
    spec = Spec("x", "digits", "digits", settings, 1, "d", seeds=2)
    with pytest.raises(Problem, match="a batch of 63 leaves a last one of a single example"):
        train(spec, [0, 1], tmp_path / "digits", tmp_path / "c.pt", lambda *_: None)


def test_a_model_of_other_code_is_not_probed(tmp_path):
    file = tmp_path / "m.pt"
    file.write_bytes(models.pack("old", {0: b"weights"}))
    assert models.unpack(file, "old", "") == {0: b"weights"}
    message = r"m\.pt was trained by other code or settings; run: dvc repro train@x"
    with pytest.raises(Problem, match=message):
        models.unpack(file, "new", "run: dvc repro train@x")
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(Problem, match=r"m\.pt is damaged or cut short; run: dvc repro train@x"):
        models.unpack(file, "old", "run: dvc repro train@x")


@pytest.mark.parametrize("decayed", [True, False])
def test_decay_of_gates_covers_the_maps_of_highway_gates(decayed):
    settings = toy_settings(
        MLP,
        *HIGHWAY,
        optimiser=Sgd("sgd", 0.1, 0.0, nesterov=False),
        decay=Decay(0.5, gates=decayed),
    )
    state, fresh = begin(settings, range(2), CPU), begin(settings, range(2), CPU)
    state.optimiser.step()
    gate, before = (s.network.blocks[0].T.affine.weight for s in (state, fresh))
    assert torch.allclose(gate, before * (1 - 0.1 * 0.5) if decayed else before)


def test_training_learns(split):
    state = trained(toy_settings(epochs=150), split)
    assert max(state.history["train_loss"][-1]) < 0.5 * min(state.history["train_loss"][0])


@family
def test_an_epoch_is_tested_on_the_test_images_in_evaluation_mode(family, split):
    state = trained(toy_settings(*family, epochs=1), in_float64(split), dtype=torch.float64)
    x, y = in_float64(split).test.x, split.test.y
    answers = state.network.eval()(x.expand(2, *x.shape))
    mistakes = (answers.argmax(-1) != y).double().mean(1) * 100
    assert state.history["test_error"] == [pytest.approx(mistakes.tolist())]
    losses = [torch.nn.functional.cross_entropy(each, y).item() for each in answers]
    assert state.history["test_loss"] == [pytest.approx(losses)]


def test_gates_may_decay_at_a_rate_of_their_own():
    settings = toy_settings(
        MLP,
        GateChoice("scalar"),
        optimiser=Sgd("sgd", 0.1, 0.0, nesterov=False),
        decay=Decay(0.5, gates=True, gate_rate=0.25),
    )
    state = begin(settings, range(2), CPU)
    fresh = begin(settings, range(2), CPU).network
    state.optimiser.step()
    assert torch.allclose(state.network.blocks[0].T.k, torch.full((2,), 1 - 0.1 * 0.25))
    assert torch.allclose(state.network.stem[1].weight, fresh.stem[1].weight * (1 - 0.1 * 0.5))
    with pytest.raises(ValueError, match="gate_rate needs gates: true"):
        Decay(0.5, gate_rate=0.25)


@pytest.mark.parametrize("k_decay", [True, False])
def test_decay_reaches_gates_only_where_it_is_switched_on(k_decay, split):
    """One step of SGD without momentum on k with a gradient of 0 leaves k, or shrinks it by rate * decay."""
    settings = toy_settings(
        MLP,
        GateChoice("scalar"),
        optimiser=Sgd("sgd", 0.1, 0.0, nesterov=False),
        decay=Decay(0.5, gates=k_decay),
    )
    state = begin(settings, range(2), CPU)
    state.optimiser.step()  # all gradients are still 0, so decay alone acts
    expected = 1 - 0.1 * 0.5 if k_decay else 1.0
    assert torch.allclose(state.network.blocks[0].T.k, torch.full((2,), expected))
    fresh = begin(settings, range(2), CPU).network
    assert torch.allclose(state.network.stem[1].weight, fresh.stem[1].weight * (1 - 0.1 * 0.5))
    assert torch.equal(state.network.blocks[0].transform.norms[0].weight, torch.ones(2, 6))


def test_what_is_held_out_is_scored_and_never_trained_on(split):
    """A training that holds out the last six is one that has only the others, with a score more."""
    held = toy_settings(validation=6)
    fewer = toy_settings(images=18)
    states = []
    for settings in (held, fewer):
        state = begin(settings, range(2), torch.device("cpu"))
        used = split.used_by(settings.training)
        for epoch in range(2):
            run_epoch(state, used, epoch)
        states.append(state)
    one, other = states
    assert all(map(torch.equal, to_list(one.network), to_list(other.network)))
    assert one.history["test_error"] == other.history["test_error"]
    assert "validation_error" not in other.history
    _, last = split.train.held_out(6)
    assert torch.equal(last.y, split.train.y[18:])
    tally = evaluate(one.network, one.task, last, 24)
    assert one.history["validation_error"][-1] == tally.values().tolist()


def test_holding_out_everything_is_refused(split):
    with pytest.raises(Problem, match="24 held-out examples leave none of 24 to train on"):
        split.used_by(toy_settings(validation=24).training)


def test_without_shuffling_all_seeds_and_epochs_have_the_order_of_the_data_set(split):
    recipe = toy_settings(shuffle=False).training
    for epoch in range(2):
        batches = split.train.epoch(recipe, partial(streams, (3, 4), epoch=epoch))
        labels = torch.cat([y for _, y in batches], dim=1)
        assert torch.equal(labels, split.train.y.expand(2, -1))
    shuffled = split.train.epoch(toy_settings().training, partial(streams, (3, 4), epoch=0))
    assert not torch.equal(torch.cat([y for _, y in shuffled], dim=1), labels)


def test_the_training_score_is_that_of_each_batch_before_its_step(split):
    """One batch an epoch: what the fresh network mistakes in training mode."""
    watched, other = (
        toy_settings(batch=24, score_training=scored, epochs=1) for scored in (True, False)
    )
    fresh = begin(watched, range(2), CPU).network.train()
    x = split.train.x.expand(2, *split.train.x.shape)
    mistakes = 100 * (fresh(x).argmax(-1) != split.train.y).double().mean(1)
    states = [trained(settings, split) for settings in (watched, other)]
    assert states[0].history["train_error"] == [pytest.approx(mistakes.tolist())]
    assert "train_error" not in states[1].history
    assert equal(*(to_list(state.network) for state in states))


def test_top_n_errors_count_what_is_not_among_the_first_answers():
    task = task_of(dataclasses.replace(TOY, among=2))
    tally = task.tally(2, CPU)
    first = torch.tensor([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]])
    tally.add(torch.stack([first, first.flip(-1)]), torch.tensor([[1, 0], [0, 0]]))
    assert tally.values().tolist() == [100.0, 50.0]
    (found,) = tally.more().items()
    assert found[0] == "top2_error"
    assert found[1].tolist() == [50.0, 50.0]
    tally.add(torch.full((2, 1, 3), torch.nan), torch.zeros(2, 1, dtype=torch.long))
    assert tally.more()["top2_error"].isnan().all()


def test_products_in_half_precision_stay_close_and_parameters_in_float32(split):
    """The loss of the first epoch moves by what bfloat16 rounds, and by something."""
    settings = [toy_settings(CONV, epochs=1, precision=word) for word in ("float32", "bfloat16")]
    exact, half = (trained(one, split) for one in settings)
    assert all(p.dtype == torch.float32 for p in half.network.parameters())
    assert half.history["train_loss"][0] == pytest.approx(exact.history["train_loss"][0], rel=0.05)
    assert half.history["train_loss"] != exact.history["train_loss"]


def test_compiled_blocks_train_as_the_others_do(split):
    settings = [
        toy_settings(CONV, GateChoice("scalar"), epochs=1, compiled=c) for c in (True, False)
    ]
    one, other = (trained(each, in_float64(split), dtype=torch.float64) for each in settings)
    for a, b in zip(to_list(one.network), to_list(other.network), strict=True):
        assert torch.allclose(a, b, rtol=1e-9, atol=1e-9)
