"""What nets that need a GPU would cost, and that without one they are refused with that."""

import dataclasses
import json
import re
import resource

import pytest
import yaml

from skipgate import costing, params
from skipgate.costing import cost_of
from skipgate.nets.network import parameter_count
from skipgate.results.costs import Cost
from skipgate.settings import GateChoice, Gpu, Resnet
from skipgate.specs import Settings, Spec, resolve
from skipgate.training.loop import build_for
from tests.project import Project, copied
from tests.toys import MLP, ROOT, toy_settings

pytestmark = pytest.mark.xdist_group("costs")  # they share a project that takes a while to make

PARAMS = params.load(ROOT / "params.yaml")
MAX_RSS_UNIT = 1024
"""Linux has the largest size of a process in kB."""


def spec_of(settings: Settings, **more) -> Spec:
    count = parameter_count(build_for(settings, 1))
    return Spec("x", "digits", "digits", settings, count, "d", seeds=1, **more)


def of_params(name: str, batch: int) -> Spec:
    settings = resolve(PARAMS, name)
    recipe = dataclasses.replace(settings.recipe, batch=batch)
    return spec_of(dataclasses.replace(settings, recipe=recipe))


def conv(outputs: int, side: int, inputs: int) -> int:
    """Operations of a 3x3 convolution of one image, an addition being one of them."""
    return 2 * outputs * side**2 * 3**2 * inputs


def test_operations_of_a_small_network_are_those_counted_by_hand():
    """Three stages of one block, 4 channels at the start, images of 8x8 in one channel."""
    spec = spec_of(toy_settings(Resnet("resnet", blocks=1, width=4), batch=6, epochs=2))
    stem = conv(4, 8, 1)
    blocks = [(4, 8, 4), (4, 8, 4), (8, 4, 4), (8, 4, 8), (16, 2, 8), (16, 2, 16)]
    head = 2 * 16 * 10
    # Nobody asks for the gradient of the image.
    wanted = 2 * stem + 3 * (sum(conv(*block) for block in blocks) + head)
    cost = cost_of(spec, examples=20)
    assert cost.operations == wanted
    assert (cost.batch, cost.steps, cost.seeds) == (6, 2 * 4, 1)


@pytest.mark.parametrize("T", ["constant", "epsilon"])
def test_a_block_keeps_what_its_gradients_need_and_no_copy_of_it(T):
    """Of each BN its inputs, of each ReLU its outputs, which the map after it shares."""
    settings = dataclasses.replace(
        toy_settings(Resnet("resnet", blocks=4), batch=32),
        data=resolve(PARAMS, "cifar-resnet5").data,
        T=GateChoice(T),
    )
    few, more = (
        cost_of(
            spec_of(
                dataclasses.replace(settings, body=dataclasses.replace(settings.body, blocks=n))
            ),
            20,
        ).memory
        for n in (4, 5)
    )
    stages = 32 * (16 * 32**2 + 32 * 16**2 + 64 * 8**2)
    assert more - few == pytest.approx(4 * stages * 4, rel=0.1), "weights are the rest"


def test_an_lstm_takes_its_matrix_products():
    """650 units behind 650, steps of 35 words; the state before the first wants no gradient."""
    settings = resolve(PARAMS, "ptb-plain")
    one, two = (
        cost_of(spec_of(dataclasses.replace(settings, body=body)), examples=1400).operations
        for body in (dataclasses.replace(settings.body, recurrent=n) for n in (1, 2))
    )
    product = 2 * 650 * 4 * 650
    assert two - one == pytest.approx(3 * 2 * product - product / 35)


def test_memory_holds_at_least_weights_gradients_and_what_the_optimiser_keeps():
    settings = toy_settings(Resnet("resnet", blocks=1, width=64), batch=2)
    spec = spec_of(settings)
    small, large = (
        cost_of(spec_of(dataclasses.replace(settings, recipe=recipe)), 20).memory
        for recipe in (settings.recipe, dataclasses.replace(settings.recipe, batch=200))
    )
    numbers = 4 * spec.parameters
    assert 4 * numbers < small < 8 * numbers, "Nadam keeps two moments"
    # The stem's map alone is a number for each image, channel and pixel.
    assert large - small > 198 * 64 * 8 * 8 * 4


def test_dense_networks_are_counted_though_a_cpu_takes_compiled_steps_for_them():
    """A stem of 64 to 6 numbers, 4 layers in 2 blocks, a head of 10."""
    cost = cost_of(spec_of(toy_settings(MLP)), examples=20)
    assert cost.operations == 2 * (2 * 64 * 6) + 3 * (4 * 2 * 6 * 6 + 2 * 6 * 10)


def test_resnet_50_takes_as_much_as_everybody_says():
    cost = cost_of(of_params("imagenet-residual-50", batch=4), examples=1281167)
    assert cost.operations == pytest.approx(24.3e9, rel=0.01)
    assert cost.steps == 90 * 320292


