"""Normal distributions whose numbers do not depend on one another, given the state."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from .kinds import Chances, Emission, Ground, Moments, Rows, filled, weighed
from .loops import loops

NEAR = 1e6  # variances from the middle of all means: nearer, products of matrices are exact enough

WIDE = 4  # of fewer numbers loops are quicker


@dataclass(frozen=True)
class Diagonal(Emission):
    """A mean and a variance of each number."""

    mean: Float[np.ndarray, "states width"]
    variance: Float[np.ndarray, "states width"]

    @classmethod
    def blank(cls, states: int, components: int, ground: Ground) -> "Diagonal":
        del components
        return cls(np.tile(ground.centre, (states, 1)), np.tile(ground.spread**2, (states, 1)))

    def scores(self, rows: Rows) -> Chances:
        return scored(rows, self.mean, self.variance)

    def moments(self, rows: Rows, chances: Chances, ground: Ground) -> Moments:
        return Moments(summed(rows, chances, ground))

    def learned(self, moments: Moments, ground: Ground, floor: float) -> "Diagonal":
        count, total, squares = moments.sums
        found = fitted(count, total, squares, ground, floor)
        seen = count > 0
        return Diagonal(
            np.where(seen, found[0], self.mean), np.where(seen, found[1], self.variance)
        )

    def means(self) -> Float[np.ndarray, "states width"]:
        return self.mean

    def deviations(self) -> Float[np.ndarray, "states width"]:
        return np.sqrt(self.variance)

    def drawn(self, states: Int[np.ndarray, " rows"], chance: np.random.Generator) -> Rows:
        noise = chance.normal(size=(len(states), self.mean.shape[1]))
        found: np.ndarray = self.mean[states] + noise * np.sqrt(self.variance[states])
        return found

    def quantiles(
        self, chances: Chances, levels: Float[np.ndarray, " levels"]
    ) -> Float[np.ndarray, "rows width levels"]:
        found: np.ndarray = loops("ahead").normal_quantiles(
            np.ascontiguousarray(chances), self.mean, np.sqrt(self.variance), levels
        )
        return found


def scored(
    rows: Rows, mean: Float[np.ndarray, "states width"], variance: Float[np.ndarray, "states width"]
) -> Chances:
    """log p(row) under each of several normal distributions."""
    heights = -0.5 * np.log(2 * np.pi * variance)
    middle = mean.mean(0)
    apart = (mean - middle) / variance  # Σ (x - m)² / 2v = Σ x² / 2v - x m / v + m² / 2v
    is_near = bool((np.abs(apart * (mean - middle)) < NEAR).all())
    if rows.shape[1] >= WIDE and is_near and not np.isnan(rows).any():
        values = rows - middle
        found: np.ndarray = values @ apart.T
        found += (heights - 0.5 * apart * (mean - middle)).sum(1)
        np.multiply(values, values, out=values)
        found -= values @ (0.5 / variance).T
        return found
    found = np.empty((len(rows), len(mean)))
    by_number = [np.ascontiguousarray(a.T) for a in (mean, 0.5 / variance, heights)]
    loops("densities").diagonal(np.ascontiguousarray(rows), *by_number, found)
    return found


def summed(
    rows: Rows, chances: Chances, ground: Ground
) -> tuple[Float[np.ndarray, "states width"], ...]:
    """How often each number was seen in each state, the sum of it, and of its square."""
    values, here = filled(rows - ground.centre)
    return *weighed(chances, values, here), chances.T @ values**2


def fitted(
    count: Float[np.ndarray, "states width"],
    total: Float[np.ndarray, "states width"],
    squares: Float[np.ndarray, "states width"],
    ground: Ground,
    floor: float,
) -> tuple[Float[np.ndarray, "states width"], Float[np.ndarray, "states width"]]:
    """The best mean and variance, none below the floor: of all that are allowed, the likeliest."""
    often = np.where(count > 0, count, 1.0)
    mean = total / often
    variance = squares / often - mean**2
    return mean + ground.centre, np.maximum(variance, floor * ground.spread**2)
