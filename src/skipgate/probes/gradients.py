"""Shattered gradients (Balduzzi et al. 2017, in the lecture).

How long the input's gradient stays like itself along a line.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from skipgate.evaluation import evaluating
from skipgate.nets.network import Network


def along_line(network: Network, points: Tensor) -> Tensor:
    """The gradient of the first output at each point, as (replica, point, pixel).

    The points are given as (point, ...).
    """
    with evaluating(network), torch.enable_grad():
        x = points.expand(network.replicas, *points.shape).clone().requires_grad_()
        return torch.autograd.grad(network(x)[..., 0].sum(), x)[0].flatten(2)


def autocorrelation(series: Tensor, lags: Sequence[int]) -> Tensor:
    """R(lag) of a series (replica, point, pixel), as (lag, replica).

    R is the mean product of vectors that are `lag` points apart, in units of R(0). The mean is not
    taken away: over fresh weights it is 0, and the gradient of a linear network, which is constant,
    has R = 1.
    """
    count = series.shape[1]
    products = [(series[:, : count - lag] * series[:, lag:]).sum(2).mean(1) for lag in (0, *lags)]
    return torch.stack(products[1:]) / products[0]
