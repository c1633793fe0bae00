"""Images drawn again: every column is what the same images, put into a set, would give."""

import dataclasses

import pytest
import torch

from skipgate.data.images import Images
from skipgate.nets.bodies import Plan, build
from skipgate.nets.weights import initialise
from skipgate.probes import PROBES
from skipgate.probes.subject import Subject
from skipgate.results.by_image import over_images, parted
from skipgate.results.by_seed import RESAMPLED, join, split
from skipgate.results.store import Result
from skipgate.settings import Estimating, PathSampling, Probes, Pruning, Shuffling, Vgg
from skipgate.streams import streams
from tests.toys import CONV, ONE, ZERO, images, network, toy_spec

AGAIN = 3
SETTINGS = Probes(
    prune=Pruning(2),
    shuffle=Shuffling(4),
    estimation=Estimating(sums=True),
    paths=PathSampling(draws=2, images=10),
)


def subject(resamples=AGAIN, count=20) -> Subject:
    made = network(CONV).eval()
    x = images(count)[0]
    labels = torch.randint(10, (count,), generator=torch.Generator().manual_seed(4))
    return Subject(made, Images(x, labels), 7, resamples=resamples)


def drawn(case: Subject, row: int, examples: int = 0) -> Subject:
    """The same network on the very images of a resample, each as often as it was drawn."""
    part = dataclasses.replace(case, examples=case.examples.first(examples))
    counts = part.counts[row].long()
    chosen = torch.repeat_interleave(torch.arange(len(counts)), counts)
    whole = Images(case.examples.x[chosen], case.examples.y[chosen])
    return dataclasses.replace(case, examples=whole, resamples=0)


def columns(value, row, shared=()):
    """One column of every leaf that has several."""
    if isinstance(value, dict):
        return {k: v if k in shared else columns(v, row, shared) for k, v in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return [columns(item, row, shared) for item in value]
    if isinstance(value, list):
        return [value[row]] if len(value) > 1 else value
    return value


def close(a, b) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(close, a, b))
    return a == pytest.approx(b, abs=1e-9) if isinstance(a, float) else a == b


def test_resamples_have_as_many_images_and_depend_on_their_number_alone():
    case = subject(50)
    assert case.counts.shape == (51, 20)
    assert torch.equal(case.counts[0], torch.ones(20, dtype=torch.float64))
    assert torch.equal(case.counts.sum(1), torch.full((51,), 20.0, dtype=torch.float64))
    assert not torch.equal(case.counts[1], case.counts[2])
    assert torch.equal(case.counts, subject(50).counts)
    assert torch.equal(case.counts[:11], subject(10).counts)


@pytest.mark.parametrize("kind", ["lesion", "shuffle", "estimation", "response"])
@pytest.mark.parametrize("row", [0, 1, 3])
def test_a_column_is_what_its_images_give(kind, row):
    case = subject()
    shared = ("stage", "swaps", "tau")
    found = columns(PROBES[kind](case, SETTINGS), row, shared)
    assert close(found, PROBES[kind](drawn(case, row), SETTINGS))


def test_random_pruning_is_resampled_by_the_same_orders():
    case = subject()
    found = PROBES["prune"](case, SETTINGS)
    again = PROBES["prune"](drawn(case, 2), SETTINGS)
    assert close(columns(found["random"], 2), again["random"])


def test_gradients_along_paths_are_resampled_over_the_images_that_they_take():
    case = subject()
    found = PROBES["paths"](case, SETTINGS)
    assert len(found["norm"][0]) == 1 + AGAIN
    for row in (0, 2):
        again = drawn(case, row, SETTINGS.paths.images)
        own = PROBES["paths"](again, SETTINGS)["norm"]
        assert close(columns(found["norm"], row), own)


def test_the_images_as_they_are_stay_in_the_place_of_a_seed():
    case = subject()
    for kind in ("lesion", "shuffle", "prune", "estimation", "paths", "response"):
        head = {"net": "x", "digest": "d", "seeds": [0], "models": ["m"], "probe_digest": "p"}
        found = PROBES[kind](case, SETTINGS)
        content = {**head, **parted(kind, found, AGAIN)}
        plain = PROBES[kind](dataclasses.replace(case, resamples=0), SETTINGS)
        kept = {k: v for k, v in content.items() if k not in (*head, RESAMPLED)}
        assert close(kept, plain), kind
        assert join(kind, split(kind, content)) == content, kind
        spec = toy_spec(1)
        given = dataclasses.replace(
            spec, settings=dataclasses.replace(spec.settings, start="somebody's")
        )
        view = over_images(Result(given, {kind: content})).part(kind)
        for row in range(AGAIN):
            shared = ("stage", "swaps", "tau", "removed", "cut", RESAMPLED, *head)
            wanted = columns(found, row + 1, shared)
            again = {k: v for k, v in columns(view, row, shared).items() if k in wanted}
            assert close(again, wanted), kind
        trained = Result(spec, {kind: content})
        assert over_images(trained) is trained


def vgg(carry=ZERO):
    body = Vgg("vgg", (2, 2), width=4, widest=8, hidden=5)
    made = build(body, Plan(ONE, carry, (1, 8, 8), 10, 1))
    initialise(made, body.init, streams([0], "init"))
    return made.double().eval()


def test_a_plain_layer_that_changes_the_shape_cannot_be_removed():
    made = vgg()
    assert [block.site.alone for block in made.blocks] == [True, False, True, False]
    assert not any(block.site.alone for block in vgg(ONE).blocks), "these have shortcuts"
    x = images(12)[0]
    case = Subject(made, Images(x, made(x.unsqueeze(0))[0].argmax(-1)), 7)
    found = PROBES["lesion"](case, SETTINGS)
    assert [row == [None] for row in found["without"]] == [True, False, True, False]
    pruned = PROBES["prune"](case, SETTINGS)
    assert all(len(order) == 3 for order in pruned["random"]), "none, one and both of the two"
    assert len(pruned["response"]) == 3
    resampled = PROBES["lesion"](dataclasses.replace(case, resamples=2), SETTINGS)
    assert resampled["without"][0] == [None] * 3


def test_a_response_is_what_a_block_adds_over_its_shortcut():
    case = subject(0)
    with torch.no_grad():
        block = case.network.blocks[1]
        h = case.network.blocks[0](case.network.stem(case.examples.x.unsqueeze(0)))
        added = block.transform(block.before(h)).flatten(2).norm(dim=2)
        expected = float((added / h.flatten(2).norm(dim=2)).mean())
    assert PROBES["response"](case, SETTINGS)["ratio"][1][0] == pytest.approx(expected)
