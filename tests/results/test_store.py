"""Numbers as they are read from result files."""

import shutil
from pathlib import Path

from skipgate import params, specs
from skipgate.results.store import Result, load
from tests.toys import ROOT, toy_spec

CURVES = [[9.0, 4.0, 5.0], [8.0, 3.0, 6.0], [7.0, 2.0, 1.0]]


def result(diverged=(None, None, None)):
    train = {"diverged": list(diverged), "metrics": {"test_error": CURVES}}
    return Result(toy_spec(3), {"train": train})


def test_a_score_is_read_at_the_last_epoch_unless_the_best_is_asked_for():
    assert result().score() == [5.0, 6.0, 1.0]
    assert result().score("best") == [4.0, 3.0, 1.0]


def test_a_seed_that_diverged_has_no_last_number():
    assert result((None, 1, None)).last("test_error") == [5.0, None, 1.0]


def test_the_mean_gate_is_a_mean_over_blocks_for_each_seed():
    gates = {"T": [[1.0, 0.0, None], [0.5, 0.0, 1.0]]}
    assert Result(toy_spec(3), {"gates": gates}).metric("mean_gate") == [0.75, 0.0, None]


def test_results_of_other_code_are_missing(tmp_path, monkeypatch):
    known = params.load(ROOT / "params.yaml")
    folder = Path("results") / "digits" / "gated-2"
    for name in (Path("specs"), folder):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert load(known, "digits").results.keys() == {"gated-2"}
    for file in folder.rglob("*.json"):
        file.write_text(file.read_text().replace(specs.load("gated-2").digest, "0" * 16))
    assert load(known, "digits").results.keys() == set()
