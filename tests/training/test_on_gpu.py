"""Real trainings on a real GPU, where there is one."""

import dataclasses
import json

import pytest
import torch

from skipgate import params, paths
from skipgate.data.fetching import fetch
from skipgate.files import write_atomically
from skipgate.probes.run import Probing
from skipgate.specs import ProbeSpec, Spec, resolve
from skipgate.training import models
from skipgate.training.job import train
from skipgate.training.vault import MODEL, RESULT, RUN
from tests.toys import ROOT, least

PARAMS = params.load(ROOT / "params.yaml")
SEEDS = range(2)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("net", PARAMS.nets_of("digits"))
def test_the_nets_of_digits_train_and_are_probed_on_it(net, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = resolve(PARAMS, net)
    recipe = dataclasses.replace(settings.recipe, epochs=1, device="cuda")
    settings = dataclasses.replace(settings, recipe=recipe)
    data = paths.data_folder("digits")
    fetch("digits", settings.data, PARAMS.sources["digits"], data)
    spec = Spec(net, "digits", "digits", settings, 1, "d", seeds=len(SEEDS))
    files = train(spec, SEEDS, data, tmp_path / "checkpoint", lambda *_: None)
    for seed in SEEDS:
        assert json.loads(files[seed][RUN])["runs"][0]["device"] == "cuda"
        assert json.loads(files[seed][RESULT])["diverged"] == [None]
    weights = {seed: found[MODEL] for seed, found in files.items()}
    write_atomically(paths.model_file("digits", net), models.pack("d", weights))
    probes = least(PARAMS.probes[PARAMS.nets[net].probes], 64, greedy=False)
    probing = Probing(spec, ProbeSpec(probes, dict.fromkeys(probes.kinds, "p")))
    found = {kind: probing.result(kind) for kind in probes.kinds}
    assert all(result["seeds"] == list(SEEDS) for result in found.values())
    assert all(0 <= error <= 100 for error in found["lesion"]["whole"])
    assert found["lesion"]["whole"] == found["speed"]["errors"][0]
