"""Several processes train one net: real ones, started by torchrun, on the CPU."""

import dataclasses
import json
import os
import subprocess
import sys
from functools import partial

import psutil
import pytest
import torch
import torch.nn.functional as F

from skipgate import params
from skipgate.data.fetching import fetch
from skipgate.data.images import Images
from skipgate.evaluation import evaluate
from skipgate.files import Problem, read_json, write_json
from skipgate.group import ALONE, Group, Share
from skipgate.nets.weights import from_list, to_list
from skipgate.reader import plain
from skipgate.settings import Augment, Jitter, Lighting, Window
from skipgate.specs import Spec, resolve
from skipgate.streams import streams
from skipgate.training import checkpoints
from skipgate.training.job import _check_batches, obtain, train
from skipgate.training.loop import begin, fit
from skipgate.training.vault import Vault, key_of
from tests.toys import ROOT, toy_settings
from tests.training.shared_out import (
    CASES,
    COUNT,
    CPU,
    SEEDS,
    WITH_NORM,
    WITHOUT_NORM,
    examples,
    trained,
)

pytestmark = pytest.mark.xdist_group("parallel")  # they share what torchrun has run once
EPOCHS = 16
DATA = "digits"


def torchrun(processes, *words, folder, **environment):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    return subprocess.Popen(
        [*command, "--nproc-per-node", str(processes), "-m", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return output


def a_spec() -> Spec:
    settings = resolve(params.load(ROOT / "params.yaml"), "gated-2")
    recipe = dataclasses.replace(settings.recipe, epochs=EPOCHS, images=500, batch=33)
    settings = dataclasses.replace(settings, recipe=recipe)
    return Spec("x", "digits", DATA, settings, 1, "d" * 16, seeds=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that a worker finds the net in."""
    made = tmp_path_factory.mktemp("worker")
    spec = a_spec()
    known = params.load(ROOT / "params.yaml")
    fetch(DATA, spec.settings.data, known.sources[DATA], made / "data" / DATA)
    names = ("study", "dataset", "parameters", "digest", "seeds", "stack")
    content = {name: getattr(spec, name) for name in names}
    write_json(made / "specs" / "x.json", {**content, "settings": plain(spec.settings)})
    return made


@pytest.fixture(scope="module")
def by_two(tmp_path_factory, folder):
    """What each of two processes has of every case after its training.

    They go on to train the worker's net, undisturbed, into the vault `quiet`.
    """
    made = tmp_path_factory.mktemp("two")
    words = ("tests.training.shared_out", str(made))
    output = finished(torchrun(2, *words, folder=folder, SKIPGATE_VAULT="quiet"))
    assert len(output.splitlines()) == EPOCHS, "one of them tells"
    return {case: [torch.load(made / f"{case}-{rank}.pt") for rank in range(2)] for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_all_processes_have_the_same_in_the_end(by_two, case):
    one, other = by_two[case]
    assert all(map(torch.equal, one["tensors"], other["tensors"]))
    assert one["history"] == other["history"]


@pytest.mark.parametrize("case", WITHOUT_NORM)
def test_without_batch_normalisation_two_train_what_one_trains(by_two, case):
    """Batches of odd sizes, changed images, dropped units and blocks; losses, scores and weights."""
    found, alone = by_two[case][0], trained(case, ALONE)
    for ours, theirs in zip(found["tensors"], to_list(alone.network), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    assert found["history"].keys() == alone.history.keys() >= {"train_error", "test_error"}
    for name, rows in alone.history.items():
        assert found["history"][name] == [pytest.approx(row, rel=1e-10) for row in rows]


@pytest.mark.parametrize("case", WITH_NORM)
def test_with_it_gradients_are_the_mean_over_shares_that_are_normalised_apart(by_two, case):
    """One step of rate 1, so that weights move by the gradient; statistics are the first share's."""
    settings, split = CASES[case], examples(case)
    fresh = begin(settings, SEEDS, CPU, torch.float64).network
    before = [p.detach().clone() for p in fresh.parameters()]
    means = [torch.zeros_like(p) for p in before]
    x, y = split.train.scaling(split.train.x), split.train.y
    statistics = []
    for rows in (slice(0, 11), slice(11, COUNT)):
        network = begin(settings, SEEDS, CPU, torch.float64).network.train()
        answers = network(x[rows].expand(2, -1, *x.shape[1:]))
        loss = sum(F.cross_entropy(answer, y[rows]) for answer in answers)
        loss.backward()
        for mean, p in zip(means, network.parameters(), strict=True):
            mean.add_(p.grad * len(y[rows]) / COUNT)
        statistics.append(network.state_dict())
    found = begin(settings, SEEDS, CPU, torch.float64).network
    from_list(found, by_two[case][0]["tensors"])
    for after, p, mean in zip(found.parameters(), before, means, strict=True):
        assert torch.allclose(after, p - mean, rtol=1e-9, atol=1e-12)
    for name, values in found.state_dict().items():
        if "running" in name:
            assert torch.allclose(values, statistics[0][name])
            assert not torch.allclose(values, statistics[1][name])
    tally = evaluate(found, trained(case, ALONE).task, split.test, 5)
    assert by_two[case][0]["history"]["test_loss"] == [pytest.approx(tally.mean_loss().tolist())]
    assert by_two[case][0]["history"]["test_error"] == [tally.values().tolist()]


def test_an_image_is_changed_as_it_is_in_a_training_by_one():
    augment = Augment(
        pad=1,
        flip=True,
        brightness=9.0,
        contrast=0.2,
        window=Window((0.3, 1), (0.7, 1.4)),
        jitter=Jitter(0.4, 0.4, 0.4),
        lighting=Lighting(0.1, (0.2, 0.02, 0.01)),
    )
    recipe = toy_settings(augment=augment, batch=5).training
    generator = torch.Generator().manual_seed(3)
    x = torch.randint(256, (13, 3, 8, 8), generator=generator).to(torch.uint8)
    images = Images(x, torch.arange(13))
    epoch = partial(images.epoch, recipe, partial(streams, (3, 4), epoch=1))
    shares = zip(*(epoch(Share(rank, 3)) for rank in range(3)), strict=True)
    for whole, parts in zip(epoch(), shares, strict=True):
        for all_of_it, part in zip(whole, zip(*parts, strict=True), strict=True):
            assert torch.equal(all_of_it, torch.cat(part, 1))


def test_shares_are_even_and_whole():
    for whole in range(1, 20):
        for count in range(1, 6):
            rows = [Share(rank, count).rows(whole) for rank in range(count)]
            assert [i for own in rows for i in range(whole)[own]] == list(range(whole))
            sizes = [own.stop - own.start for own in rows]
            assert max(sizes) - min(sizes) <= 1


def worker(processes, folder, vault):
    """The command that a user types."""
    words = ("skipgate.fanout.worker", "x", "0")
    return torchrun(processes, *words, folder=folder, SKIPGATE_VAULT=vault)


def kept(folder, vault):
    """The training's files; provenance is compared apart."""
    entry = Vault(folder / vault).find(key_of(a_spec(), 0))
    assert entry is not None
    record = read_json(entry / "run.json", "")["runs"][0]
    return [(entry / name).read_bytes() for name in ("model.pt", "train.json")], record


def kill(process, rank, epoch):
    """`kill -9` of one of the processes, once some epochs are behind them; gives what is said."""
    while json.loads(process.stdout.readline())["epoch"] < epoch:
        pass
    running = psutil.Process(process.pid).children()
    (victim,) = [child for child in running if child.environ().get("RANK") == str(rank)]
    victim.kill()
    _, errors = process.communicate(timeout=300)
    assert process.returncode != 0
    assert not psutil.wait_procs(running, timeout=60)[1], "none outlives the other"
    return errors


def test_after_a_kill_of_either_process_the_same_command_goes_on_to_the_same_bytes(folder, by_two):
    vault = Vault(folder / "killed")
    for rank, epoch in ((1, 1), (0, 4)):
        errors = kill(worker(2, folder, "killed"), rank, epoch)
        assert "skipgate: another process of this training has ended" in errors
        assert vault.find(key_of(a_spec(), 0)) is None, "it was killed before its end"
    first, *_ = map(json.loads, finished(worker(2, folder, "killed")).splitlines())
    assert first["epoch"] >= 4, "no finished epoch is trained again"
    (quiet, record), (killed, other) = (kept(folder, name) for name in ("quiet", "killed"))
    assert quiet == killed
    assert record["processes"] == other["processes"] == 2
    assert not list(vault.root.glob("checkpoints/*.pt"))


def test_one_process_under_torchrun_is_none_at_all(folder):
    finished(worker(1, folder, "one"))
    vault = Vault(folder / "none")
    obtain(a_spec(), [0], folder / "data" / DATA, vault, lambda *_: None)
    (one, record), (none, other) = (kept(folder, name) for name in ("one", "none"))
    assert one == none
    assert record.keys() == other.keys()
    assert "processes" not in record


def test_more_processes_than_a_batch_can_bear_are_refused(folder):
    crowd = Group(Share(0, 34))
    with pytest.raises(Problem, match="34 processes cannot share batches of 33; start fewer"):
        train(a_spec(), [0], folder / "data" / DATA, folder / "c.pt", lambda *_: None, crowd)
    with pytest.raises(Problem, match=r"3 processes leave one of them 1 example\(s\) of a batch"):
        _check_batches(69, 32, Group(Share(0, 3)))
    _check_batches(70, 32, Group(Share(0, 3)))


def test_a_training_goes_on_with_as_many_processes_as_began_it(tmp_path, split):
    state = begin(toy_settings(), range(2), CPU)
    file = tmp_path / "c.pt"
    file.write_bytes(checkpoints.to_bytes({"processes": 4}))
    message = r"c\.pt is of a training by 4 process\(es\), which cannot go on with 1"
    with pytest.raises(Problem, match=message):
        fit(state, split, file, lambda _: None)
