"""Slices along k, looks-linear networks and the strict gate."""

import pytest
import torch

from skipgate.nets import surgery
from skipgate.nets.crelu import crelu, looking_linear
from skipgate.theory import epsilon, linear, slices
from skipgate.theory.fresh import IMAGES, settled


@pytest.fixture(scope="module")
def along_k():
    return slices.study()


def test_the_layer_is_what_the_paper_says_at_each_k(along_k):
    assert len(along_k["deviations"]) == 8
    assert max(along_k["deviations"].values()) < 1e-12
    assert along_k["W = 0 from k = 0, residual"] == 0


def test_the_loss_is_no_mix_of_its_slices(along_k):
    first, last = along_k["loss"]["first block"], along_k["loss"]["last block"]
    assert min(first["bend"], last["bend"]) > 0.1
    assert (
        last["logits from their mix at k = 0.5"] < 1e-12 < first["logits from their mix at k = 0.5"]
    )


def test_the_loss_along_the_last_k_is_convex_and_flat_below_0(along_k):
    loss = dict(zip(along_k["k"], along_k["loss"]["last block"]["loss"], strict=True))
    rising = [value for k, value in loss.items() if k >= 0]
    second = [a - 2 * b + c for a, b, c in zip(rising, rising[1:], rising[2:], strict=False)]
    assert min(second) > 0
    assert {value for k, value in loss.items() if k <= 0} == {loss[0.0]}


def test_unit_weights_are_an_identity_only_without_normalisation(along_k):
    assert along_k["W = I from the identity, plain"] == 0
    assert along_k["W = I from the identity, plain, normalised"] > 0.1


def test_crelu_and_its_weights_stand_as_the_lecture_lays_them_out():
    x, V = torch.tensor([[1.0, -2.0]]), torch.tensor([[3.0, 4.0]])
    assert crelu(x).tolist() == [[1, 0, 0, 2]]
    assert looking_linear(V).tolist() == [[3, -3, 4, -4]]
    assert linear.network([looking_linear(V)], x).tolist() == [[-5]]


def test_looks_linear_networks_are_linear_and_ordinary_ones_are_not():
    found = linear.study()
    for key in ("sum", "times -1"):
        assert max(found["looks-linear"][key]) < 1e-12
        assert min(found["ordinary"][key]) > 0.5
    assert max(found["ordinary"]["times 2"]) < 1e-12
    assert found["looks-linear from its product"] < 1e-12


def test_the_strict_gate_around_its_threshold():
    found = epsilon.study()
    assert found["below"] == [0.0] * len(epsilon.STEPS)
    assert found["above"] == [1.0] * len(epsilon.STEPS)
    assert found["at epsilon"] == 0
    assert found["band"] == pytest.approx(1 / found["steep"], rel=1e-3)
    assert found["samples that differ"] == 0
    assert 0.4 < found["samples shut"] / found["samples"] < 0.6


def test_closed_blocks_can_go_and_get_no_gradient():
    found = epsilon.removal()
    assert 0 < found["blocks closed"] < found["blocks"]
    assert found["outputs equal without them"]
    assert (
        found["largest gradient in closed blocks"] == 0 < found["largest gradient in open blocks"]
    )


def test_removing_an_open_block_does_change_the_outputs():
    """Else the comparison above could not fail."""
    network = epsilon._network("batch")
    x = torch.rand(
        1, 8, *IMAGES.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    shut = epsilon.closed_blocks(network, x)
    gone = shut.index(False)
    with surgery.arranged(network, [i for i in range(len(shut)) if i != gone]):
        without = network(x)
    assert not torch.equal(without, network(x))


@pytest.mark.parametrize(("deviation", "shown"), [(0.0, 0.0), (3e-16, 1e-15), (0.25, 0.25)])
def test_rounding_errors_are_shown_by_their_power_of_ten(deviation, shown):
    assert settled(deviation) == pytest.approx(shown, rel=1e-12)
