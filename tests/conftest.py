import pytest
import torch

from skipgate.data.images import Split
from skipgate.evaluation import Images
from tests.toys import TOY


@pytest.fixture
def split() -> Split:
    die = torch.Generator().manual_seed(2)

    def some() -> Images:
        return Images(torch.rand(24, *TOY.shape, generator=die), torch.randint(10, (24,), generator=die))

    return Split(some(), some())
