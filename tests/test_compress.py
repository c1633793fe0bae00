"""Compressing a net as a user does it: real commands, on a net that was really trained."""

import numpy as np
import pytest
import torch

from tests.project import Project
from tests.test_compression import in_plain_pytorch

NET = "conv-epsilon"
STRICT_FREE = "residual-2"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = Project(tmp_path_factory.mktemp("compress"))
    made.edit_params(_with_epsilon)
    made.stage("fetch", "digits")
    made.stage("specify")
    made.stage("train", NET)
    return made


def _with_epsilon(settings):
    gate = {"gate": "epsilon", "epsilon": 4}
    line = {"body": "conv-3-pool", "recipe": "digits-conv", "T": gate, "seeds": 2, "stack": 1}
    settings["nets"]["digits"][NET] = line


def test_a_trained_net_loads_in_plain_pytorch_and_predicts_the_same(project):
    said = project.stage("compress", NET, "--out", "small.pt", "--seed", "1")
    assert " 0 of 599 predictions changed" in said
    assert "the same to the last bit for 599 of 599" in said
    images = np.load(project.folder / "data" / "digits" / "test_images.npy")
    code = (
        "import torch; from skipgate import compression, paths, specs;"
        "from skipgate.training.models import unpack;"
        f"spec = specs.load('{NET}');"
        "weights = unpack(paths.model_file(spec.study, spec.net), spec.digest, '');"
        "subject = compression.trained(spec, weights, 1);"
        "found = [(x, subject.network(x[None])[0]) for x, _ in subject.test.in_turn(64)];"
        "torch.save([torch.cat(each).detach() for each in zip(*found)], 'expected.pt')"
    )
    project.run("python", "-c", code)
    x, expected = torch.load(project.folder / "expected.pt", weights_only=True)
    found = in_plain_pytorch(project.folder, x)
    assert len(found) == len(images)
    assert torch.equal(found.argmax(-1), expected.argmax(-1))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_blocks_that_are_open_are_refused_in_one_sentence_and_nothing_is_written(project):
    words = ("compress", NET, "--out", "forced.pt", "--blocks", "0,1")
    said = project.stage(*words, code=1).strip()
    assert said.startswith("skipgate: ")
    assert "0 (in 19 of 19 batches)" in said
    assert len(said.splitlines()) == 1
    assert not list(project.folder.glob("*forced*"))
    project.stage(*words, "--force")
    state = torch.load(project.folder / "forced.pt", weights_only=True)
    assert not any(name.startswith(("blocks.0.", "blocks.1.")) for name in state)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            [STRICT_FREE],
            "models/digits/residual-2.pt is not there; run: dvc repro train@residual-2",
        ),
        ([NET, "--seed", "7"], "and no seed 7; for more, set seeds: on its line of params.yaml"),
        ([NET, "--blocks", "one"], "--blocks wants numbers such as 3,5, found 'one'"),
        ([NET, "--blocks", "99"], "has no block 99; choose from 0 to 8"),
    ],
)
def test_wrong_words_are_answered_in_one_sentence(project, words, message):
    said = project.stage("compress", *words, "--out", "none.pt", code=1).strip()
    assert said.endswith(message)
    assert len(said.splitlines()) == 1
    assert not (project.folder / "none.pt").exists()
