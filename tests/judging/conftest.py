"""What the tests of papers and of their audit share."""

import pytest

from skipgate import params
from skipgate.judging import papers
from tests.toys import ROOT


@pytest.fixture(scope="module")
def settings():
    return params.load(ROOT / "params.yaml")


@pytest.fixture(scope="module")
def loaded(settings):
    return papers.load(settings, ROOT / "papers")