def test_a_step_that_no_machine_has_memory_for_is_counted():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cost = cost_of(of_params("cifar-wide", batch=10_000), examples=50_000)
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert cost.memory > 200e9
    assert taken * MAX_RSS_UNIT < 0.01 * cost.memory
    assert cost.operations == cost_of(of_params("cifar-wide", batch=2), 50_000).operations


DEEPEST = "cifar10-epsilon-752"
GIGABYTE = 1e9


def with_blocks(count: int, *, checkpointed: bool) -> Spec:
    """The deepest net with so many blocks a stage."""
    settings = resolve(PARAMS, DEEPEST)
    body = dataclasses.replace(settings.body, blocks=count)
    recipe = dataclasses.replace(settings.recipe, checkpointed=checkpointed)
    return spec_of(dataclasses.replace(settings, body=body, recipe=recipe))


@pytest.mark.parametrize("checkpointed", [True, False])
def test_two_depths_tell_what_a_deep_network_takes(checkpointed, monkeypatch):
    spec = with_blocks(7, checkpointed=checkpointed)
    whole = cost_of(spec, 50_000)
    monkeypatch.setattr(costing, "DEEP", 6)
    told = cost_of(spec, 50_000)
    assert (told.operations, told.launches) == (whole.operations, whole.launches)
    assert told.memory == pytest.approx(whole.memory, rel=0.01)


def test_752_layers_fit_by_estimate():
    """The smaller A100 has 40 GB. What checkpoints save is seen in a residual network: the count of
    networks with the gate sees nothing of it."""
    assert resolve(PARAMS, DEEPEST).recipe.checkpointed

    def memory(checkpointed, T):
        spec = with_blocks(125, checkpointed=checkpointed)
        settings = dataclasses.replace(spec.settings, T=T)
        return cost_of(dataclasses.replace(spec, settings=settings), 50_000).memory / GIGABYTE

    gate = with_blocks(125, checkpointed=True).settings.T
    assert all(memory(checkpointed, gate) < 40 for checkpointed in (False, True))
    one = GateChoice("constant")
    assert memory(checkpointed=True, T=one) < memory(checkpointed=False, T=one)


@pytest.mark.parametrize(
    ("operations", "launches", "hours"),
    [(1e9, 10, 2), (1e9, 1000, 2), (0, 500, 1), (0.4e9, 500, 1)],
    ids=["by operations", "as much of both", "by launches", "more launches than operations"],
)
def test_hours_follow_from_what_takes_longer(operations, launches, hours):
    """A batch of 100 takes 1 s at 10^11 operations a second; so do 1,000 launches."""
    gpu = Gpu("X", tflops=1, share=0.1, launch=0.001)
    cost = Cost("d", operations, launches, 0, batch=100, steps=3600, seeds=2)
    assert cost.hours(gpu) == pytest.approx(hours)


GPU_NETS = ("gpu-wide", "gpu-gated-2")


def with_gpu_study(settings) -> None:
    """Beside a study that runs, one of two nets that need a GPU: a wide network and a tiny one."""
    settings["recipes"]["gpu"] = {
        **settings["recipes"]["digits-dense"],
        "images": 1198,
        "device": "cuda",
    }
    settings["recipes"]["gpu-long"] = {**settings["recipes"]["gpu"], "epochs": 100_000}
    settings["studies"]["gpu"] = {
        **settings["studies"]["digits"],
        "title": "Nets that need a GPU",
        "frozen_seeds": 0,
        "defaults": {"data": "digits", "recipe": "gpu", "seeds": 2},
    }
    settings["nets"]["gpu"] = {
        "gpu-wide": {"body": "wide-4-10", "recipe": "gpu-long"},
        "gpu-gated-2": {"body": "mlp-2", "T": "scalar"},
    }


@pytest.fixture(scope="module")
def estimated(tmp_path_factory):
    """A project whose specs and costs are there; tests leave it as it is."""
    made = Project(tmp_path_factory.mktemp("costs"), epochs=1)
    made.edit_params(with_gpu_study)
    made.run("git", "init", "--quiet")
    made.run("dvc", "init", "--quiet")
    made.stage("specify")
    made.stage("costs")
    return made


@pytest.fixture
def project(estimated, tmp_path):
    """A copy of it to do something in."""
    return copied(estimated, tmp_path / "project")


def costs_in(project) -> dict:
    return json.loads((project.folder / "results" / "costs.json").read_text())


def insist(settings) -> None:
    for recipe in ("gpu", "gpu-long"):
        settings["recipes"][recipe]["device"] = "cpu"


