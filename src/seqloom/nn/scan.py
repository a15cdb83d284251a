"""A linear recurrence over a whole sequence in few large steps instead of many small ones."""

from math import isqrt
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad


def linear_scan(
    keep: Float[Tensor, "batch time hidden"],
    new: Float[Tensor, "batch time hidden"],
    first: Float[Tensor, "batch hidden"],
) -> Float[Tensor, "batch time hidden"]:
    """h_t = keep_t ⊙ h_{t-1} + new_t, with h_{-1} = first, for all t."""
    outputs: Tensor = _LinearScan.apply(keep, new, first)
    return outputs


class _LinearScan(Function):
    """The gradient of a linear recurrence is the same recurrence from right to left.

    g_t = ∂L/∂h_t + keep_{t+1} ⊙ g_{t+1},   ∂L/∂new_t = g_t,   ∂L/∂keep_t = g_t ⊙ h_{t-1}
    """

    @staticmethod
    def forward(ctx: Any, keep: Tensor, new: Tensor, first: Tensor) -> Tensor:
        outputs = scanned(keep, new, first)
        ctx.save_for_backward(keep, first, outputs)
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        keep, first, outputs = ctx.saved_tensors
        later = pad(keep[:, 1:], (0, 0, 0, 1)).flip(1)
        g = scanned(later, grad.flip(1), torch.zeros_like(first)).flip(1)
        before = torch.cat([first[:, None], outputs[:, :-1]], dim=1)
        return g * before, g, g[:, 0] * keep[:, 0]


def scanned(keep: Tensor, new: Tensor, first: Tensor) -> Tensor:
    """The scan by pieces: all pieces side by side, then what each hands to the next, then both.

    Of T steps √T are taken one after the other within the pieces and √T between them, each over
    large arrays; every number is touched only a few times.
    """
    batch, time, hidden = new.shape
    length = max(1, isqrt(time))
    pieces = -(-time // length)
    room = (0, 0, 0, pieces * length - time)
    keep = pad(keep, room, value=1.0).reshape(batch, pieces, length, hidden).clone()
    new = pad(new, room).reshape(batch, pieces, length, hidden).clone()
    for at in range(1, length):
        new[:, :, at].addcmul_(keep[:, :, at], new[:, :, at - 1])
        keep[:, :, at].mul_(keep[:, :, at - 1])
    handed = torch.empty_like(new[:, :, 0])
    state = first
    for piece in range(pieces):
        handed[:, piece] = state
        state = torch.addcmul(new[:, piece, -1], keep[:, piece, -1], state)
    outputs = new.addcmul_(keep, handed[:, :, None])
    return outputs.reshape(batch, pieces * length, hidden)[:, :time]
