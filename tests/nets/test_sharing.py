"""Blocks of a stage that have their maps or their gates in common."""

import dataclasses

import pytest
import torch

from skipgate.data.images import Images
from skipgate.nets.layers import BatchNorm
from skipgate.nets.network import parameter_count
from skipgate.nets.surgery import closed, one_closed
from skipgate.nets.weights import from_list, initialise, tensors, to_list
from skipgate.probes.gates import gate_means
from skipgate.probes.speed import _sizes
from skipgate.probes.subject import Subject
from skipgate.settings import Decay, GateChoice, Imagenet, Mlp, Norm, Resnet, Sgd
from skipgate.streams import streams
from skipgate.training.stack import optimiser
from tests.toys import ONE, images, network

BARE = Norm(kind="none")
BODIES = [
    Mlp("mlp", depth=6, width=6),
    Mlp("mlp", depth=6, width=6, norm=BARE),
    Resnet("resnet", 3, width=4, stages=2),
    Resnet("resnet", 3, width=4, stages=2, order="post", norm=BARE),
    Imagenet("imagenet", (3, 2), bottleneck=True, width=2),
]
GATES = [ONE, GateChoice("scalar"), GateChoice("sigmoid"), GateChoice("layers")]
BOTH = ("maps", "gates")


def shared(body, T=ONE, share=BOTH, replicas=1):
    return network(dataclasses.replace(body, share=share), T, replicas=replicas)


def groups(made):
    """Lists of blocks that keep the shape, one a stage."""
    found = {}
    for block in made.blocks:
        if block.site.keeps_shape:
            found.setdefault(block.site.stage, []).append(block)
    return list(found.values())


def numbers(part):
    """Parameters by name, but for those of batch normalisation."""
    return {
        f"{name}.{key}": p
        for name, module in part.named_modules()
        if not isinstance(module, BatchNorm)
        for key, p in module.named_parameters(recurse=False)
    }


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("T", GATES)
def test_shared_weights_get_the_sum_of_what_each_block_would_get(body, T):
    ours, apart = shared(body, T).train(), network(body, T).train()
    with torch.no_grad():
        for a, b in zip(apart.state_dict().values(), ours.state_dict().values(), strict=True):
            a.copy_(b)  # the same numbers, each block with a copy of its own
    x = images(5)
    for made in (ours, apart):
        made(x).square().sum().backward()
    assert torch.allclose(ours(x), apart(x))
    for mine, theirs in zip(groups(ours), groups(apart), strict=True):
        for part in ("transform", "T"):
            for name, p in numbers(getattr(mine[0], part)).items():
                each = [numbers(getattr(block, part))[name].grad for block in theirs]
                if p.grad is None:  # a bias before batch normalisation, in the compiled step
                    continue
                assert torch.allclose(p.grad, sum(each), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("share", [("maps",), ("gates",), BOTH, ()])
def test_what_is_shared_is_what_the_setting_says(share):
    made = shared(BODIES[2], GateChoice("sigmoid"), share)
    for first, *others in groups(made):
        for block in others:
            for part, word in (("transform", "maps"), ("T", "gates")):
                mine = numbers(getattr(block, part))
                same = [p is numbers(getattr(first, part))[name] for name, p in mine.items()]
                assert same == [word in share] * len(same)
            assert block.T is not first.T
            assert block.transform.norms[-1].weight is not first.transform.norms[-1].weight
    changing = [block for block in made.blocks if not block.site.keeps_shape]
    assert all(
        p is not q
        for p in numbers(changing[0].transform).values()
        for q in numbers(made.blocks[-1].transform).values()
    )


def test_shared_tensors_are_counted_drawn_and_stored_once():
    made, apart = shared(BODIES[2], share=("maps",)), network(BODIES[2])
    maps = 2 * 4 * 4 * 9 * 2 + 1 * 2 * 8 * 8 * 9
    assert parameter_count(apart) - parameter_count(made) == maps
    assert sum(t.numel() for t in tensors(apart)) - sum(t.numel() for t in tensors(made)) == maps
    first = made.blocks[0].transform.affines[0].weight.detach().clone()
    assert torch.equal(first, apart.blocks[0].transform.affines[0].weight)
    other = shared(BODIES[2], share=("maps",))
    initialise(other, "he-normal", streams([7], "init"))
    from_list(other, to_list(made))
    assert all(torch.equal(a, b) for a, b in zip(tensors(other), tensors(made), strict=True))
    assert torch.equal(other.eval()(images(3)), made.eval()(images(3)))


@pytest.mark.parametrize("T", [ONE, GateChoice("scalar")])
def test_a_shared_parameter_is_stepped_once(T):
    decay = Decay(0.01, gates=True, biases=True, norms=True)
    results = []
    for ours in (True, False):
        made = shared(BODIES[3], T).train()
        if ours:
            stepper = optimiser(made, Sgd("sgd", 0.1), decay)
        else:
            stepper = torch.optim.SGD(made.parameters(), 0.1, 0.9, weight_decay=0.01, nesterov=True)
        for _ in range(3):
            stepper.zero_grad(set_to_none=not ours)
            made(images(5)).square().mean().backward()
            stepper.step()
        results.append([p.detach().clone() for p in made.parameters()])
    assert all(torch.allclose(a, b, rtol=1e-10) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize("gate", ["scalar", "sigmoid", "layers", "survival"])
def test_blocks_with_a_gate_in_common_are_still_closed_one_at_a_time(gate):
    made = shared(BODIES[2], GateChoice(gate)).eval()
    with closed(made, one_closed(made, 1)):
        h = made.stem(images(3))
        for place, block in enumerate(made.blocks):
            s = block.shortcut(h)
            h = block(h)
            assert torch.equal(h, s) == (place == 1)


def test_gates_in_common_are_watched_one_at_a_time():
    made = shared(BODIES[2], GateChoice("sigmoid")).eval()
    subject = Subject(made, Images(images(6)[0], torch.zeros(6, dtype=torch.long)), 6)
    means = gate_means(subject, [block.T for block in made.blocks])
    h, expected = made.stem(images(6)), []
    for block in made.blocks:
        expected.append(block.T(h, None).mean())
        h = block(h)
    assert torch.allclose(means[:, 0], torch.stack(expected))
    assert len(set(means[:3, 0].tolist())) == 3


def test_a_block_that_goes_takes_only_what_no_other_needs():
    made = shared(BODIES[2], share=("maps",))
    subject = Subject(made, Images(images(2)[0], torch.zeros(2, dtype=torch.long)), 2)
    places = list(range(len(made.blocks)))
    whole, without = (_sizes(subject, order)[0] for order in (places, [0, 2, 3, 4, 5]))
    assert whole - without == sum(p.numel() for p in made.blocks[1].transform.norms.parameters())
    assert whole - _sizes(subject, [3, 4, 5])[0] > 2 * 4 * 4 * 9
