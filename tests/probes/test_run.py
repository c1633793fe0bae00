"""From weights to results: a probe looks at the seeds and the images that it says."""

import json

import pytest

from skipgate import paths
from skipgate.files import write_atomically
from skipgate.probes.run import Probing
from skipgate.settings import Probes
from skipgate.specs import ProbeSpec
from skipgate.training import models
from skipgate.training.job import train
from skipgate.training.vault import MODEL, RESULT
from tests.toys import brief_spec


def test_a_whole_network_scores_in_a_probe_as_when_it_was_trained(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = paths.data_folder("digits")
    spec = brief_spec(data)
    files = train(spec, range(3), data, tmp_path / "c.pt", lambda *_: None)
    weights = {seed: found[MODEL] for seed, found in files.items()}
    write_atomically(paths.model_file("digits", "x"), models.pack("d", weights))

    result = Probing(spec, ProbeSpec(Probes(), {"lesion": "p"})).result("lesion")

    recorded = [json.loads(files[s][RESULT])["metrics"]["test_error"][0][-1] for s in range(3)]
    assert result["whole"] == pytest.approx(recorded, rel=1e-5)
    assert len(set(recorded)) > 1
