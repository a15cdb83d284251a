"""A linear scan: h_t = k_t ⊙ h_{t-1} + n_t over all steps, forward and backward."""

from math import isqrt

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

LARGE = 4096  # elements of a step from which on one torch operation per step is fastest


def scan(
    keep: Float[Tensor, "time batch hidden"],
    new: Float[Tensor, "time batch hidden"],
    first: Float[Tensor, "batch hidden"],
) -> Float[Tensor, "time batch hidden"]:
    """h_t = keep_t ⊙ h_{t-1} + new_t, with h_{-1} = first, for all t; may overwrite `new`."""
    if first.numel() < LARGE:
        return _blocked_scan(keep, new, first)
    state = first
    for kept, added in zip(keep.unbind(0), new.unbind(0), strict=True):
        state = added.addcmul_(kept, state)
    return new


def scan_back(
    keep: Float[Tensor, "time batch hidden"], grad: Float[Tensor, "time batch hidden"]
) -> Float[Tensor, "time batch hidden"]:
    """The gradient of all h_t: a scan in reverse, g_t = ∂_t + keep_{t+1} ⊙ g_{t+1}."""
    if keep[0].numel() < LARGE:
        later = pad(keep[1:], (0, 0, 0, 0, 0, 1)).flip(0)
        return _blocked_scan(later, grad.flip(0), torch.zeros_like(keep[0])).flip(0)
    total = torch.empty_like(grad, memory_format=torch.contiguous_format)
    g, kept, added = total.unbind(0), keep.unbind(0), grad.unbind(0)
    g[-1].copy_(added[-1])
    for t in reversed(range(len(g) - 1)):
        torch.addcmul(added[t], kept[t + 1], g[t + 1], out=g[t])
    return total


def _blocked_scan(keep: Tensor, new: Tensor, first: Tensor) -> Tensor:
    """A blocked (two-level) parallel scan: √T blocks of √T steps.

    1. within all blocks at once, as if each began at 0, and the running products of keep;
    2. from block to block, the state each block begins with;
    3. both together: h_t = (scan within the block) + (product of keep) ⊙ (state at its beginning).

    2 √T sequential operations over larger arrays instead of T, which cost their overhead only.
    """
    time, batch, hidden = new.shape
    length = max(1, isqrt(time))
    blocks = -(-time // length)
    # Padding with keep = 1 and new = 0 leaves the state as it is.
    padding = (0, 0, 0, 0, 0, blocks * length - time)
    keep = pad(keep, padding, value=1.0).reshape(blocks, length, batch, hidden)
    new = pad(new, padding).reshape(blocks, length, batch, hidden)
    for at in range(1, length):
        new[:, at].addcmul_(keep[:, at], new[:, at - 1])
        keep[:, at].mul_(keep[:, at - 1])
    begins = torch.empty_like(new[:, 0])
    state = first
    for block in range(blocks):
        begins[block] = state
        state = torch.addcmul(new[block, -1], keep[block, -1], state)
    outputs = new.addcmul_(keep, begins[:, None])
    return outputs.flatten(0, 1)[:time]
