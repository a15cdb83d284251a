"""Baseline forecasts: naive (last value), seasonal naive and drift, as random walks."""

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float, Int

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, Weights
from ..prediction import NORMAL_QUANTILES, QuantileForecast
from ..signature import Form, Series, Signature
from .series import horizons, log_normal, nothing_observed, observed_series, past_of

NAMES = ("mean", "spread", "noise")
SLOPE_PRECISION = 1e-6  # prior precision of the slope, in steps: a nearly flat prior
MIN_VARIANCE = 1e-24  # of constant series, so that their density is finite

Values = Float[np.ndarray, "batch width"]


class RandomWalk(Model):
    """Random walks: each variable by itself, its last value plus Gaussian noise.

    x_t = E[x_t | past] + e_t,   e_t ~ N(0, σ²)

    A missing value is replaced by its own forecast, with its variance. Before the first
    observation a value has the distribution of training values, N(mean, variance).
    """

    forms = frozenset({Form.FORECAST})
    source_spaces = target_spaces = frozenset({Series})
    is_baseline = is_joint = True
    learns = "closed form (mean squared errors)"

    def __init__(self, signature: Signature) -> None:
        super().__init__(signature)
        if not isinstance(signature.target, Series):
            raise TypeError("random walks forecast time series")
        self.width, self.period = signature.target.width, max(1, signature.target.period)
        self._mean, self._variance = np.zeros(self.width), np.ones(self.width)
        self._noise = np.ones((2, self.width))  # variances of a step, and of a seasonal step

    @abstractmethod
    def _begin(self, rows: int) -> State:
        """The initial state of this many series."""

    @abstractmethod
    def _next(self, state: State) -> tuple[Values, Values]:
        """Mean and variance of the next step."""

    @abstractmethod
    def _read(self, row: Values, state: State) -> State:
        """The state after observing the next step; NaN is a missing value."""

    def _errors(
        self, values: Float[np.ndarray, " time"]
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Sum and number of squared one-step errors; the same of seasonal steps.

        An error over a gap of k steps has k times the variance, and is divided by k.
        """
        phases = [_squares(values[phase :: self.period]) for phase in range(self.period)]
        total, count = np.sum(phases, axis=0)
        return _squares(values), (float(total), float(count))

    def statistics(self, batch: Batch) -> Float[np.ndarray, "7 width"]:
        """Sums for each variable: count, values, squares; errors and their counts."""
        sums = np.zeros((7, self.width))
        for values in observed_series(batch, self.width):
            is_observed = ~np.isnan(values)
            real = np.where(is_observed, values, 0)
            sums[:3] += is_observed.sum(0), real.sum(0), (real**2).sum(0)
            errors = [np.ravel(self._errors(column)) for column in values.T]
            sums[3:] += np.transpose(errors)
        return sums

    def update(self, statistics: Float[np.ndarray, "7 width"]) -> None:
        count, total, squares = statistics[:3]
        if not count.all():
            raise nothing_observed(int(np.flatnonzero(count == 0)[0]) + 1, self.width)
        self._mean = total / count
        self._variance = np.maximum(squares / count - self._mean**2, MIN_VARIANCE)
        # Without two values in a row, a step has the variance of all values.
        step = _mean_of(statistics[3], statistics[4], self._variance)
        season = _mean_of(statistics[5], statistics[6], step)
        self._noise = np.maximum(np.stack([step, season]), MIN_VARIANCE)

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        """Log-density of the future, as the sum of one-step log-densities."""
        values = Sequences.pad(observed_series(batch, self.width))
        lengths, state = values.lengths, self._begin(len(batch))
        starts, log_probs = lengths - batch.target.lengths, np.zeros(len(batch))
        for t in range(values.values.shape[1]):
            row = np.where(t < lengths[:, None], values.values[:, t], np.nan)
            counts = (t >= starts[:, None]) & ~np.isnan(row)
            if counts.any():
                mean, variance = self._next(state)
                density = log_normal(np.where(counts, row - mean, 0), variance)
                log_probs += np.where(counts, density, 0).sum(1)
            state = self._read(row, state)
        return log_probs

    def predict(self, source: Sequences, search: Search) -> Prediction:
        ahead = horizons(self.signature, source, search)
        states = self._after(past_of(source, ahead, self.width))
        means, variances = self._moments(states, int(ahead.max(initial=0)))
        paths = self._sample_paths(states, means.shape[1], search) if search.samples else None
        forecasts = []
        for i, steps in enumerate(ahead.tolist()):
            own_paths = None if paths is None else paths[i, :, :steps]
            deviation = np.sqrt(variances[i, :steps])
            forecasts.append(QuantileForecast.normal(means[i, :steps], deviation, own_paths))
        return Prediction.of_forecasts(forecasts, self._density_at_mean(states, means, ahead))

    def stepper(self) -> "RandomWalkStepper":
        """Streaming forecasts of the next step."""
        return RandomWalkStepper(self)

    def weights(self) -> Weights:
        return {"mean": self._mean, "spread": self._variance, "noise": self._noise}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        mine = self.weights()
        if weights.keys() != mine.keys() or any(weights[n].shape != mine[n].shape for n in mine):
            raise ModelError("M111", f"the weights do not fit series of {self.width} variables")
        self._mean, self._variance, self._noise = (np.array(weights[name]) for name in NAMES)

    def _after(self, pasts: Sequences) -> State:
        """The state after each past."""
        state = self._begin(len(pasts))
        for t in range(pasts.values.shape[1]):
            after = self._read(pasts.values[:, t], state)
            state = _where(t < pasts.lengths, after, state)
        return state

    def _moments(
        self, state: State, steps: int
    ) -> tuple[Float[np.ndarray, "batch time width"], Float[np.ndarray, "batch time width"]]:
        """Means and variances of the next steps, none of which is observed."""
        shape = (len(state[0]), steps, self.width)
        means, variances = np.zeros(shape), np.zeros(shape)
        for t in range(steps):
            means[:, t], variances[:, t] = self._next(state)
            state = self._skip(state)
        return means, variances

    def _skip(self, state: State) -> State:
        """The state after a step that is not observed."""
        return self._read(np.full((len(state[0]), self.width), np.nan), state)

    def _sample_paths(
        self, state: State, steps: int, search: Search
    ) -> Float[np.ndarray, "batch samples time width"]:
        """Sample paths: each step is sampled, then read as if observed."""
        random = np.random.default_rng(search.seed)
        rows, samples = len(state[0]), search.samples
        state = tuple(np.repeat(part, samples, axis=0) for part in state)
        paths = np.zeros((rows * samples, steps, self.width))
        for t in range(steps):
            mean, variance = self._next(state)
            paths[:, t] = mean + np.sqrt(variance) * random.standard_normal(mean.shape)
            state = self._read(paths[:, t], state)
        return paths.reshape(rows, samples, steps, self.width)

    def _density_at_mean(
        self,
        state: State,
        means: Float[np.ndarray, "batch time width"],
        ahead: Int[np.ndarray, " batch"],
    ) -> Float[np.ndarray, " batch"]:
        """Log-density of each forecast at its mean."""
        log_probs = np.zeros(len(means))
        for t in range(means.shape[1]):
            _, variance = self._next(state)
            density = log_normal(np.zeros_like(variance), variance).sum(1)
            log_probs += np.where(t < ahead, density, 0)
            state = self._read(means[:, t], state)
        return log_probs


class Naive(RandomWalk):
    """Naive forecast: repeats the last value (random walk).

    x_t = x_{t-1} + e_t,   so that x_{T+h} ~ N(x_T, h σ²)
    """

    def _begin(self, rows: int) -> State:
        return np.tile(self._mean, (rows, 1)), np.tile(self._variance, (rows, 1))

    def _next(self, state: State) -> tuple[Values, Values]:
        value, variance = state
        return value, variance + self._noise[0]

    def _read(self, row: Values, state: State) -> State:
        value, variance = self._next(state)
        missing = np.isnan(row)
        return np.where(missing, value, row), np.where(missing, variance, 0)


class SeasonalNaive(RandomWalk):
    """Seasonal naive forecast: repeats the value of one season ago.

    x_t = x_{t-m} + e_t,   so that x_{T+h} ~ N(x_{T+h-m⌈h/m⌉}, ⌈h/m⌉ σ²),   m being the period

    Each phase of the season is a random walk of its own. Without a season, or before the first is
    complete, it is the last value.
    """

    def _begin(self, rows: int) -> State:
        season = np.full((rows, self.period, self.width), np.nan)
        mean, variance = np.tile(self._mean, (rows, 1)), np.tile(self._variance, (rows, 1))
        # Values and variances of the last season, oldest first; mean and variance of the last step.
        return season, season, mean, variance

    def _next(self, state: State) -> tuple[Values, Values]:
        values, variances, last, variance = state
        is_first = np.isnan(values[:, 0])  # of its phase
        mean = np.where(is_first, last, values[:, 0])
        seasonal = variances[:, 0] + self._noise[1]
        return mean, np.where(is_first, variance + self._noise[0], seasonal)

    def _read(self, row: Values, state: State) -> State:
        values, variances, _, _ = state
        mean, variance = self._next(state)
        missing = np.isnan(row)
        value, variance = np.where(missing, mean, row), np.where(missing, variance, 0)
        values = np.concatenate([values[:, 1:], value[:, None]], axis=1)
        return (
            values,
            np.concatenate([variances[:, 1:], variance[:, None]], axis=1),
            value,
            variance,
        )


class Drift(RandomWalk):
    """Drift forecast: random walk with drift, the line through the first and the last value.

    x_t = x_{t-1} + d + e_t,   d' = (x_T - x_1) / (T - 1)
    x_{T+h} ~ N(x_T + h d', h σ² (1 + h / (T - 1)))

    Level and slope are estimated by a Kalman filter; the prior of the slope is nearly flat until
    two values were observed.
    """

    def _errors(
        self, values: Float[np.ndarray, " time"]
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Errors around the line of the series itself, which costs one degree of freedom."""
        squares, count = _squares(values)
        observed = np.flatnonzero(~np.isnan(values))
        if count < 2:
            return (0.0, 0.0), (0.0, 0.0)
        first, last = observed[0], observed[-1]
        change, steps = values[last] - values[first], last - first
        return (max(squares - float(change**2 / steps), 0.0), count - 1), (0.0, 0.0)

    def _begin(self, rows: int) -> State:
        level, level_variance = np.tile(self._mean, (rows, 1)), np.tile(self._variance, (rows, 1))
        slope, none = np.zeros_like(level), np.zeros_like(level)
        slope_variance = np.tile(self._noise[0] / SLOPE_PRECISION, (rows, 1))
        # Means of level and slope, their variances, their covariance, whether the series has begun.
        return level, slope, level_variance, slope_variance, none, none

    def _next(self, state: State) -> tuple[Values, Values]:
        level, slope, level_variance, slope_variance, covariance, begun = state
        variance = self._noise[0] + level_variance
        return level + begun * slope, variance + begun * (2 * covariance + slope_variance)

    def _read(self, row: Values, state: State) -> State:
        _, slope, _, slope_variance, covariance, begun = state
        mean, variance = self._next(state)
        covariance = covariance + begun * slope_variance
        missing = np.isnan(row)
        gain = np.where(missing, 0, covariance / variance)  # Kalman gain of the slope
        slope = slope + gain * np.where(missing, 0, row - mean)
        return (
            np.where(missing, mean, row),
            slope,
            np.where(missing, variance, 0),
            slope_variance - gain * covariance,
            np.where(missing, covariance, 0),
            np.where(missing, begun, 1.0),
        )

    def _skip(self, state: State) -> State:
        after = super()._skip(state)
        return (*after[:-1], np.ones_like(after[-1]))


class RandomWalkStepper:
    """Streaming forecasts of one series: mean and quantiles of the next step."""

    def __init__(self, walk: RandomWalk) -> None:
        self._walk = walk

    def begin(self) -> State:
        return tuple(part[0] for part in self._walk._begin(1))

    def step(
        self, value: Float[np.ndarray, " inputs"], state: State
    ) -> tuple[Float[np.ndarray, "rows width"], State]:
        row = np.asarray(value, dtype=np.float64)[None, : self._walk.width]
        after = self._walk._read(row, tuple(part[None] for part in state))
        (mean,), (variance,) = self._walk._next(after)
        forecast = np.vstack([mean, mean + NORMAL_QUANTILES[:, None] * np.sqrt(variance)])
        return forecast, tuple(part[0] for part in after)


def _squares(values: Float[np.ndarray, " time"]) -> tuple[float, float]:
    """Sum of squared changes, each divided by its gap, and their number."""
    observed = np.flatnonzero(~np.isnan(values))
    changes = np.diff(values[observed])
    return float((changes**2 / np.diff(observed)).sum()), float(len(changes))


def _mean_of(
    total: Float[np.ndarray, " width"],
    count: Float[np.ndarray, " width"],
    otherwise: Float[np.ndarray, " width"],
) -> Float[np.ndarray, " width"]:
    return np.where(count > 0, total / np.maximum(count, 1), otherwise)


def _where(chosen: Bool[np.ndarray, " batch"], one: State, other: State) -> State:
    """Rows of one state or of the other."""
    return tuple(
        np.where(chosen.reshape(-1, *[1] * (a.ndim - 1)), a, b)
        for a, b in zip(one, other, strict=True)
    )
