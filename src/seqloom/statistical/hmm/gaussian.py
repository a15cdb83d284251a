"""Emission distributions of HMMs: Gaussian (diagonal and full covariance), mixtures, and Poisson.

The fast path of `emissions_reference`, where the densities are written down row by row. Each class
has the E-step (`statistics`) and the M-step (`m_step`) of Baum-Welch for its parameters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from .compiled import kernels
from .emissions import (
    ColumnScale,
    Emission,
    Probabilities,
    Rows,
    SufficientStatistics,
    weighted_sums,
    zero_filled,
)
from .inference import logsumexp
from .initialise import kmeans


@dataclass(frozen=True)
class Poisson(Emission):
    """Independent Poisson distributions of counts, one rate for each state and column."""

    is_count = True

    rate: Float[np.ndarray, "states width"]

    @classmethod
    def blank(cls, states: int, components: int, scale: ColumnScale) -> "Poisson":
        del components
        return cls(np.tile(np.maximum(scale.mean, 1e-3), (states, 1)))

    def log_probs(self, rows: Rows) -> Probabilities:
        values, observed = zero_filled(rows)
        total = self.rate.sum(1) if observed is None else observed @ self.rate.T
        factorials = np.empty(len(rows))
        kernels("emissions").log_factorials(np.ascontiguousarray(rows), factorials)
        found: np.ndarray = values @ np.log(self.rate).T - total - factorials[:, None]
        return found

    def statistics(
        self, rows: Rows, probabilities: Probabilities, scale: ColumnScale
    ) -> SufficientStatistics:
        return SufficientStatistics(weighted_sums(probabilities, *zero_filled(rows)))

    def m_step(
        self, statistics: SufficientStatistics, scale: ColumnScale, floor: float
    ) -> "Poisson":
        count, total = statistics.sums
        rate = total / np.where(count > 0, count, 1.0)
        # A rate of 0 would make every count above 0 impossible in that state for ever.
        least = floor * np.minimum(1.0, np.maximum(scale.mean, 1e-3))
        return Poisson(np.where(count > 0, np.maximum(rate, least), self.rate))

    def means(self) -> Float[np.ndarray, "states width"]:
        return self.rate

    def deviations(self) -> Float[np.ndarray, "states width"]:
        return np.sqrt(self.rate)

    def sample(self, states: Int[np.ndarray, " rows"], rng: np.random.Generator) -> Rows:
        return rng.poisson(self.rate[states]).astype(np.float64)

    def quantiles(
        self, probabilities: Probabilities, levels: Float[np.ndarray, " levels"]
    ) -> Float[np.ndarray, "rows width levels"]:
        found: np.ndarray = kernels("emissions").poisson_quantiles(
            np.ascontiguousarray(probabilities), self.rate, levels
        )
        return found


# Up to this squared distance of means from their middle, in variances, to expand it is exact.
NEAR = 1e6
WIDE = 4  # with fewer columns the kernel is faster than matrix products


@dataclass(frozen=True)
class DiagonalGaussian(Emission):
    """Gaussian with a diagonal covariance: a mean and a variance for each state and column."""

    mean: Float[np.ndarray, "states width"]
    variance: Float[np.ndarray, "states width"]

    @classmethod
    def blank(cls, states: int, components: int, scale: ColumnScale) -> "DiagonalGaussian":
        del components
        return cls(np.tile(scale.mean, (states, 1)), np.tile(scale.deviation**2, (states, 1)))

    def log_probs(self, rows: Rows) -> Probabilities:
        return diagonal_log_densities(rows, self.mean, self.variance)

    def statistics(
        self, rows: Rows, probabilities: Probabilities, scale: ColumnScale
    ) -> SufficientStatistics:
        return SufficientStatistics(diagonal_sums(rows, probabilities, scale))

    def m_step(
        self, statistics: SufficientStatistics, scale: ColumnScale, floor: float
    ) -> "DiagonalGaussian":
        count, total, squares = statistics.sums
        found = mean_and_variance(count, total, squares, scale, floor)
        is_visited = count > 0
        return DiagonalGaussian(
            np.where(is_visited, found[0], self.mean), np.where(is_visited, found[1], self.variance)
        )

    def means(self) -> Float[np.ndarray, "states width"]:
        return self.mean

    def deviations(self) -> Float[np.ndarray, "states width"]:
        return np.sqrt(self.variance)

    def sample(self, states: Int[np.ndarray, " rows"], rng: np.random.Generator) -> Rows:
        noise = rng.normal(size=(len(states), self.mean.shape[1]))
        found: np.ndarray = self.mean[states] + noise * np.sqrt(self.variance[states])
        return found

    def quantiles(
        self, probabilities: Probabilities, levels: Float[np.ndarray, " levels"]
    ) -> Float[np.ndarray, "rows width levels"]:
        found: np.ndarray = kernels("emissions").normal_quantiles(
            np.ascontiguousarray(probabilities), self.mean, np.sqrt(self.variance), levels
        )
        return found


def diagonal_log_densities(
    rows: Rows, mean: Float[np.ndarray, "states width"], variance: Float[np.ndarray, "states width"]
) -> Probabilities:
    """Log-density of each row under each of several Gaussians with diagonal covariance."""
    heights = -0.5 * np.log(2 * np.pi * variance)
    middle = mean.mean(0)
    # Expanded, Σ (x - m)² / 2v = Σ x² / 2v - x m / v + m² / 2v is two matrix products. It cancels
    # badly where means lie many deviations apart; there, and with missing values, the kernel
    # subtracts first.
    slopes = (mean - middle) / variance
    is_near = bool((np.abs(slopes * (mean - middle)) < NEAR).all())
    if rows.shape[1] >= WIDE and is_near and not np.isnan(rows).any():
        values = rows - middle
        found: np.ndarray = values @ slopes.T
        found += (heights - 0.5 * slopes * (mean - middle)).sum(1)
        np.multiply(values, values, out=values)
        found -= values @ (0.5 / variance).T
        return found
    found = np.empty((len(rows), len(mean)))
    by_column = [np.ascontiguousarray(a.T) for a in (mean, 0.5 / variance, heights)]
    kernels("emissions").diagonal_log_densities(np.ascontiguousarray(rows), *by_column, found)
    return found


def diagonal_sums(
    rows: Rows, probabilities: Probabilities, scale: ColumnScale
) -> tuple[Float[np.ndarray, "states width"], ...]:
    """Σ c, Σ c x and Σ c x² of each state and column, with x less the mean of its column."""
    values, observed = zero_filled(rows - scale.mean)
    return *weighted_sums(probabilities, values, observed), probabilities.T @ values**2


def mean_and_variance(
    count: Float[np.ndarray, "states width"],
    total: Float[np.ndarray, "states width"],
    squares: Float[np.ndarray, "states width"],
    scale: ColumnScale,
    floor: float,
) -> tuple[Float[np.ndarray, "states width"], Float[np.ndarray, "states width"]]:
    """Maximum likelihood mean and variance, given that no variance is below the floor."""
    often = np.where(count > 0, count, 1.0)
    mean = total / often
    variance = squares / often - mean**2
    return mean + scale.mean, np.maximum(variance, floor * scale.deviation**2)


AT_ONCE = 4096  # rows of a block, so that temporary arrays stay in the processor's cache
Square = Float[np.ndarray, "width width"]


@dataclass(frozen=True)
class FullGaussian(Emission):
    """Multivariate Gaussian: a mean and a full covariance matrix for each state."""

    mean: Float[np.ndarray, "states width"]
    covariance: Float[np.ndarray, "states width width"]

    @classmethod
    def blank(cls, states: int, components: int, scale: ColumnScale) -> "FullGaussian":
        del components
        whole = np.tile(np.diag(scale.deviation**2), (states, 1, 1))
        return cls(np.tile(scale.mean, (states, 1)), whole)

    def log_probs(self, rows: Rows) -> Probabilities:
        if rows.shape[1] == 1:
            return diagonal_log_densities(rows, self.mean, self.covariance[:, 0])
        found = np.zeros((len(rows), len(self.mean)))
        for which, observed in missing_patterns(rows):
            if not observed.any():
                continue
            root = np.linalg.cholesky(self.covariance[:, observed][:, :, observed])
            whitening = np.linalg.inv(root)  # L⁻¹ (x - m) has variance 1 in all directions
            log_dets = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)
            heights = -0.5 * observed.sum() * np.log(2 * np.pi) - log_dets
            for start in range(0, len(which), AT_ONCE):
                some = which[start : start + AT_ONCE]
                values = rows[some][:, observed]
                for state, mean in enumerate(self.mean[:, observed]):
                    white = (values - mean) @ whitening[state].T
                    squares = np.einsum("td,td->t", white, white)
                    found[some, state] = heights[state] - 0.5 * squares
        return found

    def statistics(
        self, rows: Rows, probabilities: Probabilities, scale: ColumnScale
    ) -> SufficientStatistics:
        states, width = self.mean.shape
        if width == 1 and not np.isnan(rows).any():
            often, sums, squares = diagonal_sums(rows, probabilities, scale)
            return SufficientStatistics((often[:, 0], sums, squares[..., None]))
        count, total = probabilities.sum(0), np.zeros((states, width))
        products = np.zeros((states, width, width))
        for which, observed in missing_patterns(rows):
            if observed.all():
                add_products(rows, which, probabilities, scale, total, products)
                continue
            for state in range(states):
                weights = probabilities[which, state]
                values, uncertain = self._conditional(state, rows[which], observed)
                values -= scale.mean
                total[state] += weights @ values
                squares = (weights[:, None] * values).T @ values
                products[state] += squares + weights.sum() * uncertain
        return SufficientStatistics((count, total, products))

    def _conditional(
        self, state: int, rows: Rows, observed: Bool[np.ndarray, " width"]
    ) -> tuple[Rows, Square]:
        """Rows with the conditional mean of missing values, and the conditional covariance."""
        missing, mean, whole = ~observed, self.mean[state], self.covariance[state]
        values, uncertain = np.tile(mean, (len(rows), 1)), np.zeros_like(whole)
        values[:, observed] = rows[:, observed]
        slope = np.zeros((int(missing.sum()), 0))
        if observed.any():
            slope = np.linalg.solve(
                whole[np.ix_(observed, observed)], whole[np.ix_(observed, missing)]
            ).T
            values[:, missing] += (rows[:, observed] - mean[observed]) @ slope.T
        uncertain[np.ix_(missing, missing)] = (
            whole[np.ix_(missing, missing)] - slope @ whole[np.ix_(observed, missing)]
        )
        return values, uncertain

    def m_step(
        self, statistics: SufficientStatistics, scale: ColumnScale, floor: float
    ) -> "FullGaussian":
        count, total, products = statistics.sums
        mean, covariance = self.mean.copy(), self.covariance.copy()
        for state in np.flatnonzero(count > 0):
            offset = total[state] / count[state]
            inside = products[state] / count[state] - np.outer(offset, offset)
            mean[state] = offset + scale.mean
            covariance[state] = with_floor(inside, scale, floor)
        return FullGaussian(mean, covariance)

    def means(self) -> Float[np.ndarray, "states width"]:
        return self.mean

    def deviations(self) -> Float[np.ndarray, "states width"]:
        return np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))

    def sample(self, states: Int[np.ndarray, " rows"], rng: np.random.Generator) -> Rows:
        noise = rng.normal(size=(len(states), self.mean.shape[1]))
        found: np.ndarray = self.mean[states] + np.einsum(
            "tij,tj->ti", np.linalg.cholesky(self.covariance)[states], noise
        )
        return found

    def quantiles(
        self, probabilities: Probabilities, levels: Float[np.ndarray, " levels"]
    ) -> Float[np.ndarray, "rows width levels"]:
        marginal = DiagonalGaussian(self.mean, self.deviations() ** 2)
        return marginal.quantiles(probabilities, levels)


def missing_patterns(
    rows: Rows,
) -> Iterator[tuple[Int[np.ndarray, " some"], Bool[np.ndarray, " width"]]]:
    """Group rows by which columns are observed: a matrix is factorised once for each pattern."""
    observed = ~np.isnan(rows)
    if observed.all():
        yield np.arange(len(rows)), np.ones(rows.shape[1], dtype=bool)
        return
    patterns, which = np.unique(observed, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield np.flatnonzero(which.ravel() == number), pattern


def add_products(
    rows: Rows,
    which: Int[np.ndarray, " some"],
    probabilities: Probabilities,
    scale: ColumnScale,
    total: Float[np.ndarray, "states width"],
    products: Float[np.ndarray, "states width width"],
) -> None:
    """Add Σ c x and Σ c x xᵀ of complete rows.

    Products of columns do not depend on the state: they are made once, and summed for all states by
    one matrix product. As x xᵀ is symmetric, only its upper triangle is multiplied.
    """
    upper = np.triu_indices(rows.shape[1])
    for start in range(0, len(which), AT_ONCE):
        some = which[start : start + AT_ONCE]
        values, weights = rows[some] - scale.mean, probabilities[some].T
        total += weights @ values
        triangles = weights @ (values[:, upper[0]] * values[:, upper[1]])
        products[:, upper[0], upper[1]] += triangles
        off_diagonal = upper[0] != upper[1]
        products[:, upper[1][off_diagonal], upper[0][off_diagonal]] += triangles[:, off_diagonal]


def with_floor(covariance: Square, scale: ColumnScale, floor: float) -> Square:
    """The maximum likelihood covariance that has no variance below the floor in any direction.

    With columns scaled to deviation 1 that means to raise its small eigenvalues.
    """
    units = np.outer(scale.deviation, scale.deviation)
    variances, directions = np.linalg.eigh(covariance / units)
    if variances[0] >= floor:
        return covariance
    return units * ((directions * np.maximum(variances, floor)) @ directions.T)


Each = Float[np.ndarray, "states components width"]


@dataclass(frozen=True)
class GaussianMixture(Emission):
    """Gaussian mixture (diagonal) in each state: weights (`share`), means and variances."""

    share: Float[np.ndarray, "states components"]
    mean: Each
    variance: Each

    @classmethod
    def blank(cls, states: int, components: int, scale: ColumnScale) -> "GaussianMixture":
        shape = (states, components, 1)
        share = np.full(shape[:2], 1 / components)
        return cls(share, np.tile(scale.mean, shape), np.tile(scale.deviation**2, shape))

    def log_probs(self, rows: Rows) -> Probabilities:
        return logsumexp(self._component_log_probs(rows))

    def _component_log_probs(self, rows: Rows) -> Float[np.ndarray, "rows states components"]:
        """log w_k p_k(x) of each component."""
        width = self.mean.shape[-1]
        each = diagonal_log_densities(
            rows, self.mean.reshape(-1, width), self.variance.reshape(-1, width)
        )
        with np.errstate(divide="ignore"):
            return each.reshape(len(rows), *self.share.shape) + np.log(self.share)

    def statistics(
        self, rows: Rows, probabilities: Probabilities, scale: ColumnScale
    ) -> SufficientStatistics:
        scores = self._component_log_probs(rows)
        # Responsibilities: p(state | series) p(component | state, row).
        parts = np.exp(scores - logsumexp(scores)[..., None]) * probabilities[..., None]
        flat = parts.reshape(len(rows), -1)
        return SufficientStatistics((flat.sum(0), *diagonal_sums(rows, flat, scale)))

    def m_step(
        self, statistics: SufficientStatistics, scale: ColumnScale, floor: float
    ) -> "GaussianMixture":
        often, count, total, squares = statistics.sums
        found = mean_and_variance(count, total, squares, scale, floor)
        is_visited = (count > 0).reshape(self.mean.shape)
        parts = often.reshape(self.share.shape)
        whole = parts.sum(1, keepdims=True)
        share = np.where(whole > 0, parts / np.where(whole > 0, whole, 1.0), self.share)
        pairs = zip(found, (self.mean, self.variance), strict=True)
        return GaussianMixture(
            share,
            *(np.where(is_visited, new.reshape(is_visited.shape), old) for new, old in pairs),
        )

    def fit_groups(
        self,
        rows: Rows,
        groups: Int[np.ndarray, " rows"],
        scale: ColumnScale,
        floor: float,
        rng: np.random.Generator,
    ) -> "GaussianMixture":
        """Fit each state to one group of rows, and each component to a cluster within it."""
        states, components = self.share.shape
        parts = np.zeros(len(rows), dtype=np.int64)
        for state in range(states):
            mine = groups == state
            if mine.any():
                parts[mine] = kmeans(rows[mine], components, scale, rng)
        flat = np.eye(states * components)[groups * components + parts]
        statistics = SufficientStatistics((flat.sum(0), *diagonal_sums(rows, flat, scale)))
        return self.m_step(statistics, scale, floor)

    def means(self) -> Float[np.ndarray, "states width"]:
        found: np.ndarray = (self.share[..., None] * self.mean).sum(1)
        return found

    def deviations(self) -> Float[np.ndarray, "states width"]:
        errors = self.mean - self.means()[:, None]
        found: np.ndarray = (self.share[..., None] * (self.variance + errors**2)).sum(1)
        return np.sqrt(found)

    def sample(self, states: Int[np.ndarray, " rows"], rng: np.random.Generator) -> Rows:
        cumulative = np.cumsum(self.share[states], axis=1)
        which = (rng.random((len(states), 1)) * cumulative[:, -1:] >= cumulative).sum(1)
        return self._flat().sample(states * self.share.shape[1] + which, rng)

    def quantiles(
        self, probabilities: Probabilities, levels: Float[np.ndarray, " levels"]
    ) -> Float[np.ndarray, "rows width levels"]:
        weights = (probabilities[..., None] * self.share).reshape(len(probabilities), -1)
        return self._flat().quantiles(weights, levels)

    def _flat(self) -> DiagonalGaussian:
        """All components of all states side by side."""
        return DiagonalGaussian(*(a.reshape(-1, a.shape[-1]) for a in (self.mean, self.variance)))
