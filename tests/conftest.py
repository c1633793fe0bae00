import os
import subprocess

import pytest
import torch

from skipgate import params
from skipgate.data.examples import Split
from skipgate.data.images import Images
from skipgate.judging import claims, papers
from tests.toys import ROOT, TOY

# No test writes to the server of whoever runs it.
os.environ.pop("MLFLOW_TRACKING_URI", None)


@pytest.fixture(scope="module")
def settings():
    return params.load(ROOT / "params.yaml")


@pytest.fixture(scope="module")
def loaded(settings):
    return papers.load(settings, ROOT / "papers")


@pytest.fixture
def judged(loaded):
    """A claim's outcome by its name."""

    def outcome(claim, study):
        paper = next(paper for paper in loaded.values() if claim in paper.claims)
        return claims.judge(paper, claim, study)

    return outcome


@pytest.fixture
def split() -> Split:
    generator = torch.Generator().manual_seed(2)

    def some() -> Images:
        return Images(
            torch.rand(24, *TOY.shape, generator=generator),
            torch.randint(10, (24,), generator=generator),
        )

    return Split(some(), some())


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)],
        check=False,
        capture_output=True,
    )
    if made.returncode:
        pytest.skip("only root can make a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
