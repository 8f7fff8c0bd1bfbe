"""Monotonic rational-quadratic splines (Durkan et al. 2019), in the inverse direction."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

TAIL_BOUND = 5.0
_MIN_SIZE = 1e-3  # of a bin, relative to the whole interval
_MIN_DERIVATIVE = 1e-3
# softplus(_EDGE) + _MIN_DERIVATIVE = 1: the spline meets its linear tails without a kink
_EDGE = math.log(math.expm1(1.0 - _MIN_DERIVATIVE))


def inverse_spline(y: Tensor, widths: Tensor, heights: Tensor, derivatives: Tensor) -> Tensor:
    """Solve spline(x) = y for x; outside [-5, 5] the spline is the identity.

    The root is that of equations 6 to 8 and appendix A.3 of the paper, in the form that does not cancel.

    Args:
        y: any shape.
        widths: unnormalised, shape of y + [K] for K bins.
        heights: unnormalised, shape of y + [K].
        derivatives: unnormalised, at the K - 1 inner knots, shape of y + [K - 1].

    Returns:
        x, in the shape of y.
    """
    knots_x, knots_y = _knots(widths), _knots(heights)
    slopes = functional.softplus(functional.pad(derivatives, (1, 1), value=_EDGE)) + _MIN_DERIVATIVE
    inside = y.clamp(-TAIL_BOUND, TAIL_BOUND)
    bins = (inside.unsqueeze(-1) >= knots_y[..., 1:-1]).sum(-1, keepdim=True)

    def at(values: Tensor, index: Tensor) -> Tensor:
        return values.gather(-1, index).squeeze(-1)

    left, bottom = at(knots_x, bins), at(knots_y, bins)
    width, height = at(knots_x, bins + 1) - left, at(knots_y, bins + 1) - bottom
    start, end = at(slopes, bins), at(slopes, bins + 1)
    mean_slope = height / width
    above = inside - bottom
    bend = above * (start + end - 2.0 * mean_slope)
    a = bend + height * (mean_slope - start)
    b = height * start - bend
    c = -mean_slope * above
    root = 2.0 * c / (-b - torch.sqrt(b * b - 4.0 * a * c))
    return torch.where((y >= -TAIL_BOUND) & (y <= TAIL_BOUND), root * width + left, y)


def _knots(unnormalised: Tensor) -> Tensor:
    """Bin sizes by softmax, none below the minimum, summed up to knots from -5 to 5: [..., K] to [..., K + 1]."""
    bins = unnormalised.shape[-1]
    sizes = _MIN_SIZE + (1.0 - _MIN_SIZE * bins) * unnormalised.softmax(dim=-1)
    inner = 2.0 * TAIL_BOUND * sizes[..., :-1].cumsum(dim=-1) - TAIL_BOUND
    return functional.pad(functional.pad(inner, (1, 0), value=-TAIL_BOUND), (0, 1), value=TAIL_BOUND)
