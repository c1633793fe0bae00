"""NAdam (Dozat 2016) as PyTorch and Keras have it, with each step as one pass over memory."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

EPSILON = 1e-8


class Nadam(torch.optim.Optimizer):
    """The update of `torch.optim.NAdam`, for parameters on the CPU.

    It takes the compiled step of `nets/native.cpp`.
    """

    def __init__(
        self,
        groups: Iterable[dict[str, Any]],
        rate: float,
        betas: tuple[float, float],
        momentum_decay: float,
    ) -> None:
        super().__init__(
            groups,
            {"lr": rate, "betas": betas, "momentum_decay": momentum_decay, "weight_decay": 0.0},
        )

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Nothing to do: a step leaves the gradients at 0, and they begin so."""

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # noqa: ARG002
        """Step with mu_t and its running product, as PyTorch documents them."""
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state.update(step=0, product=1.0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                _update(p, state, group)


def _update(p: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
    """One step of one tensor, with mu_t = beta1 (1 - 0.96^(t * momentum_decay) / 2)."""
    beta1, beta2 = group["betas"]
    state["step"] += 1
    now, after = (
        beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"]))
        for t in (state["step"], state["step"] + 1)
    )
    state["product"] *= now
    to_grad = group["lr"] * (1 - now) / (1 - state["product"])
    to_m = group["lr"] * after / (1 - state["product"] * after)
    unbias = 1 - beta2 ** state["step"]
    factors = (beta1, beta2, to_grad, to_m, unbias, EPSILON, group["weight_decay"])
    torch.ops.skipgate.nadam(p, p.grad, state["m"], state["v"], *factors)
