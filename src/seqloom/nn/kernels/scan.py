"""A linear recurrence over a whole sequence, by large steps where small ones would be many."""

from math import isqrt

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

LARGE = 4096  # from so many numbers a step on, one operation for each step costs the least


def scan(
    keep: Float[Tensor, "time batch hidden"],
    new: Float[Tensor, "time batch hidden"],
    first: Float[Tensor, "batch hidden"],
) -> Float[Tensor, "time batch hidden"]:
    """h_t = keep_t ⊙ h_{t-1} + new_t, with h_{-1} = first, for all t; may take the place of new."""
    if first.numel() < LARGE:
        return _by_pieces(keep, new, first)
    state = first
    for kept, added in zip(keep.unbind(0), new.unbind(0), strict=True):
        state = added.addcmul_(kept, state)
    return new


def scan_back(
    keep: Float[Tensor, "time batch hidden"], grad: Float[Tensor, "time batch hidden"]
) -> Float[Tensor, "time batch hidden"]:
    """The gradient of all h_t: the same from right to left, g_t = ∂_t + keep_{t+1} ⊙ g_{t+1}."""
    if keep[0].numel() < LARGE:
        later = pad(keep[1:], (0, 0, 0, 0, 0, 1)).flip(0)
        return _by_pieces(later, grad.flip(0), torch.zeros_like(keep[0])).flip(0)
    found = torch.empty_like(grad, memory_format=torch.contiguous_format)
    g, kept, added = found.unbind(0), keep.unbind(0), grad.unbind(0)
    g[-1].copy_(added[-1])
    for t in reversed(range(len(g) - 1)):
        torch.addcmul(added[t], kept[t + 1], g[t + 1], out=g[t])
    return found


def _by_pieces(keep: Tensor, new: Tensor, first: Tensor) -> Tensor:
    """All pieces side by side, then what each hands to the next, then both.

    Of T steps √T are taken one after the other within the pieces and √T between them, each over
    larger arrays; every number is touched only a few times.
    """
    time, batch, hidden = new.shape
    length = max(1, isqrt(time))
    pieces = -(-time // length)
    room = (0, 0, 0, 0, 0, pieces * length - time)
    keep = pad(keep, room, value=1.0).reshape(pieces, length, batch, hidden)
    new = pad(new, room).reshape(pieces, length, batch, hidden)
    for at in range(1, length):
        new[:, at].addcmul_(keep[:, at], new[:, at - 1])
        keep[:, at].mul_(keep[:, at - 1])
    handed = torch.empty_like(new[:, 0])
    state = first
    for piece in range(pieces):
        handed[piece] = state
        state = torch.addcmul(new[piece, -1], keep[piece, -1], state)
    outputs = new.addcmul_(keep, handed[:, None])
    return outputs.flatten(0, 1)[:time]
