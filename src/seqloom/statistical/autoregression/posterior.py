"""Posterior of VAR coefficients and their samples, for prediction intervals that allow for it.

With a flat prior (Zellner, 1971), n rows X of k columns tell of the noise and the coefficients

    Σ ~ inverse Wishart with n - k degrees of freedom around S = Σ e eᵀ / (n - k)
    β ~ N(β̂, (XᵀX)⁻¹ ⊗ Σ)     given Σ

A forecast of one step is then Student's, √(1 + xᵀ(XᵀX)⁻¹x) times as wide. For several steps there
is no formula: coefficients are sampled, and the forecast is a mixture with one component for each
sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
from jaxtyping import Float

from ...prediction import LEVELS
from .simulate import ARProcess, LagState, Values, integrate

SAMPLES = 200  # of the coefficients, an even number
POINTS = 8  # of each component, by which quantiles of the mixture are found
SURE = 1e9  # degrees of freedom where there is no uncertainty


@dataclass(frozen=True)
class CoefficientPosterior:
    """The spread of the posterior: a root of (XᵀX)⁻¹, and the degrees of freedom."""

    root: Float[np.ndarray, "columns columns"]
    freedom: float

    @classmethod
    def certain(cls, columns: int) -> "CoefficientPosterior":
        """Without uncertainty: before training."""
        return cls(np.zeros((columns, columns)), SURE)

    @classmethod
    def of(
        cls, products: Float[np.ndarray, "columns columns"], count: int, freedom: float
    ) -> "CoefficientPosterior":
        """From XᵀX, penalties included, of so many rows; columns of zeros have no uncertainty.

        The root comes from eigenvalues of the correlation matrix, and not from a Cholesky factor:
        collinear columns have eigenvalues of 0, which are left out.
        """
        sizes = np.sqrt(np.diag(products))
        sizes[sizes == 0] = 1
        values, vectors = np.linalg.eigh(products / np.outer(sizes, sizes))
        real = values > 1e-12 * values.max(initial=0)
        stretch = np.where(real, 1 / np.sqrt(np.where(real, values, 1)), 0)
        return cls(vectors * stretch / sizes[:, None], max(count - freedom, 1.0))


@dataclass(frozen=True)
class CoefficientSamples:
    """SAMPLES draws from the posterior: lag coefficients, exogenous coefficients, noise."""

    coefficients: Float[np.ndarray, "draws order width width"]
    exogenous: Float[np.ndarray, "draws width inputs"]
    noise: Float[np.ndarray, "draws width width"]

    @classmethod
    def sample(
        cls,
        process: ARProcess,
        exogenous: Float[np.ndarray, "width inputs"],
        posterior: CoefficientPosterior,
        lags: Sequence[int],
    ) -> "CoefficientSamples":
        """Antithetic samples: in pairs opposite each other, so that their mean is the estimate.

        The seed is fixed, so that a model always forecasts the same. `lags` are those of the
        differences that were taken: coefficients are sampled for the differences, and integrated.
        """
        rng, width, inputs = np.random.default_rng(0), process.width, exogenous.shape[1]
        half = SAMPLES // 2
        roots = np.linalg.cholesky(process.noise) @ _scales(half, width, posterior.freedom, rng)
        normal = rng.standard_normal((half, len(posterior.root), width))
        off = posterior.root @ normal @ np.swapaxes(roots, 1, 2)
        off, roots = np.concatenate([off, -off]), np.concatenate([roots, roots])
        lagged = off[:, inputs:].reshape(SAMPLES, -1, width, width).swapaxes(2, 3)
        nothing = np.zeros((len(process.coefficients) - sum(lags), width, width))
        start = integrate(nothing, lags)
        moved = np.zeros((SAMPLES, *start.shape))
        for number, few in enumerate(lagged):
            nothing[: len(few)] = few
            moved[number] = integrate(nothing, lags) - start
        noise = roots @ np.swapaxes(roots, 1, 2)
        shifted = exogenous + np.swapaxes(off[:, :inputs], 1, 2)
        return cls(process.coefficients + moved, shifted, noise)

    def forecast(
        self, recent: Float[np.ndarray, " state"], rows: Float[np.ndarray, "time inputs"]
    ) -> tuple[Float[np.ndarray, "draws time width"], Float[np.ndarray, "draws time width"]]:
        """Means and variances of the steps that follow a known lag state, under each sample."""
        draws, order, width = self.coefficients.shape[:3]
        flat = np.swapaxes(self.coefficients, 1, 2).reshape(draws, width, order * width)
        shifts = np.einsum("dwi,ti->tdw", self.exogenous, rows)
        state = np.tile(recent, (draws, 1))
        # Impulse responses Ψ_j (Ψ₀ = 1): the variance h steps ahead is Σ_{j<h} Ψ_j Σ Ψ_jᵀ. They
        # follow the same recursion as the mean, started from one step's noise.
        responses = np.zeros((draws, order * width, width))
        means, variances = np.zeros((2, draws, len(rows), width))
        total = np.zeros((draws, width, width))
        step = np.broadcast_to(np.eye(width), (draws, width, width))
        for t, shift in enumerate(shifts):
            means[:, t] = shift + (flat @ state[..., None])[..., 0]
            state = np.concatenate([means[:, t], state], axis=1)[:, : order * width]
            total = total + step @ self.noise @ np.swapaxes(step, 1, 2)
            variances[:, t] = np.diagonal(total, axis1=1, axis2=2)
            responses = np.concatenate([step, responses], axis=1)[:, : order * width]
            step = flat @ responses
        return means, variances

    def log_densities(
        self, rows: Values, exogenous: Float[np.ndarray, "time inputs"], start: int
    ) -> Float[np.ndarray, " draws"]:
        """Log-density of the rows from `start` on given those before; nothing may be missing."""
        order = self.coefficients.shape[1]
        errors = rows[start:] - np.einsum("dwi,ti->dtw", self.exogenous, exogenous[start:])
        for k in range(1, order + 1):
            before = rows[start - k : len(rows) - k]
            errors = errors - before @ np.swapaxes(self.coefficients[:, k - 1], 1, 2)
        root = np.linalg.cholesky(self.noise)
        scaled = np.linalg.solve(root, np.swapaxes(errors, 1, 2))
        log_dets = 2 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)
        each = log_dets + errors.shape[2] * np.log(2 * np.pi)
        found: np.ndarray = -0.5 * (errors.shape[1] * each + (scaled**2).sum((1, 2)))
        return found

    def log_densities_observed(
        self, recent: Float[np.ndarray, " state"], rows: Values, exogenous: np.ndarray
    ) -> Float[np.ndarray, " draws"]:
        """Log-density of the observed values of rows after a known lag state; NaN is missing."""
        observed = np.flatnonzero(~np.isnan(rows).ravel())
        if not len(observed):
            return np.zeros(len(self.coefficients))
        means, draws = self.forecast(recent, exogenous)[0], len(self.coefficients)
        errors = (rows - means).reshape(draws, -1)[:, observed]
        joint = self._joint_covariances(len(rows))[:, observed[:, None], observed]
        root = np.linalg.cholesky(joint)
        scaled = np.linalg.solve(root, errors[..., None])[..., 0]
        log_dets = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(1)
        constant = len(observed) * np.log(2 * np.pi)
        found: np.ndarray = -log_dets - 0.5 * ((scaled**2).sum(1) + constant)
        return found

    def _joint_covariances(self, steps: int) -> Float[np.ndarray, "draws values values"]:
        """The joint covariance of all values of so many rows, under each sample.

        Values are L e with L the block triangle of impulse responses, so the covariance is L Σ Lᵀ.
        """
        draws, order, width = self.coefficients.shape[:3]
        responses = [np.broadcast_to(np.eye(width), (draws, width, width))]
        for step in range(1, steps):
            last = range(1, min(step, order) + 1)
            terms = (self.coefficients[:, k - 1] @ responses[step - k] for k in last)
            responses.append(sum(terms, start=0 * responses[0]))
        factor = np.zeros((draws, steps * width, steps * width))
        root = np.linalg.cholesky(self.noise)
        for begin in range(steps):
            for step in range(steps - begin):
                row, column = (begin + step) * width, begin * width
                factor[:, row : row + width, column : column + width] = responses[step] @ root
        return factor @ np.swapaxes(factor, 1, 2)

    def sample_paths(
        self, state: LagState, rows: Float[np.ndarray, "time inputs"], samples: int, rng: Any
    ) -> Float[np.ndarray, "samples time width"]:
        """Sample paths, each under one of the samples of coefficients, in turn."""
        turns = np.arange(samples) % len(self.coefficients)
        found = np.zeros((samples, len(rows), self.noise.shape[1]))
        for number in np.unique(turns).tolist():
            process, exogenous = self.one(number)
            mine = turns == number
            shifts = rows @ exogenous.T
            found[mine] = process.sample_paths(state, shifts, int(mine.sum()), rng)
        return found

    def one(self, number: int) -> tuple[ARProcess, Float[np.ndarray, "width inputs"]]:
        """The process of one sample, and its exogenous coefficients."""
        return ARProcess(self.coefficients[number], self.noise[number]), self.exogenous[number]


def mixture_quantiles(
    means: Float[np.ndarray, "draws time width"], deviations: Float[np.ndarray, "draws time width"]
) -> Float[np.ndarray, "time width levels"]:
    """The quantiles of an equal mixture of Gaussians.

    Each component stands for a few points, and the quantiles are those of all points. The points
    are stratified over all components together: where all components are the same, no two points
    are, and together they are evenly spread.
    """
    normal = _points(len(means))[..., None, None]
    points = (means + normal * deviations).reshape(-1, *means.shape[1:])
    return np.moveaxis(np.quantile(points, LEVELS, axis=0, method="hazen"), 0, -1)


def log_mean_exp(logs: Float[np.ndarray, " draws"]) -> float:
    """log of the mean of exp: the log-density of an equal mixture."""
    most = logs.max()
    return float(most + np.log(np.exp(logs - most).mean()))


@cache
def _points(draws: int) -> Float[np.ndarray, "points draws"]:
    """Points of N(0, 1), a few for each sample, all different."""
    turn = np.random.default_rng(0).permutation(draws)
    levels = (np.arange(POINTS)[:, None] + (turn + 0.5) / draws) / POINTS
    return np.vectorize(NormalDist().inv_cdf)(levels)


def _scales(
    count: int, width: int, freedom: float, rng: np.random.Generator
) -> Float[np.ndarray, "draws width width"]:
    """Roots of inverse Wishart matrices around the identity, by Bartlett's decomposition (1933)."""
    lower = np.zeros((count, width, width))
    for i in range(width):
        left = max(freedom - i, 1.0)
        lower[:, i, i] = np.sqrt(rng.chisquare(left, count) / freedom)
        lower[:, i, :i] = rng.standard_normal((count, i)) / np.sqrt(freedom)
    found: np.ndarray = np.swapaxes(np.linalg.inv(lower), 1, 2)
    return found
