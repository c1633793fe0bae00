"""Blocks that have become identities can go without moving a bit of any prediction."""

import re
import subprocess
import sys

import pytest
import torch

from skipgate import compression
from skipgate.compression import Trained, compress, gating, without
from skipgate.data.images import Images
from skipgate.files import Problem
from skipgate.nets import plain
from skipgate.nets.gates.constant import Constant
from skipgate.nets.gates.epsilon import Epsilon
from skipgate.probes.subject import _any_classes
from skipgate.settings import GateChoice, Imagenet, Mlp, Resnet
from tests.toys import ONE, ROOT, TOY, network

EPSILON = 0.5
COUNT = 60
BATCH = 20
BODIES = {
    "pool": Resnet("resnet", blocks=3, width=4, shortcut="pool"),
    "pad": Resnet("resnet", blocks=3, width=4),
    "project": Resnet("resnet", blocks=2, width=4, shortcut="project"),
    "post": Resnet("resnet", blocks=2, width=4, order="post", shortcut="project-norm"),
    "bottleneck": Imagenet("imagenet", blocks=(2, 2), width=4, bottleneck=True, shortcut="project"),
    "dense": Mlp("mlp", depth=8, width=6),
    "dense-before": Mlp("mlp", depth=8, width=6, addition="before"),
    "dense-pre": Mlp("mlp", depth=8, width=6, order="pre"),
}


def epsilon(over="batch", value=EPSILON):
    return GateChoice("epsilon", {"epsilon": value, "over": over})


def examples(seed=3, count=COUNT):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(count, *TOY.shape, generator=generator, dtype=torch.float64)
    return Images(x, torch.randint(10, (count,), generator=generator))


@torch.no_grad()
def weakened(body, places, over="batch", value=EPSILON):
    """A network whose blocks at `places` respond by next to nothing, the others by a lot."""
    made = network(body, epsilon(over, value)).eval()
    for module in made.modules():
        if hasattr(module, "running_mean"):  # as if trained: statistics of no batch are alike
            module.running_mean.uniform_(-0.1, 0.1, generator=torch.Generator().manual_seed(5))
            module.bias.uniform_(-0.1, 0.1, generator=torch.Generator().manual_seed(6))
    for index, block in enumerate(made.blocks):
        for parameter in block.transform.parameters():
            parameter.mul_(1e-3 if index in places else 1.5)
    return made


def subject(made, train=None, test=None):
    return Trained(
        "toy, seed 0", made, _any_classes(), train or examples(), test or examples(), BATCH
    )


def outputs(made, images, batch=BATCH):
    with torch.no_grad():
        return torch.cat([made(x.unsqueeze(0))[0] for x, _ in images.in_turn(batch)])


@pytest.mark.parametrize("over", ["batch", "sample"])
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_without_strict_identities_each_image_has_the_same_bits(name, over, dtype):
    made = weakened(BODIES[name], {0, 2}, over).to(dtype)
    images = examples()
    images = Images(images.x.to(dtype), images.y)
    found = gating(made, images, BATCH)
    gone = [i for i, each in enumerate(found) if each.strict]
    assert {0, 2} <= set(gone)
    smaller = without(made, gone, found)
    assert torch.equal(outputs(smaller, images), outputs(made, images))
    sizes = [compression.size(each) for each in (made, smaller)]
    assert sizes[1].layers < sizes[0].layers
    assert sizes[1].parameters < sizes[0].parameters
    assert sizes[1].memory < sizes[0].memory
    assert sizes[1].file < sizes[0].file


def test_a_block_that_changes_the_shape_keeps_its_shortcut():
    made = weakened(BODIES["project"], {1, 2})
    smaller = compress(subject(made), None, force=False)
    assert [block.site.index for block in smaller.blocks] == [0, 2, 3, 4, 5][: len(smaller.blocks)]
    left = next(block for block in smaller.blocks if block.site.index == 2)
    assert list(left.shortcut.parameters())
    assert not list(left.transform.parameters())


def test_a_relu_after_the_sum_stays_where_it_does_something():
    """The first block of a multilayer network follows a linear stem, the others a ReLU."""
    made = weakened(BODIES["dense-before"], {0, 2})
    smaller = compress(subject(made), None, force=False)
    indices = [block.site.index for block in smaller.blocks]
    assert 0 in indices
    assert 2 not in indices


def test_one_batch_with_an_open_gate_is_enough_to_be_no_strict_identity():
    made = weakened(BODIES["dense"], {1})
    images = examples()
    loud = Images(images.x.clone(), images.y)
    loud.x[-1] *= 1e20
    assert gating(made, images, BATCH)[1].strict
    found = gating(made, loud, BATCH)[1]
    assert not found.strict
    assert (found.batches, found.shut) == (3, 2)


def test_a_gate_that_shuts_at_times_is_kept_and_one_that_never_does_becomes_one():
    made = weakened(BODIES["dense"], {1})
    images = examples()
    made.blocks[3].T.epsilon = halfway(made, 3, images)
    made.blocks[3].T.over = "sample"
    smaller = compress(subject(made), None, force=False)
    kinds = {block.site.index: type(block.T) for block in smaller.blocks}
    assert kinds == {0: Constant, 2: Constant, 3: Epsilon}
    assert torch.equal(outputs(smaller, images), outputs(made, images))


def largest(made, index, images):
    """The largest response of a block to each image."""
    found = []
    hook = made.blocks[index].transform.register_forward_hook(
        lambda _, __, f: found.append(f[0].abs().flatten(1).amax(1))
    )
    outputs(made, images)
    hook.remove()
    return torch.cat(found)


def halfway(made, index, images):
    """An epsilon that half of the images reach, and none just so."""
    ranked = largest(made, index, images).sort().values
    middle = len(ranked) // 2
    return ranked[middle - 1 : middle + 1].mean().item()


