"""The forecasts that nobody may leave out: the last value, that of the last season, a line."""

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool, Float, Int

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, Weights
from ..prediction import NORMAL, Foreseen
from ..signature import Form, Series, Signature
from .series import futures, log_normal, nothing_observed, past_of, whole_of

NAMES = ("mean", "spread", "noise")
FLAT = 1e-6  # how many steps' worth is known of a slope before anything was seen: nearly nothing
LEAST = 1e-24  # the variance of numbers that never change, so that their density is finite

Numbers = Float[np.ndarray, "batch width"]


class Walk(Model):
    """Each number of a series goes its own way: where it was, and a Normal step.

    x_t = (what is known of x_t from before) + e_t,   e_t ~ N(0, σ²)

    What was not observed is replaced by its own forecast, with its variance. Before anything was
    observed, a number is any of those seen in training: N(mean, spread).
    """

    forms = frozenset({Form.FORECAST})
    reads = writes = frozenset({Series})
    is_baseline = is_joint = True

    def __init__(self, signature: Signature) -> None:
        super().__init__(signature)
        if not isinstance(signature.target, Series):
            raise TypeError("walks forecast series")
        self.width, self.period = signature.target.width, max(1, signature.target.period)
        self._mean, self._spread = np.zeros(self.width), np.ones(self.width)
        self._noise = np.ones((2, self.width))  # of a step, and of a season

    @abstractmethod
    def _begin(self, rows: int) -> State:
        """What is known of so many series before their first steps."""

    @abstractmethod
    def _next(self, state: State) -> tuple[Numbers, Numbers]:
        """The mean and the variance of the next step."""

    @abstractmethod
    def _read(self, row: Numbers, state: State) -> State:
        """What is known once the next step was observed; NaN was not."""

    def _errors(
        self, values: Float[np.ndarray, " time"]
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """The sum of squared errors of single steps and how many there were; the same of seasons.

        An error over a gap of k steps has k times the variance, and counts as one k-th.
        """
        season = [_squares(values[phase :: self.period]) for phase in range(self.period)]
        found = np.sum(season, axis=0)
        return _squares(values), (float(found[0]), float(found[1]))

    def statistics(self, batch: Batch) -> Float[np.ndarray, "7 width"]:
        """Sums for each number: how many, of values and their squares, of errors."""
        found = np.zeros((7, self.width))
        for values in whole_of(batch, self.width):
            seen = ~np.isnan(values)
            real = np.where(seen, values, 0)
            found[:3] += seen.sum(0), real.sum(0), (real**2).sum(0)
            errors = [np.ravel(self._errors(column)) for column in values.T]
            found[3:] += np.transpose(errors)
        return found

    def update(self, statistics: Float[np.ndarray, "7 width"]) -> None:
        count, total, squares = statistics[:3]
        if not count.all():
            raise nothing_observed(int(np.flatnonzero(count == 0)[0]) + 1, self.width)
        self._mean = total / count
        self._spread = np.maximum(squares / count - self._mean**2, LEAST)
        # Where no step follows another, a step may be as wide as all that was seen.
        step = _mean_of(statistics[3], statistics[4], self._spread)
        season = _mean_of(statistics[5], statistics[6], step)
        self._noise = np.maximum(np.stack([step, season]), LEAST)

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        """The log density of the future, one step after the other, each given those before it."""
        values = Sequences.pad(whole_of(batch, self.width))
        lengths, state = values.lengths, self._begin(len(batch))
        starts, found = lengths - batch.target.lengths, np.zeros(len(batch))
        for t in range(values.values.shape[1]):
            row = np.where(t < lengths[:, None], values.values[:, t], np.nan)
            told = (t >= starts[:, None]) & ~np.isnan(row)
            if told.any():
                mean, variance = self._next(state)
                gained = log_normal(np.where(told, row - mean, 0), variance)
                found += np.where(told, gained, 0).sum(1)
            state = self._read(row, state)
        return found

    def predict(self, source: Sequences, search: Search) -> Prediction:
        ahead = futures(self.signature, source, search)
        states = self._after(past_of(source, ahead, self.width))
        means, variances = self._ahead(states, int(ahead.max(initial=0)))
        paths = self._drawn(states, means.shape[1], search) if search.samples else None
        foreseen = []
        for i, steps in enumerate(ahead.tolist()):
            drawn = None if paths is None else paths[i, :, :steps]
            spread = np.sqrt(variances[i, :steps])
            foreseen.append(Foreseen.normal(means[i, :steps], spread, drawn))
        return Prediction.ahead(foreseen, self._of_means(states, means, ahead))

    def stepper(self) -> "WalkStepper":
        """Single steps, with what was learned so far."""
        return WalkStepper(self)

    def weights(self) -> Weights:
        return {"mean": self._mean, "spread": self._spread, "noise": self._noise}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        mine = self.weights()
        if weights.keys() != mine.keys() or any(weights[n].shape != mine[n].shape for n in mine):
            raise ModelError("M111", f"the weights do not fit series of {self.width} numbers")
        self._mean, self._spread, self._noise = (np.array(weights[name]) for name in NAMES)

    def _after(self, pasts: Sequences) -> State:
        """What is known after each past."""
        state = self._begin(len(pasts))
        for t in range(pasts.values.shape[1]):
            after = self._read(pasts.values[:, t], state)
            state = _where(t < pasts.lengths, after, state)
        return state

    def _ahead(
        self, state: State, steps: int
    ) -> tuple[Float[np.ndarray, "batch time width"], Float[np.ndarray, "batch time width"]]:
        """Means and variances of so many steps, none of which is observed."""
        shape = (len(state[0]), steps, self.width)
        means, variances = np.zeros(shape), np.zeros(shape)
        for t in range(steps):
            means[:, t], variances[:, t] = self._next(state)
            state = self._skip(state)
        return means, variances

    def _skip(self, state: State) -> State:
        """What is known of a step that lies in the future."""
        return self._read(np.full((len(state[0]), self.width), np.nan), state)

    def _drawn(
        self, state: State, steps: int, search: Search
    ) -> Float[np.ndarray, "batch samples time width"]:
        """Futures: each step drawn, then read."""
        chance = np.random.default_rng(search.seed)
        rows, samples = len(state[0]), search.samples
        state = tuple(np.repeat(part, samples, axis=0) for part in state)
        found = np.zeros((rows * samples, steps, self.width))
        for t in range(steps):
            mean, variance = self._next(state)
            found[:, t] = mean + np.sqrt(variance) * chance.standard_normal(mean.shape)
            state = self._read(found[:, t], state)
        return found.reshape(rows, samples, steps, self.width)

    def _of_means(
        self,
        state: State,
        means: Float[np.ndarray, "batch time width"],
        ahead: Int[np.ndarray, " batch"],
    ) -> Float[np.ndarray, " batch"]:
        """The log density of each mean itself."""
        found = np.zeros(len(means))
        for t in range(means.shape[1]):
            _, variance = self._next(state)
            found += np.where(t < ahead, log_normal(np.zeros_like(variance), variance).sum(1), 0)
            state = self._read(means[:, t], state)
        return found


class Naive(Walk):
    """The last value again, and again: a random walk.

    x_t = x_{t-1} + e_t,   so that x_{T+h} ~ N(x_T, h σ²)
    """

    def _begin(self, rows: int) -> State:
        mean, spread = np.tile(self._mean, (rows, 1)), np.tile(self._spread, (rows, 1))
        return mean, spread

    def _next(self, state: State) -> tuple[Numbers, Numbers]:
        value, variance = state
        return value, variance + self._noise[0]

    def _read(self, row: Numbers, state: State) -> State:
        value, variance = self._next(state)
        missing = np.isnan(row)
        return np.where(missing, value, row), np.where(missing, variance, 0)


class SeasonalNaive(Walk):
    """The value of one season ago: each place of the season walks by itself.

    x_t = x_{t-m} + e_t,   so that x_{T+h} ~ N(x_{T+h-m⌈h/m⌉}, ⌈h/m⌉ σ²),   m being the period

    Where the series has no season, or is not yet as long as one, it is the last value.
    """

    def _begin(self, rows: int) -> State:
        season = np.full((rows, self.period, self.width), np.nan)
        mean, spread = np.tile(self._mean, (rows, 1)), np.tile(self._spread, (rows, 1))
        return season, season, mean, spread  # of each place, the oldest first; and of the last step

    def _next(self, state: State) -> tuple[Numbers, Numbers]:
        values, variances, last, spread = state
        unseen = np.isnan(values[:, 0])
        mean = np.where(unseen, last, values[:, 0])
        return mean, np.where(unseen, spread + self._noise[0], variances[:, 0] + self._noise[1])

    def _read(self, row: Numbers, state: State) -> State:
        values, variances, last, spread = state
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


class Drift(Walk):
    """The line through the first value and the last: a random walk with a slope that is not known.

    x_t = x_{t-1} + d + e_t,   d' = (x_T - x_1) / (T - 1)
    x_{T+h} ~ N(x_T + h d', h σ² (1 + h / (T - 1)))

    Level and slope are filtered as Kalman (1960) does it; the slope may be anything before two
    values were seen.
    """

    def _errors(
        self, values: Float[np.ndarray, " time"]
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Errors around the line of the series itself, which takes one of them away."""
        squares, count = _squares(values)
        places = np.flatnonzero(~np.isnan(values))
        if count < 2:
            return (0.0, 0.0), (0.0, 0.0)
        way, steps = values[places[-1]] - values[places[0]], places[-1] - places[0]
        return (max(squares - float(way**2 / steps), 0.0), count - 1), (0.0, 0.0)

    def _begin(self, rows: int) -> State:
        level, spread = np.tile(self._mean, (rows, 1)), np.tile(self._spread, (rows, 1))
        slope, none = np.zeros_like(level), np.zeros_like(level)
        unknown = np.tile(self._noise[0] / FLAT, (rows, 1))
        # Means of level and slope, their variances, what they vary together, whether it has begun.
        return level, slope, spread, unknown, none, none

    def _next(self, state: State) -> tuple[Numbers, Numbers]:
        level, slope, spread, unknown, shared, begun = state
        known = self._noise[0] + spread
        return level + begun * slope, known + begun * (2 * shared + unknown)

    def _read(self, row: Numbers, state: State) -> State:
        _, slope, _, unknown, shared, begun = state
        mean, variance = self._next(state)
        shared = shared + begun * unknown
        missing = np.isnan(row)
        gain = np.where(missing, 0, shared / variance)  # what an error says of the slope
        slope = slope + gain * np.where(missing, 0, row - mean)
        return (
            np.where(missing, mean, row),
            slope,
            np.where(missing, variance, 0),
            unknown - gain * shared,
            np.where(missing, shared, 0),
            np.where(missing, begun, 1.0),
        )

    def _skip(self, state: State) -> State:
        after = super()._skip(state)
        return (*after[:-1], np.ones_like(after[-1]))


class WalkStepper:
    """One series, step by step: what is expected next, and its quantiles."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk

    def begin(self) -> State:
        return tuple(part[0] for part in self._walk._begin(1))

    def step(
        self, value: Float[np.ndarray, " inputs"], state: State
    ) -> tuple[Float[np.ndarray, "rows width"], State]:
        row = np.asarray(value, dtype=np.float64)[None, : self._walk.width]
        after = self._walk._read(row, tuple(part[None] for part in state))
        (mean,), (variance,) = self._walk._next(after)
        answer = np.vstack([mean, mean + NORMAL[:, None] * np.sqrt(variance)])
        return answer, tuple(part[0] for part in after)


def _squares(values: Float[np.ndarray, " time"]) -> tuple[float, float]:
    """The sum of squared changes, each over its own gap, and how many there are."""
    places = np.flatnonzero(~np.isnan(values))
    changes = np.diff(values[places])
    return float((changes**2 / np.diff(places)).sum()), float(len(changes))


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
