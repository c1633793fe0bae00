"""Gradients of fresh networks along a line."""

import pytest
import torch

from skipgate.theory import shattered


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shattered, "DEPTHS", (2, 20))
        patch.setattr(shattered, "PANELS", (("plain", 2), ("plain", 20), ("residual", 20)))
        patch.setattr(shattered, "REPLICAS", 4)
        return shattered.study()


def neighbours(found, name):
    return [sum(rows[0]) / len(rows[0]) for rows in found["networks"][name]]


def test_plain_networks_shatter_and_residual_ones_much_less(found):
    plain, residual = neighbours(found, "plain"), neighbours(found, "residual")
    assert plain[0] > 0.9
    assert abs(plain[1]) < 0.3 < residual[1] < residual[0]


def test_looks_linear_networks_do_not_shatter_at_all(found):
    assert all(
        value == 1 for rows in found["networks"]["looks-linear"] for row in rows for value in row
    )
    assert neighbours(found, "CReLU")[1] < 1


def test_a_fresh_gated_network_is_a_residual_one(found):
    assert found["networks"]["gated"] == found["networks"]["residual"]


def test_white_noise_has_no_memory_and_brown_noise_a_long_one(found):
    assert all(abs(sum(row) / len(row)) < 0.05 for row in found["noise"]["white"])
    assert all(sum(row) / len(row) > 0.5 for row in found["noise"]["brown"])


def test_the_panels_have_one_gradient_each(found):
    """In units of its deviation; neighbours differ the more the more it is like white noise."""
    steps = {
        name: torch.tensor(values).diff().square().mean().item()
        for name, values in found["series"].items()
    }
    assert list(steps) == [
        "plain, d = 2",
        "plain, d = 20",
        "residual, d = 20",
        "brown noise",
        "white noise",
    ]
    assert steps["plain, d = 2"] < steps["residual, d = 20"] < steps["plain, d = 20"]
    assert steps["brown noise"] < steps["white noise"]


def test_a_peak_is_the_share_of_one_point():
    series = torch.tensor([[[0.0, 0.0], [3.0, 0.0], [0.0, 1.0]]])
    assert shattered.peak(series).tolist() == pytest.approx([0.9])


def test_statistics_come_from_the_line():
    from skipgate.theory.fresh import Sample, fresh

    network, line = fresh(shattered.body_of("plain", 20), Sample(replicas=2)), shattered._line()
    shattered.settle(network, line)
    norm, points = network.blocks[0].transform.norms[0], line.expand(2, *line.shape)
    h = network.blocks[0].transform.affines[0](network.stem(points))
    assert torch.allclose(norm.running_mean, h.mean(1))
    assert torch.allclose(norm.running_var, h.var(1, correction=0))
    assert not network.training
    assert torch.allclose(network(points), network.train()(points), rtol=1e-6), (
        "as normalised as in training, at depth too"
    )
