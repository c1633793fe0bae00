"""Every gate at its limits is another member of the family, exactly."""

import pytest
import torch

from skipgate.nets.network import Network
from skipgate.settings import Fleuret, GateChoice, Imagenet, Mlp, Norm, Resnet
from skipgate.streams import streams
from tests.toys import CONV, MLP, ONE, ZERO, images, network

BODIES = [
    MLP,
    Mlp("mlp", depth=4, width=6, order="pre"),
    CONV,
    Resnet("resnet", blocks=2, width=4, shortcut="project"),
    Resnet("resnet", blocks=2, width=4, shortcut="pool", order="post", addition="after"),
    Mlp("mlp", depth=4, width=6, addition="before"),
    Resnet("resnet", blocks=2, width=4, shortcut="project", order="post", addition="before"),
    Resnet("resnet", blocks=2, width=4, norm=Norm(kind="none")),
    Imagenet("imagenet", (1, 2), bottleneck=True, width=2, addition="both"),
    Imagenet(
        "imagenet", (1, 2), bottleneck=True, width=2, addition="neither", norm=Norm(kind="none")
    ),
]
DATA_GATES = ["sigmoid", "layers", "pointwise"]


def shortcuts_only(made: Network, x: torch.Tensor) -> torch.Tensor:
    h = made.stem(x)
    for block in made.blocks:
        h = block.after(block.shortcut(block.before(h)))
    return made.head(h)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("mode", [True, False], ids=["training", "evaluation"])
class TestLimits:
    def same(self, a: Network, b: Network, mode: bool) -> None:
        x = images(5)
        assert torch.equal(a.train(mode)(x), b.train(mode)(x))

    def test_k_of_one_is_residual(self, body, mode):
        self.same(network(body, GateChoice("scalar"), ONE), network(body), mode)

    def test_coupled_k_of_one_is_plain(self, body, mode):
        self.same(
            network(body, GateChoice("scalar"), GateChoice("coupled")),
            network(body, ONE, ZERO),
            mode,
        )

    @pytest.mark.parametrize("k", [0.0, -1.0])
    @pytest.mark.parametrize("carry", [ONE, GateChoice("coupled")])
    def test_k_of_zero_or_less_is_the_shortcut(self, body, mode, k, carry):
        made = network(body, GateChoice("scalar", {"start": k}), carry).train(mode)
        x = images(5)
        assert torch.equal(made(x), shortcuts_only(made, x))

    def test_small_epsilon_is_residual(self, body, mode):
        self.same(network(body, GateChoice("epsilon", {"epsilon": 0.0}), ONE), network(body), mode)

    @pytest.mark.parametrize("over", ["batch", "sample"])
    def test_large_epsilon_is_the_shortcut(self, body, mode, over):
        made = network(body, GateChoice("epsilon", {"epsilon": 1e9, "over": over}), ONE).train(mode)
        x = images(5)
        assert torch.equal(made(x), shortcuts_only(made, x))

    def test_certain_survival_is_residual(self, body, mode):
        made = network(body, GateChoice("survival", {"last": 1.0}), ONE)
        for gate in made.gates:
            gate.draw(streams(range(1), "gates"))
        self.same(made, network(body), mode)

    @pytest.mark.parametrize("gate", DATA_GATES)
    def test_highway_bias_of_plus_infinity_is_plain(self, body, mode, gate):
        highway = network(body, GateChoice(gate, {"bias": 1e9}), GateChoice("coupled")).train(mode)
        plain = network(body, ONE, ZERO).train(mode)
        with torch.no_grad():
            for a, b in zip(
                highway.blocks, plain.blocks, strict=True
            ):  # the gates' maps shift the random draws
                a.transform.load_state_dict(b.transform.state_dict())
                a.shortcut.load_state_dict(b.shortcut.state_dict())
                a.before.load_state_dict(b.before.state_dict())
            highway.head.load_state_dict(plain.head.state_dict())
        self.same(highway, plain, mode)

    @pytest.mark.parametrize("gate", DATA_GATES)
    def test_highway_bias_of_minus_infinity_is_the_shortcut(self, body, mode, gate):
        made = network(body, GateChoice(gate, {"bias": -1e9}), GateChoice("coupled")).train(mode)
        x = images(5)
        assert torch.equal(made(x), shortcuts_only(made, x))

    @pytest.mark.parametrize("gate", ["constant", "scalar", *DATA_GATES, "epsilon", "survival"])
    def test_a_closed_gate_is_the_shortcut(self, body, mode, gate):
        made = network(body, GateChoice(gate), ONE).train(mode)
        for block in made.blocks:
            block.T.shut = (True,)
        x = images(5)
        assert torch.equal(made(x), shortcuts_only(made, x))


def test_epsilon_is_all_or_nothing_over_a_batch_and_by_sample():
    f = torch.tensor([[[0.1, 0.2], [0.1, -0.6]]])
    x = torch.zeros_like(f)
    for over, expected in (("batch", [[[1.0]]]), ("sample", [[[0.0], [1.0]]])):
        gate = network(MLP, GateChoice("epsilon", {"epsilon": 0.5, "over": over}), ONE).blocks[0].T
        assert gate(x, f).tolist() == expected


def test_survival_decays_linearly_and_scales_at_test():
    made = network(Mlp("mlp", depth=8, width=6), GateChoice("survival", {"last": 0.5}), ONE).eval()
    assert [block.T(None, None) for block in made.blocks] == [0.875, 0.75, 0.625, 0.5]


def test_survival_draws_at_the_rate_it_says():
    made = network(Mlp("mlp", depth=8, width=6), GateChoice("survival", {"last": 0.5}), ONE).train()
    coins, dropped = streams(range(1), "gates"), torch.zeros(4)
    for _ in range(2000):
        for gate in made.gates:
            gate.draw(coins)
        dropped += torch.tensor([block.T.closed() == (True,) for block in made.blocks])
    assert torch.allclose(dropped / 2000, torch.tensor([0.125, 0.25, 0.375, 0.5]), atol=0.04)


def test_a_dropped_block_leaves_its_running_statistics_alone():
    made = network(MLP, GateChoice("survival"), ONE, replicas=2).train()
    made.blocks[0].T.dropped = (True, False)
    norm = made.blocks[0].transform.norms[0]
    made(images(5, 2))
    assert torch.equal(norm.running_mean[0], torch.zeros(6))
    assert norm.running_mean[1].abs().max() > 0


def test_fleuret_adds_before_its_last_relu():
    made = network(Fleuret("fleuret", blocks=1, width=4)).eval()
    h = made.stem(images(3))
    block = made.blocks[0]
    assert torch.equal(block(h), torch.relu(block.transform(h) + h))
    assert block.transform(h).min() < 0
