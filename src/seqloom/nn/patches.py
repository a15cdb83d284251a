"""Several steps of a series read as one: a patch of them."""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..forms import Series, Space


def patched(space: Space, steps: int) -> Space:
    """What is read where so many steps stand side by side in a row."""
    if steps == 1 or not isinstance(space, Series):
        return space
    return replace(space, width=steps * space.width, known=steps * space.known)


def patches(
    rows: Float[Tensor, "batch time numbers"],
    lengths: Int[Tensor, " batch"],
    width: int,
    steps: int,
) -> tuple[Float[Tensor, "batch patch joined"], Int[Tensor, " batch"]]:
    """So many rows side by side in one, and how many of these there are (Nie et al., 2023).

    The last patch of every series ends with its last row. What lacks before its first is missing,
    and inputs of it are 0. First come the numbers of all steps of a patch, then their inputs.
    """
    counts = -(-lengths // steps)
    time = steps * int(counts.max())
    places = torch.arange(time) - (steps * counts - lengths)[:, None]
    inside = (places >= 0) & (places < lengths[:, None])
    places = places.clamp(0, rows.shape[1] - 1)
    found = rows[torch.arange(len(rows))[:, None], places]
    seen = found[..., :width].masked_fill(~inside[..., None], torch.nan)
    known = found[..., width:].masked_fill(~inside[..., None], 0.0)
    parts = [part.unflatten(1, (-1, steps)).flatten(2) for part in (seen, known)]
    return torch.cat(parts, dim=-1), counts
