"""The last few vectors of every place, side by side: what windows and convolutions look at."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function


def joined(
    x: Float[Tensor, "batch places width"], taps: int, apart: int = 1
) -> Float[Tensor, "batch time joined"]:
    """Every place with those before it, `apart` steps from one another, the oldest first.

    z_t = [x_t; x_{t+apart}; …; x_{t+(taps-1)·apart}]     for all t where this exists
    """
    if x.shape[1] == 1 + (taps - 1) * apart:  # a single step
        return x[:, ::apart].flatten(1)[:, None]
    found: Tensor = _Joined.apply(x, taps, apart)
    return found


class _Joined(Function):
    """Copied once; torch's own gradient would fill and add one whole sequence for each tap."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, taps: int, apart: int) -> Tensor:
        ctx.places, ctx.taps, ctx.apart = x.shape[1], taps, apart
        time = x.shape[1] - (taps - 1) * apart
        return torch.cat([x[:, k * apart : k * apart + time] for k in range(taps)], dim=-1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        batch, time, _ = grad.shape
        parts = grad.unflatten(-1, (ctx.taps, -1)).unbind(2)
        total = grad.new_zeros(batch, ctx.places, parts[0].shape[-1])
        for k, part in enumerate(parts):
            total[:, k * ctx.apart : k * ctx.apart + time] += part
        return total, None, None
