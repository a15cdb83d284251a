"""Vector autoregressive process with Gaussian noise: forecasts, likelihood, sample paths.

    x_t = s_t + A₁ x_{t-1} + … + A_p x_{t-p} + e_t,   e_t ~ N(0, Σ)

s_t is what exogenous regressors add. The lag state z is the last p rows, the newest first, of which
some values may not have been observed: z ~ N(m, P). They are conditioned on all that was, as in a
Kalman filter (Kalman, 1960), which is exact.

`difference` takes differences y_t = x_t - x_{t-d}, and `integrate` undoes them: where y has the lag
polynomial A(B) = 1 - A₁ B - … - A_p Bᵖ, with B the backshift operator, x has A(B) (1 - B^d).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

DOUBLINGS = 60  # of the time over which noise is summed up
STEADY = 1 - 1e-6  # from this spectral radius on there is no stationary distribution

Row = Float[np.ndarray, " width"]
Values = Float[np.ndarray, "time width"]
Square = Float[np.ndarray, "width width"]


@dataclass(frozen=True)
class LagState:
    """Distribution of the last p rows: mean and covariance, None where all are observed."""

    mean: Float[np.ndarray, " state"]
    covariance: Float[np.ndarray, "state state"] | None


@dataclass(frozen=True)
class ARProcess:
    """The lag coefficients A₁ … A_p and the covariance Σ of the noise."""

    coefficients: Float[np.ndarray, "order width width"]
    noise: Square

    @property
    def order(self) -> int:
        """How many lags there are."""
        return len(self.coefficients)

    @property
    def width(self) -> int:
        """The dimension of a row."""
        return len(self.noise)

    @cached_property
    def flat(self) -> Float[np.ndarray, "width state"]:
        """All coefficients side by side: x_t = s_t + flat z + e_t."""
        return np.concatenate([*self.coefficients], axis=1)

    def radius(self) -> float:
        """Spectral radius of the companion matrix: stable below 1, explosive above."""
        return float(np.abs(np.linalg.eigvals(self._companion())).max())

    def first(self, mean: Row, variance: Row) -> LagState:
        """The lag state before the first step: the stationary distribution.

        Where there is none, the values are independent, with these variances.
        """
        every = np.tile(mean, self.order)
        if self.radius() >= STEADY:
            return LagState(every, np.diag(np.tile(variance, self.order)))
        companion, total = self._companion(), np.zeros((len(every), len(every)))
        total[: self.width, : self.width] = self.noise
        # P = Σ_j Fʲ Q (Fʲ)ᵀ (discrete Lyapunov equation), of twice as many j each time.
        for _ in range(DOUBLINGS):
            total = total + companion @ total @ companion.T
            companion = companion @ companion
            if np.abs(companion).max(initial=0) < 1e-12:
                break
        return LagState(every, total)

    def known(self, rows: Values) -> LagState:
        """The lag state after p rows that are all observed."""
        return LagState(rows[::-1].ravel(), None)

    def next(self, state: LagState, shift: Row) -> tuple[Row, Square, LagState]:
        """Mean and covariance of the next row, and the lag state with it before it is observed."""
        width = self.width
        mean = shift + self.flat @ state.mean
        after = np.concatenate([mean, state.mean[:-width]])
        covariance = np.zeros((len(after), len(after)))
        if state.covariance is None:
            covariance[:width, :width] = self.noise
            return mean, self.noise, LagState(after, covariance)
        # F P Fᵀ + Q without the companion matrix F: its lower rows only move values down.
        shared = self.flat @ state.covariance
        covariance[:width, :width] = shared @ self.flat.T + self.noise
        covariance[:width, width:] = shared[:, :-width]
        covariance[width:, :width] = covariance[:width, width:].T
        covariance[width:, width:] = state.covariance[:-width, :-width]
        return mean, covariance[:width, :width], LagState(after, covariance)

    def update(self, state: LagState, row: Row) -> LagState:
        """Condition the lag state on the observed values of its newest row; NaN is missing."""
        (observed,) = np.nonzero(~np.isnan(row))
        if state.covariance is None or not len(observed):
            return state
        shared = state.covariance[:, observed]
        gain = np.linalg.solve(shared[observed], shared.T).T
        mean = state.mean + gain @ (row[observed] - state.mean[observed])
        covariance = state.covariance - gain @ shared.T
        # What was observed is known exactly: rounding would keep the state from ever being known.
        mean[observed], covariance[observed], covariance[:, observed] = row[observed], 0, 0
        is_uncertain = covariance.any()
        return LagState(mean, (covariance + covariance.T) / 2 if is_uncertain else None)

    def forecast(self, state: LagState, shifts: Values) -> tuple[Values, Values]:
        """Means and variances of the steps that follow."""
        means, variances = np.zeros_like(shifts), np.zeros_like(shifts)
        for t, shift in enumerate(shifts):
            means[t], covariance, state = self.next(state, shift)
            variances[t] = np.diag(covariance)
        return means, variances

    def sample_paths(
        self, state: LagState, shifts: Values, samples: int, rng: np.random.Generator
    ) -> Float[np.ndarray, "samples time width"]:
        """Simulate the steps that follow, from samples of what is missing in the lag state."""
        recent = np.tile(state.mean, (samples, 1))
        if state.covariance is not None:
            values, vectors = np.linalg.eigh(state.covariance)
            root = vectors * np.sqrt(np.maximum(values, 0))
            recent = recent + rng.standard_normal(recent.shape) @ root.T
        noise = rng.standard_normal((samples, *shifts.shape)) @ np.linalg.cholesky(self.noise).T
        found = np.zeros_like(noise)
        for t, shift in enumerate(shifts):
            found[:, t] = shift + recent @ self.flat.T + noise[:, t]
            recent = np.concatenate([found[:, t], recent], axis=1)[:, : recent.shape[1]]
        return found

    def filter(
        self, rows: Values, shifts: Values, start: int, first: LagState
    ) -> tuple[float, LagState]:
        """Log-density of the rows from `start` on given those before, and the lag state after all.

        Rows whose lags are all observed are scored together, without a filter. Only where something
        is missing the Kalman recursion runs, from the last position where nothing was.
        """
        full = ~np.isnan(rows).any(1)
        is_ready = _run_lengths(full) >= self.order  # before each row, and after the last
        easy = is_ready[:-1] & full
        total = self._log_density(
            rows, shifts, np.flatnonzero(easy & (np.arange(len(rows)) >= start))
        )
        state = first
        for begin, end in _stretches(~easy):
            if end <= start and end < len(rows):
                continue  # its result is not needed: after it the lags are observed again
            state = self._before(rows, begin, first)
            for t in range(begin, end):
                mean, covariance, state = self.next(state, shifts[t])
                if t >= start:
                    total += log_density(rows[t] - mean, covariance)
                state = self.update(state, rows[t])
        if is_ready[-1] and len(rows):
            state = self._before(rows, len(rows), first)
        return total, state

    def _before(self, rows: Values, position: int, first: LagState) -> LagState:
        """The lag state at a position before which all lags are observed, or at the beginning."""
        return first if position == 0 else self.known(rows[position - self.order : position])

    def _log_density(self, rows: Values, shifts: Values, positions: np.ndarray) -> float:
        """Log-density of rows whose lags are all observed."""
        if not len(positions):
            return 0.0
        errors = rows[positions] - shifts[positions]
        for k, matrix in enumerate(self.coefficients, start=1):
            errors = errors - rows[positions - k] @ matrix.T
        root = np.linalg.cholesky(self.noise)
        scaled = np.linalg.solve(root, errors.T)
        log_det = 2 * np.log(np.diag(root)).sum() + self.width * np.log(2 * np.pi)
        return float(-0.5 * (len(positions) * log_det + (scaled**2).sum()))

    def _companion(self) -> Float[np.ndarray, "state state"]:
        """The companion matrix F, by which the lag state moves on: z' = F z."""
        size = self.order * self.width
        found = np.eye(size, k=-self.width)
        found[: self.width] = self.flat
        return found


