"""States that each show one of several things: mixtures of normal distributions."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ..lattice.readable import add
from .diagonal import Diagonal, fitted, scored, summed
from .kinds import Chances, Emission, Ground, Moments, Rows
from .starting import groups_of

Each = Float[np.ndarray, "states components width"]


@dataclass(frozen=True)
class Mixture(Emission):
    """Shares of components, and a mean and a variance of each number in each of them."""

    share: Float[np.ndarray, "states components"]
    mean: Each
    variance: Each

    @classmethod
    def blank(cls, states: int, components: int, ground: Ground) -> "Mixture":
        shape = (states, components, 1)
        share = np.full(shape[:2], 1 / components)
        return cls(share, np.tile(ground.centre, shape), np.tile(ground.spread**2, shape))

    def scores(self, rows: Rows) -> Chances:
        return add(self._scores(rows))

    def _scores(self, rows: Rows) -> Float[np.ndarray, "rows states components"]:
        """log of the share and the density of each component."""
        width = self.mean.shape[-1]
        each = scored(rows, self.mean.reshape(-1, width), self.variance.reshape(-1, width))
        with np.errstate(divide="ignore"):
            return each.reshape(len(rows), *self.share.shape) + np.log(self.share)

    def moments(self, rows: Rows, chances: Chances, ground: Ground) -> Moments:
        scores = self._scores(rows)
        parts = np.exp(scores - add(scores)[..., None]) * chances[..., None]
        flat = parts.reshape(len(rows), -1)
        return Moments((flat.sum(0), *summed(rows, flat, ground)))

    def learned(self, moments: Moments, ground: Ground, floor: float) -> "Mixture":
        often, count, total, squares = moments.sums
        found = fitted(count, total, squares, ground, floor)
        seen = (count > 0).reshape(self.mean.shape)
        parts = often.reshape(self.share.shape)
        whole = parts.sum(1, keepdims=True)
        share = np.where(whole > 0, parts / np.where(whole > 0, whole, 1.0), self.share)
        pairs = zip(found, (self.mean, self.variance), strict=True)
        return Mixture(share, *(np.where(seen, new.reshape(seen.shape), old) for new, old in pairs))

    def started(
        self,
        rows: Rows,
        groups: Int[np.ndarray, " rows"],
        ground: Ground,
        floor: float,
        chance: np.random.Generator,
    ) -> "Mixture":
        """Each state fits a group of rows, and each component a part of it."""
        states, components = self.share.shape
        parts = np.zeros(len(rows), dtype=np.int64)
        for state in range(states):
            mine = groups == state
            if mine.any():
                parts[mine] = groups_of(rows[mine], components, ground, chance)
        flat = np.eye(states * components)[groups * components + parts]
        moments = Moments((flat.sum(0), *summed(rows, flat, ground)))
        return self.learned(moments, ground, floor)

    def means(self) -> Float[np.ndarray, "states width"]:
        found: np.ndarray = (self.share[..., None] * self.mean).sum(1)
        return found

    def deviations(self) -> Float[np.ndarray, "states width"]:
        apart = self.mean - self.means()[:, None]
        found: np.ndarray = (self.share[..., None] * (self.variance + apart**2)).sum(1)
        return np.sqrt(found)

    def drawn(self, states: Int[np.ndarray, " rows"], chance: np.random.Generator) -> Rows:
        past = np.cumsum(self.share[states], axis=1)
        which = (chance.random((len(states), 1)) * past[:, -1:] >= past).sum(1)
        flat = Diagonal(*(a.reshape(-1, a.shape[-1]) for a in (self.mean, self.variance)))
        return flat.drawn(states * self.share.shape[1] + which, chance)

    def quantiles(
        self, chances: Chances, levels: Float[np.ndarray, " levels"]
    ) -> Float[np.ndarray, "rows width levels"]:
        flat = Diagonal(*(a.reshape(-1, a.shape[-1]) for a in (self.mean, self.variance)))
        return flat.quantiles((chances[..., None] * self.share).reshape(len(chances), -1), levels)