def test_only_nets_that_have_changed_are_counted_again(project):
    file = project.folder / "results" / "costs.json"
    marked = {net: {**cost, "launches": 1} for net, cost in costs_in(project).items()}
    assert set(marked) == set(GPU_NETS), "no other net needs a GPU"
    file.write_text(json.dumps(marked))
    project.stage("costs")
    assert costs_in(project) == marked

    project.edit_params(lambda s: s["nets"]["gpu"]["gpu-gated-2"].update(seeds=3))
    project.stage("specify")
    project.stage("costs")
    after = costs_in(project)
    assert after["gpu-wide"] == marked["gpu-wide"]
    assert after["gpu-gated-2"]["seeds"] == 3
    assert after["gpu-gated-2"]["launches"] > 1


def test_without_a_gpu_a_net_is_refused_with_its_cost_and_how_to_insist(estimated):
    cost = costs_in(estimated)["gpu-wide"]
    each = max(cost["operations"] * cost["batch"] / (0.2 * 156e12), cost["launches"] * 5e-6)
    hours = 2 * 100_000 * 19 * each / 3600
    output = estimated.stage("train", "gpu-wide", code=1)
    assert output.strip() == (
        f"skipgate: gpu-wide needs a GPU and there is none (about {hours:.1f} hours of an A100 "
        f"and {cost['memory'] / 1e9:.1f} GB, by estimate); to train it on this CPU all the same, "
        "set device: cpu in its recipe"
    )
    assert 1 < hours < 10
    assert not (estimated.folder / "models").exists()


def test_device_cpu_insists_and_is_the_same_net(project):
    before = {net: project.spec(net)["digest"] for net in GPU_NETS}
    project.edit_params(insist)
    for net in GPU_NETS:
        (project.folder / "specs" / f"{net}.json").unlink()  # else its digest could be kept
    project.stage("specify")
    assert {net: project.spec(net)["digest"] for net in GPU_NETS} == before
    assert project.spec("gpu-gated-2")["settings"]["recipe"]["device"] == "cpu"
    project.stage("fetch", "digits")
    project.stage("train", "gpu-gated-2")
    result = project.result("gpu-gated-2", "train")
    assert result["digest"] == before["gpu-gated-2"]
    assert result["diverged"] == [None, None]


def test_a_dry_run_says_what_each_net_takes_and_needs_no_data_where_they_are_counted(estimated):
    output = estimated.stage("fanout", "report@gpu", "--dry-run", code=1)
    assert "gpu: 2 of 2 nets to train" in output
    known = costs_in(estimated)
    for net in GPU_NETS:
        said = re.search(
            rf"  {net} seeds 0 to 1: ([\d,]+) parameters, ([\d.]+) GFLOP an example, about "
            r"([\d.]+) hours of an A100 and ([\d.]+) GB, by estimate, ([\d.]+) GB for 2 side by",
            output,
        )
        assert said, output
        parameters, operations, hours, one, both = (
            float(n.replace(",", "")) for n in said.groups()
        )
        assert parameters == estimated.spec(net)["parameters"]
        assert operations == pytest.approx(known[net]["operations"] / 1e9, abs=0.001)
        assert one == pytest.approx(known[net]["memory"] / 1e9, abs=0.1)
        assert both == pytest.approx(2 * known[net]["memory"] / 1e9, abs=0.1)
        assert (hours > 1) == (net == "gpu-wide")
    assert not (estimated.folder / "data").exists()


def test_a_dry_run_counts_fetched_examples_where_no_setting_does(project):
    output = project.fanout("--dry-run")
    assert output.startswith("digits: 2 of 2 nets to train")
    for line, net, count in zip(
        output.splitlines()[1:], ("gated-2", "residual-2"), ("9,061", "9,060"), strict=True
    ):
        assert line.startswith(f"  {net} seeds 0 to 1: {count} parameters")
        assert "hours of an A100" in line


def test_a_study_that_can_run_and_one_that_cannot(project):
    """Every page is rendered, what was refused is named, and the command fails."""
    output = project.stage("everything", "--jobs", "1", code=1)
    listed = output[output.index("skipgate: 2 nets were not run") :].splitlines()[1:]
    assert [line.split(":")[0].strip() for line in listed] == list(GPU_NETS)
    for net, line in zip(GPU_NETS, listed, strict=True):
        assert f"run: dvc repro probe@{net} (about " in line
        assert f"{net} needs a GPU and there is none (about " in output
    reports = project.folder / "reports"
    for page in ("README", "digits", "gpu", "theory", "papers", "audit", "gate"):
        assert (reports / f"{page}.md").stat().st_size > 0
    assert "## Not run" not in (reports / "digits.md").read_text()
    not_run = (reports / "gpu.md").read_text().partition("## Not run")[2]
    for net in GPU_NETS:
        assert f"| `{net}`" in not_run
    assert f"{project.spec('gpu-wide')['parameters']:,}" in not_run
    recorded = yaml.safe_load((project.folder / "dvc.lock").read_text())["stages"]
    assert {"report@digits", "report@gpu", "probe@gated-2"} <= recorded.keys()
    assert not {f"train@{net}" for net in GPU_NETS} & recorded.keys()
