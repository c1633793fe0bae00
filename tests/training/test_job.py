"""From a spec to files and back to a network."""

import json

import pytest
import torch

from skipgate.evaluation import evaluate
from skipgate.tasks import task_of
from skipgate.training.job import network_of, train
from skipgate.training.vault import MODEL, RESULT
from tests.toys import brief_spec


def test_the_weights_of_each_seed_score_what_its_training_recorded(tmp_path):
    data = tmp_path / "digits"
    spec = brief_spec(data)
    files = train(spec, range(3), data, tmp_path / "c.pt", lambda *_: None)
    made = network_of(spec, {seed: found[MODEL] for seed, found in files.items()}, range(3))
    task = task_of(spec.settings.data)
    split = task.load(data, spec.settings.recipe, torch.device("cpu"))
    found = evaluate(made, task, split.test, spec.settings.recipe.evaluation_batch).values()
    results = [json.loads(files[seed][RESULT]) for seed in range(3)]
    recorded = [result["metrics"]["test_error"][0][-1] for result in results]
    assert found.tolist() == pytest.approx(recorded, rel=1e-5)
    assert len(set(recorded)) > 1
    assert [result["seeds"] for result in results] == [[0], [1], [2]]
