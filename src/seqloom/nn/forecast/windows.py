"""The end of a past and what follows it, as a network reads it.

Several steps of a series read as one: a patch of them.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ...batch import Sequences, mask_of
from ...signature import Series, Space
from .distributions import Density
from .options import CenterName


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


LEAST_VARIANCE = 1e-3  # of a piece that is stretched to a deviation of 1


@dataclass(frozen=True)
class Piece:
    """The last rows of each past, then those that are forecast; padded on the right.

    Its numbers are moved and stretched: y = shift + scale · seen. NaN stands for what is missing,
    and for what is not known yet. A past that has no rows gets one in which all is missing.
    """

    seen: Float[Tensor, "batch time width"]
    known: Float[Tensor, "batch time inputs"]
    pasts: Int[Tensor, " batch"]
    aheads: Int[Tensor, " batch"]
    shift: Float[np.ndarray, "batch 1 width"]
    scale: Float[np.ndarray, "batch 1 width"]

    @property
    def lengths(self) -> Int[Tensor, " batch"]:
        """How many rows are real."""
        return self.pasts + self.aheads

    def read(self) -> Float[Tensor, "batch before numbers"]:
        """What is read to foresee the row after each: its numbers, and the inputs of the next."""
        return torch.cat([self.seen[:, :-1], self.known[:, 1:]], dim=-1)

    def future(self, rows: Float[Tensor, "batch time *rest"]) -> Float[Tensor, "batch ahead *rest"]:
        """Of rows that lie as those of this piece do, the ones that are forecast."""
        ahead = int(self.aheads.max())
        first = int(self.pasts[0])
        if bool((self.pasts == first).all()):
            return rows[:, first : first + ahead]
        places = self.pasts[:, None] + torch.arange(ahead)
        return rows[torch.arange(len(rows))[:, None], places.clamp(max=rows.shape[1] - 1)]

    def moved(self, target: Sequences) -> Float[Tensor, "batch ahead width"]:
        """What came then, moved and stretched as the past is."""
        rows = target.values[:, : int(self.aheads.max())]
        found = torch.from_numpy((rows - self.shift) / self.scale)
        return found.to(self.seen.dtype)

    def real(self) -> Bool[Tensor, "batch ahead"]:
        """Which of the rows that are forecast there are."""
        return torch.arange(int(self.aheads.max())) < self.aheads[:, None]


def cut(
    source: Sequences,
    aheads: Int[np.ndarray, " batch"],
    width: int,
    *,
    look_back: int,
    center: CenterName,
    kind: torch.dtype,
    target: Sequences | None = None,
) -> Piece:
    """The last rows of every past, with the inputs of what follows; with a target, its numbers."""
    before = source.lengths - aheads
    pasts = np.clip(before, 1, look_back)
    time = int((pasts + aheads).max())
    starts = before - pasts
    rows = source.values
    if starts.any() or time != rows.shape[1]:
        places = np.clip(starts[:, None] + np.arange(time), 0, rows.shape[1] - 1)
        rows = rows[np.arange(len(rows))[:, None], places]
    seen = rows[..., :width]
    if (starts < 0).any():
        seen = np.where((starts < 0)[:, None, None], np.nan, seen)
    inside = mask_of(pasts, time)
    shift, scale = _moved(seen, inside, center)
    if target is not None:
        seen = np.array(seen)
        seen[mask_of(pasts + aheads, time) & ~inside] = target.values[target.mask]
    if center != "none":
        seen = (seen - shift) / scale
    return Piece(
        torch.from_numpy(seen).to(kind),
        torch.from_numpy(rows[..., width:]).to(kind),
        torch.from_numpy(pasts),
        torch.from_numpy(np.asarray(aheads)),
        shift,
        scale,
    )


def observed(
    density: Density,
    p: Float[Tensor, "*place width count"],
    y: Float[Tensor, "*place width"],
    counted: Bool[Tensor, "*place"],
) -> tuple[Float[Tensor, "*place width"], Bool[Tensor, "*place width"]]:
    """The loss of each number that was observed and counts, 0 of others; and which these are."""
    told = ~y.isnan() & counted[..., None]
    return density.loss(p, y.masked_fill(~told, 0.0)) * told, told


def log_densities(
    density: Density,
    p: Float[Tensor, "*place width count"],
    y: Float[Tensor, "*place width"],
    counted: Bool[Tensor, "*place"],
) -> Float[Tensor, "*place width"]:
    """Log of the density of each number that was observed and counts; 0 of all others."""
    told = ~y.isnan() & counted[..., None]
    return density.log_density(p, y.masked_fill(~told, 0.0)) * told


def _moved(
    seen: Float[np.ndarray, "batch time width"], inside: Bool[np.ndarray, "batch time"], by: str
) -> tuple[Float[np.ndarray, "batch 1 width"], Float[np.ndarray, "batch 1 width"]]:
    """By how much the numbers of each piece are moved, and how far stretched."""
    one = np.ones((len(seen), 1, seen.shape[-1]))
    if by == "none":
        return 0 * one, one
    told = inside[..., None] & ~np.isnan(seen)
    if by == "last":
        last = seen.shape[1] - 1 - told[:, ::-1].argmax(1, keepdims=True)
        found = np.take_along_axis(seen, last, 1).astype(np.float64)
        return np.where(told.any(1, keepdims=True), found, 0.0), one
    count = np.maximum(1, told.sum(1, keepdims=True))
    numbers = np.where(told, seen, 0.0).astype(np.float64)
    mean = numbers.sum(1, keepdims=True) / count
    if by == "mean":
        return mean, one
    variance = (np.where(told, numbers - mean, 0.0) ** 2).sum(1, keepdims=True) / count
    return mean, np.sqrt(variance + LEAST_VARIANCE)
