"""Normal distributions with all covariances.

Counts, as a Poisson distribution has them.

Normal distributions whose numbers do not depend on one another, given the state.

States that each show one of several things: mixtures of normal distributions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from .compiled import loops
from .emissions import Chances, Emission, Ground, Moments, Rows, filled, weighed
from .inference import add
from .initialise import groups_of


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
        loops("emissions").log_factorials(np.ascontiguousarray(rows), factorials)
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
        found: np.ndarray = loops("emissions").counted_quantiles(
            np.ascontiguousarray(chances), self.rate, levels
        )
        return found


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
        found: np.ndarray = loops("emissions").normal_quantiles(
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
    loops("emissions").diagonal(np.ascontiguousarray(rows), *by_number, found)
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
