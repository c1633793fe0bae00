"""Results come apart by seed and together again without a change."""

import json

import pytest

from skipgate.results.by_seed import join, only, runs_of, split
from skipgate.results.store import Result
from skipgate.settings import LAYOUTS
from skipgate.settings.probing import USUAL
from tests.toys import ROOT, toy_spec

SPLITTABLE = [kind for kind in USUAL if not LAYOUTS[kind].together]


def committed(kind):
    place = "*/*/*.json" if kind == "train" else "*/*/probes/*.json"
    files = [f for f in sorted((ROOT / "results").glob(place)) if f.stem == kind]
    assert len(files) > 40
    found = [json.loads(file.read_text()) for file in files]
    return [content for content in found if content["seeds"]]


def normal(content):
    """The first results name one file of weights for all seeds; joined ones name one per seed."""
    content = dict(content)
    if "model" in content:
        models = [content.pop("model")] * len(content["seeds"])
        content["models"] = models
    return content


@pytest.mark.parametrize("kind", ["train", *SPLITTABLE])
def test_every_committed_result_comes_apart_and_together(kind):
    for content in committed(kind):
        parts = split(kind, content)
        assert list(parts) == content["seeds"]
        assert join(kind, parts) == normal(content), content["net"]
        assert join(kind, dict(reversed(parts.items()))) == normal(content), "in whatever order"


@pytest.mark.parametrize("kind", ["train", *SPLITTABLE])
def test_some_seeds_are_those_columns(kind):
    content = committed(kind)[0]
    some = only(kind, content, [0, 1])
    assert some["seeds"] == [0, 1]
    assert join(kind, {**split(kind, some), **_rest(kind, content)}) == normal(content)
    assert only(kind, content, content["seeds"]) is content


def _rest(kind, content):
    return {seed: part for seed, part in split(kind, content).items() if seed > 1}


def test_a_rule_that_one_seed_has_not_is_null_there():
    """Gates that are all equal in one seed leave it without an order; the others keep theirs."""
    head = {"net": "x", "digest": "d", "probe_digest": "p"}
    parts = {
        0: {**head, "seeds": [0], "models": ["a"], "random": [[[1.0], [2.0]]], "smallest": None},
        1: {
            **head,
            "seeds": [1],
            "models": ["b"],
            "random": [[[3.0], [4.0]]],
            "smallest": [[5.0], [6.0]],
        },
    }
    found = join("prune", parts)
    assert found["random"] == [[[1.0, 3.0], [2.0, 4.0]]]
    assert found["smallest"] == [[None, 5.0], [None, 6.0]]


def test_seeds_with_fewer_open_blocks_have_fewer_rows():
    """One seed could lose two blocks, the other one: what it could not lose is null."""
    head = {"net": "x", "digest": "d", "probe_digest": "p"}

    def part(seed, most):
        rows = [(m, c) for m in range(3) for c in range(2) if m + c <= most]
        return {
            **head,
            "seeds": [seed],
            "models": ["w"],
            "open": [most],
            "norm": [[1.0 + seed], [2.0 + seed]],
            "removed": [m for m, _ in rows],
            "cut": [c for _, c in rows],
            "errors": [[10.0 * m + c] for m, c in rows],
        }

    found = join("paths", {0: part(0, 2), 1: part(1, 1)})
    rows = list(zip(found["removed"], found["cut"], found["errors"], strict=True))
    assert rows == [
        (0, 0, [0.0, 0.0]),
        (0, 1, [1.0, 1.0]),
        (1, 0, [10.0, 10.0]),
        (1, 1, [11.0, None]),
        (2, 0, [20.0, None]),
    ]
    assert found["open"] == [2, 1]
    assert found["norm"] == [[1.0, 2.0], [2.0, 3.0]]


def test_where_seeds_were_trained_is_told_by_range():
    old = {"net": "x", "digest": "d", "seconds": 3.0, "device": "cpu"}
    assert runs_of(old, [0, 1]) == [{"seeds": [0, 1], "seconds": 3.0, "device": "cpu"}]
    new = {"net": "x", "digest": "d", "runs": [{"seeds": [0]}, {"seeds": [1]}]}
    assert runs_of(new, [0, 1]) == new["runs"]


def test_seeds_may_end_at_different_epochs():
    part = {
        "diverged": [None, None],
        "metrics": {"test_error": [[5.0, 4.0, 3.0], [5.0, 2.0]]},
    }
    result = Result(toy_spec(), {"train": part})
    assert result.curve("test_error") == [[5.0, 4.0, 3.0], [5.0, 2.0, None]]
    assert result.last("test_error") == [3.0, 2.0]
    assert result.score("best") == [3.0, 2.0]


def test_what_older_seeds_lack_is_null_in_them():
    old = {"net": "a", "digest": "d", "seeds": [0], "models": ["m"], "T": [[1.0]], "C": [[1.0]]}
    new = {**old, "seeds": [1], "k": [[-0.5]]}
    for first, second in ((old, new), ({**new, "seeds": [0]}, {**old, "seeds": [1]})):
        joined = join("gates", {0: first, 1: second})
        assert joined["k"] == [[first.get("k", [[None]])[0][0], second.get("k", [[None]])[0][0]]]
