"""Bands as wide as windows that were put aside show they should be.

A number y that came is told by where it lies in what was foreseen: z = Q⁻¹(y), Q being the
quantiles over those of N(0, 1), on straight lines. Where bands hold, z is N(0, 1). What it is
instead, k steps ahead, makes bands wider or narrower: the quantile at z becomes Q(f_k z). A Normal
distribution stays one, with f_k times its deviation.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from ...prediction import NORMAL, Foreseen

FAR = 10.0  # no number lies further out than so many deviations
TRUST, ALIKE = 4.0, 10.0  # windows that what a model says is worth, and that all steps are alike

Scores = Float[np.ndarray, "windows time width"]


class Bands:
    """A factor for each step ahead, learned from windows that were put aside: a codec.

    f² = (4 + n m²) / (4 + n)             of all steps together, n windows that do not overlap
    f_k² = (10 f² + n m_k²) / (10 + n)    of the k-th, m being the mean of |z|, over that of N(0, 1)

    So a model is believed until many windows say otherwise.
    """

    def __init__(self) -> None:
        self.factors: Float[np.ndarray, " ahead"] = np.ones(0)

    def learn(self, scores: Scores, windows: float) -> None:
        """From the z of windows, NaN where nothing came, counted as so many that are apart."""
        seen = ~np.isnan(scores)
        sizes = np.where(seen, np.minimum(np.abs(scores), FAR), 0).sum((0, 2))
        counts = seen.sum((0, 2))
        if not counts.any():
            return
        every = _square(sizes.sum() / counts.sum())
        all_steps = (TRUST + windows * every) / (TRUST + windows)
        each = np.where(counts > 0, _square(sizes / np.maximum(counts, 1)), all_steps)
        self.factors = np.sqrt((ALIKE * all_steps + windows * each) / (ALIKE + windows))

    def forget(self) -> None:
        """Bands are those of the model."""
        self.factors = np.ones(0)

    def of(self, foreseen: Foreseen) -> Foreseen:
        """A forecast with its bands moved; beyond the last step that was learned, as that."""
        ahead = len(foreseen.mean)
        if not len(self.factors) or not ahead:
            return foreseen
        factors = self.factors[np.minimum(np.arange(ahead), len(self.factors) - 1)]
        q = foreseen.quantiles
        moved = np.stack([_at(q[k], f * NORMAL) for k, f in enumerate(factors)])
        paths = foreseen.paths
        if paths is not None:
            z = scores_of(q, paths)
            steps = [_at(q[k], np.moveaxis(f * z[:, k], 0, -1)) for k, f in enumerate(factors)]
            paths = np.stack([np.moveaxis(step, -1, 0) for step in steps], axis=1)
        return Foreseen(foreseen.mean, moved, paths)

    def state(self) -> Any:
        return self.factors.tolist()

    def restore(self, state: Any) -> None:
        self.factors = np.array(state or [], dtype=np.float64)


def scores_of(
    quantiles: Float[np.ndarray, "time width levels"], came: Float[np.ndarray, "*many time width"]
) -> Float[np.ndarray, "*many time width"]:
    """Where numbers lie in what was foreseen, as numbers of N(0, 1); NaN where none came."""
    below = (came[..., None] >= quantiles).sum(-1)
    left = np.clip(below - 1, 0, len(NORMAL) - 2)
    every = np.broadcast_to(quantiles, (*came.shape, len(NORMAL)))
    low = np.take_along_axis(every, left[..., None], -1)[..., 0]
    high = np.take_along_axis(every, left[..., None] + 1, -1)[..., 0]
    width = np.maximum(high - low, np.finfo(np.float64).tiny)
    share = np.clip((came - low) / width, -1e6, 1e6)
    found: np.ndarray = NORMAL[left] + share * (NORMAL[left + 1] - NORMAL[left])
    return np.where(np.isnan(came), np.nan, found)


def _at(
    quantiles: Float[np.ndarray, "width levels"], z: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Q(z): of a few z for each number, or the same for all."""
    z = np.broadcast_to(z, (len(quantiles), z.shape[-1]))
    left = np.clip(np.searchsorted(NORMAL, z, side="right") - 1, 0, len(NORMAL) - 2)
    low = np.take_along_axis(quantiles, left, -1)
    high = np.take_along_axis(quantiles, left + 1, -1)
    found: np.ndarray = low + (z - NORMAL[left]) / (NORMAL[left + 1] - NORMAL[left]) * (high - low)
    return found


def _square(size: Any) -> Any:
    """The square of a mean size, in units of that of N(0, 1), which is √(2/π)."""
    return size**2 * math.pi / 2
