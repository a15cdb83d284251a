"""Normal distributions with all covariances."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from .diagonal import Diagonal, scored, summed
from .kinds import Chances, Emission, Ground, Moments, Rows

AT_ONCE = 4096  # rows, so that what is made of them stays near the processor
Square = Float[np.ndarray, "width width"]


@dataclass(frozen=True)
class Full(Emission):
    """A mean of each number, and a covariance of every two."""

    mean: Float[np.ndarray, "states width"]
    covariance: Float[np.ndarray, "states width width"]

    @classmethod
    def blank(cls, states: int, components: int, ground: Ground) -> "Full":
        del components
        whole = np.tile(np.diag(ground.spread**2), (states, 1, 1))
        return cls(np.tile(ground.centre, (states, 1)), whole)

    def scores(self, rows: Rows) -> Chances:
        if rows.shape[1] == 1:
            return scored(rows, self.mean, self.covariance[:, 0])
        found = np.zeros((len(rows), len(self.mean)))
        for which, seen in patterns(rows):
            if not seen.any():
                continue
            inside = np.linalg.cholesky(self.covariance[:, seen][:, :, seen])
            apart = np.linalg.inv(inside)  # (x - m) · this has variance 1 in all directions
            sizes = np.log(np.diagonal(inside, axis1=1, axis2=2)).sum(1)
            heights = -0.5 * seen.sum() * np.log(2 * np.pi) - sizes
            for start in range(0, len(which), AT_ONCE):
                some = which[start : start + AT_ONCE]
                values = rows[some][:, seen]
                for state, mean in enumerate(self.mean[:, seen]):
                    flat = (values - mean) @ apart[state].T
                    squares = np.einsum("td,td->t", flat, flat)
                    found[some, state] = heights[state] - 0.5 * squares
        return found

    def moments(self, rows: Rows, chances: Chances, ground: Ground) -> Moments:
        states, width = self.mean.shape
        if width == 1 and not np.isnan(rows).any():
            often, sums, squares = summed(rows, chances, ground)
            return Moments((often[:, 0], sums, squares[..., None]))
        count, total = chances.sum(0), np.zeros((states, width))
        products = np.zeros((states, width, width))
        for which, seen in patterns(rows):
            if seen.all():
                add_products(rows, which, chances, ground, total, products)
                continue
            for state in range(states):
                shares = chances[which, state]
                values, unsure = self._expected(state, rows[which], seen)
                values -= ground.centre
                total[state] += shares @ values
                products[state] += (shares[:, None] * values).T @ values + shares.sum() * unsure
        return Moments((count, total, products))

    def _expected(
        self, state: int, rows: Rows, seen: Bool[np.ndarray, " width"]
    ) -> tuple[Rows, Square]:
        """Rows with what a state expects of missing numbers, and how uncertain that is."""
        lost, mean, whole = ~seen, self.mean[state], self.covariance[state]
        values, unsure = np.tile(mean, (len(rows), 1)), np.zeros_like(whole)
        values[:, seen] = rows[:, seen]
        across = np.zeros((int(lost.sum()), 0))
        if seen.any():
            across = np.linalg.solve(whole[np.ix_(seen, seen)], whole[np.ix_(seen, lost)]).T
            values[:, lost] += (rows[:, seen] - mean[seen]) @ across.T
        unsure[np.ix_(lost, lost)] = whole[np.ix_(lost, lost)] - across @ whole[np.ix_(seen, lost)]
        return values, unsure

    def learned(self, moments: Moments, ground: Ground, floor: float) -> "Full":
        count, total, products = moments.sums
        mean, covariance = self.mean.copy(), self.covariance.copy()
        for state in np.flatnonzero(count > 0):
            middle = total[state] / count[state]
            inside = products[state] / count[state] - np.outer(middle, middle)
            mean[state] = middle + ground.centre
            covariance[state] = no_narrower(inside, ground, floor)
        return Full(mean, covariance)

    def means(self) -> Float[np.ndarray, "states width"]:
        return self.mean

    def deviations(self) -> Float[np.ndarray, "states width"]:
        return np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))

    def drawn(self, states: Int[np.ndarray, " rows"], chance: np.random.Generator) -> Rows:
        noise = chance.normal(size=(len(states), self.mean.shape[1]))
        found: np.ndarray = self.mean[states] + np.einsum(
            "tij,tj->ti", np.linalg.cholesky(self.covariance)[states], noise
        )
        return found

    def quantiles(
        self, chances: Chances, levels: Float[np.ndarray, " levels"]
    ) -> Float[np.ndarray, "rows width levels"]:
        return Diagonal(self.mean, self.deviations() ** 2).quantiles(chances, levels)


def patterns(
    rows: Rows,
) -> Iterator[tuple[Int[np.ndarray, " some"], Bool[np.ndarray, " width"]]]:
    """Rows of which the same numbers are observed, and which those are."""
    seen = ~np.isnan(rows)
    if seen.all():
        yield np.arange(len(rows)), np.ones(rows.shape[1], dtype=bool)
        return
    kinds, which = np.unique(seen, axis=0, return_inverse=True)
    for kind, found in enumerate(kinds):
        yield np.flatnonzero(which.ravel() == kind), found


def add_products(
    rows: Rows,
    which: Int[np.ndarray, " some"],
    chances: Chances,
    ground: Ground,
    total: Float[np.ndarray, "states width"],
    products: Float[np.ndarray, "states width width"],
) -> None:
    """Add Σ c x and Σ c x xᵀ of whole rows; of the products only one half is multiplied."""
    upper = np.triu_indices(rows.shape[1])
    for start in range(0, len(which), AT_ONCE):
        some = which[start : start + AT_ONCE]
        values, shares = rows[some] - ground.centre, chances[some].T
        total += shares @ values
        halves = shares @ (values[:, upper[0]] * values[:, upper[1]])
        products[:, upper[0], upper[1]] += halves
        beside = upper[0] != upper[1]
        products[:, upper[1][beside], upper[0][beside]] += halves[:, beside]


def no_narrower(covariance: Square, ground: Ground, floor: float) -> Square:
    """The covariance, or the likeliest that is in no direction narrower than the floor.

    In numbers of spread 1 that is to raise its small eigenvalues.
    """
    scale = np.outer(ground.spread, ground.spread)
    sizes, directions = np.linalg.eigh(covariance / scale)
    if sizes[0] >= floor:
        return covariance
    return scale * ((directions * np.maximum(sizes, floor)) @ directions.T)