def log_density(error: Row, covariance: Square) -> float:
    """Log-density of N(0, covariance), of the observed values; NaN is missing."""
    (observed,) = np.nonzero(~np.isnan(error))
    if not len(observed):
        return 0.0
    root = np.linalg.cholesky(covariance[np.ix_(observed, observed)])
    scaled = np.linalg.solve(root, error[observed])
    half_log_det = np.log(np.diag(root)).sum() + len(observed) / 2 * np.log(2 * np.pi)
    return float(-half_log_det - 0.5 * (scaled**2).sum())


def _run_lengths(full: Bool[np.ndarray, " time"]) -> np.ndarray:
    """Before each position and after the last, how many complete rows end there."""
    positions = np.arange(1, len(full) + 1)
    last_gap = np.maximum.accumulate(np.where(full, 0, positions)) if len(full) else positions
    return np.concatenate([[0], positions - last_gap])


def _stretches(chosen: Bool[np.ndarray, " time"]) -> list[tuple[int, int]]:
    """Where stretches of chosen positions begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def difference(
    values: Float[np.ndarray, "time width"], lags: Sequence[int]
) -> Float[np.ndarray, "time width"]:
    """Differences over these lags, one after the other; missing where there was nothing yet."""
    for steps in lags:
        before = np.full_like(values, np.nan)
        before[steps:] = values[:-steps]
        values = values - before
    return values


def integrate(
    coefficients: Float[np.ndarray, "order width width"], lags: Sequence[int]
) -> Float[np.ndarray, "longer width width"]:
    """The coefficients of a series whose differences have these: A(B) Π_d (1 - B^d)."""
    whole = np.concatenate([np.eye(coefficients.shape[1])[None], -coefficients])
    for steps in lags:
        longer = np.zeros((len(whole) + steps, *whole.shape[1:]))
        longer[: len(whole)] += whole
        longer[steps:] -= whole
        whole = longer
    return -whole[1:]
