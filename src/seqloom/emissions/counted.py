"""Counts, as a Poisson distribution has them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from .kinds import Chances, Emission, Ground, Moments, Rows, filled, weighed
from .loops import loops


@dataclass(frozen=True)
class Poisson(Emission):
    """A mean count of each number."""

    is_counted = True

    rate: Float[np.ndarray, "states width"]

    @classmethod
    def blank(cls, states: int, components: int, ground: Ground) -> "Poisson":
        del components
        return cls(np.tile(np.maximum(ground.centre, 1e-3), (states, 1)))

    def scores(self, rows: Rows) -> Chances:
        values, here = filled(rows)
        lost = self.rate.sum(1) if here is None else here @ self.rate.T
        factorials = np.empty(len(rows))
        loops("densities").log_factorials(np.ascontiguousarray(rows), factorials)
        found: np.ndarray = values @ np.log(self.rate).T - lost - factorials[:, None]
        return found

    def moments(self, rows: Rows, chances: Chances, ground: Ground) -> Moments:
        return Moments(weighed(chances, *filled(rows)))

    def learned(self, moments: Moments, ground: Ground, floor: float) -> "Poisson":
        count, total = moments.sums
        rate = total / np.where(count > 0, count, 1.0)
        least = floor * np.minimum(1.0, np.maximum(ground.centre, 1e-3))
        return Poisson(np.where(count > 0, np.maximum(rate, least), self.rate))

    def means(self) -> Float[np.ndarray, "states width"]:
        return self.rate

    def deviations(self) -> Float[np.ndarray, "states width"]:
        return np.sqrt(self.rate)

    def drawn(self, states: Int[np.ndarray, " rows"], chance: np.random.Generator) -> Rows:
        return chance.poisson(self.rate[states]).astype(np.float64)

    def quantiles(
        self, chances: Chances, levels: Float[np.ndarray, " levels"]
    ) -> Float[np.ndarray, "rows width levels"]:
        found: np.ndarray = loops("ahead").counted_quantiles(
            np.ascontiguousarray(chances), self.rate, levels
        )
        return found