def test_the_network_that_was_given_stays_as_it_was():
    made = weakened(BODIES["pool"], {1, 2})
    before = outputs(made, examples())
    compress(subject(made), [0, 1, 2], force=True)
    assert torch.equal(outputs(made, examples()), before)
    assert len(made.blocks) == 9
    assert not made.blocks[0].T._forward_hooks


def test_a_network_without_strict_identities_is_refused_with_the_reason():
    made = weakened(BODIES["dense"], set())
    with pytest.raises(Problem, match=r"no block that is a strict identity.*--force") as refused:
        compress(subject(made), None, force=False)
    assert "0 of 60 predictions changed" in str(refused.value)
    whole = compress(subject(made), None, force=True)
    assert torch.equal(outputs(whole, examples()), outputs(made, examples()))


def test_open_blocks_are_refused_with_what_they_cost_and_removed_by_force():
    made = weakened(BODIES["dense"], {1})
    with pytest.raises(Problem, match=r"3 \(in 3 of 3 batches\).*before and .* after") as refused:
        compress(subject(made), [1, 3], force=False)
    assert "1 (in" not in str(refused.value)
    forced = compress(subject(made), [1, 3], force=True)
    assert [block.site.index for block in forced.blocks] == [0, 2]
    cost = subject(made).cost(forced)
    assert cost.changed
    assert cost.unlike == COUNT
    told = f"{cost.before:.2f}% before and {cost.after:.2f}% after"
    assert told in str(refused.value)
    assert f"{cost.changed} of 60 predictions changed" in str(refused.value)


def test_a_block_that_is_not_there_is_named():
    with pytest.raises(Problem, match="has no block 9; choose from 0 to 3"):
        compress(subject(weakened(BODIES["dense"], {1})), [9], force=True)


def test_some_strict_identities_alone_can_go():
    made = weakened(BODIES["dense"], {1, 2})
    smaller = compress(subject(made), [2], force=False)
    assert [block.site.index for block in smaller.blocks] == [0, 1, 3]
    assert torch.equal(outputs(smaller, examples()), outputs(made, examples()))


@pytest.mark.parametrize(("over", "depends"), [("batch", True), ("sample", False)])
def test_predictions_hang_on_their_neighbours_where_a_gate_looks_at_the_batch(over, depends):
    """Epsilon lies so that some images would shut a gate alone, and none does in a batch."""
    made = weakened(BODIES["dense"], {1}, over)
    for index in (0, 2, 3):
        made.blocks[index].T.epsilon = halfway(made, index, examples())
    assert (compression.swayed(made, examples(), BATCH) > 0) == depends


def test_once_no_gate_is_left_neighbours_do_not_matter():
    made = weakened(BODIES["dense"], {1})
    made.blocks[3].T.epsilon = halfway(made, 3, examples())
    smaller = compress(subject(made), None, force=False)
    assert {type(block.T) for block in smaller.blocks} == {Constant}
    assert compression.swayed(smaller, examples(), BATCH) == 0


def test_the_table_has_what_is_saved_and_the_sentences_what_is_changed():
    made = weakened(BODIES["dense"], {1, 2})
    smaller = compress(subject(made), None, force=False)
    rows = {row[""]: row for row in compression.reductions(subject(made), smaller)}
    assert (rows["layers"]["before"], rows["layers"]["after"]) == ("10", "6")
    assert float(rows["parameters"]["ratio"]) > 1
    assert float(rows["time of a batch (ms)"]["before"]) >= 0
    said = " ".join(compression.effects(subject(made), smaller, 10))
    assert "0 of 60 predictions changed" in said
    assert "the same to the last bit for 60 of 60" in said
    assert "first 10 test examples" in said


def test_the_file_is_a_plain_ordered_dict_of_tensors_without_the_seeds_axis(tmp_path):
    made = weakened(BODIES["pool"], {1})
    file = tmp_path / "small.pt"
    file.write_bytes(plain.to_bytes(plain.state_dict(compress(subject(made), None, force=False))))
    state = torch.load(file, weights_only=True)
    assert type(state).__name__ == "OrderedDict"
    assert state["stem.0.weight"].shape == (4, 1, 3, 3)
    assert not any(name.startswith("blocks.1.") for name in state)


def test_gates_that_are_no_epsilon_are_refused():
    made = network(BODIES["dense"], GateChoice("scalar"), ONE)
    with pytest.raises(Problem, match="'scalar'"):
        plain.state_dict(made)


@pytest.mark.parametrize("over", ["batch", "sample"])
@pytest.mark.parametrize("name", BODIES)
def test_the_lines_of_the_page_load_it_without_this_project(name, over, tmp_path):
    made = weakened(BODIES[name], {0, 2}, over)
    images = examples(count=BATCH)
    made.blocks[3].T.epsilon = halfway(made, 3, images)
    smaller = compress(subject(made, images, images), None, force=False)
    (tmp_path / "small.pt").write_bytes(plain.to_bytes(plain.state_dict(smaller)))
    found = in_plain_pytorch(tmp_path, images.x)
    expected = outputs(made, images)
    assert torch.equal(found.argmax(-1), expected.argmax(-1))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def in_plain_pytorch(folder, x):
    """What the code of docs/compression.md gives, in a process that cannot import skipgate."""
    page = (ROOT / "docs" / "compression.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    refuse = "import sys\nsys.modules['skipgate'] = None\n"
    use = "torch.save(net(torch.load('images.pt')).detach(), 'outputs.pt')\n"
    torch.save(x, folder / "images.pt")
    (folder / "run.py").write_text(refuse + code + use)
    words = [sys.executable, "-I", "run.py"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return torch.load(folder / "outputs.pt", weights_only=True)
