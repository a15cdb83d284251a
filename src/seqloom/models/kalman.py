"""Linear-Gaussian state-space models of time series: Kalman filter, smoother and estimation."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from ..batch import Batch, Sequences
from ..config import Size, SizeOrZero
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, Weights
from ..prediction import QuantileForecast
from ..signature import Form, Series, Signature
from ..statistical.kalman import compiled, fit
from ..statistical.kalman.simulate import OnlineFilter, simulate
from ..statistical.kalman.structure import (
    FreeMatrices,
    LatentAutoregression,
    Structure,
    UnobservedComponents,
)
from ..statistical.kalman.system import InitialDistribution, StateSpace
from .series import nothing_observed, whole_series

StructureName = Literal["local-level", "local-trend", "autoregression", "free"]
LearningName = Literal["likelihood", "expectation"]
Rows = Float[np.ndarray, "_ _"]
STEPS = 50  # BFGS steps in one pass over the data; passes repeat until convergence
SCALES = ("centre", "unit", "input_centre", "input_unit")


@dataclass(frozen=True)
class TrainingSeries:
    """All training series, for joint estimation, and their log-likelihood so far."""

    series: tuple[tuple[Rows, Rows], ...]
    log_likelihood: float

    def __add__(self, other: "TrainingSeries") -> "TrainingSeries":
        return TrainingSeries(
            self.series + other.series, self.log_likelihood + other.log_likelihood
        )


class Kalman(Model):
    """Linear-Gaussian state-space model (Kalman filter).

    z_t = A z_{t-1} + B u_t + c + w_t     w_t ~ N(0, Q)     state equation; u_t are known inputs
    x_t = C z_t     + D u_t + d + v_t     v_t ~ N(0, R)     observation equation

    Kalman (1960): the filter predicts and updates the mean and covariance of the state at each
    step. Forecasts, prediction intervals and the likelihood are exact; missing values skip the
    update. All training series share the same matrices.

    Args:
        structure: Structure of the state: local level (random walk), local linear trend, an
            autoregression observed with noise, or free matrices, all of them estimated.
        seasonal: Add a seasonal component, if the task has a period above 1.
        order: Order of the autoregression.
        states: Number of hidden states. Of the free structure: the dimension of the state.
        learning: Estimation: maximum likelihood with exact gradients (likelihood; BFGS), or EM with
            an iteration for each epoch (expectation).
        restarts: Number of random restarts; the one with the best validation loss is kept. Only the
            free structure starts at random.
        tolerance: Convergence tolerance: estimation stops when an iteration gains less than this,
            in nats per value, or after training.epochs iterations.
    """

    forms = frozenset({Form.FORECAST})
    source_spaces = target_spaces = frozenset({Series})
    learns = "maximum likelihood (BFGS), or EM"

    def __init__(
        self,
        signature: Signature,
        *,
        structure: StructureName = "local-trend",
        seasonal: bool = True,
        order: SizeOrZero = 2,
        states: Size = 4,
        learning: LearningName = "likelihood",
        restarts: int = 1,
        tolerance: float = 1e-6,
    ) -> None:
        super().__init__(signature)
        if not isinstance(signature.source, Series):
            raise TypeError("a Kalman filter reads series")
        _check_options(order=order, states=states, restarts=restarts, tolerance=tolerance)
        if learning == "expectation" and structure == "autoregression":
            raise _wrong(
                "learning = expectation: EM does not keep an autoregression stationary",
                "learning=likelihood",
            )
        width, known, period = signature.source.width, signature.source.known, 1
        if seasonal:
            period = signature.source.period
        self._structure: Structure = _structures(width, known, period, order, states)[structure]()
        self._width, self._known, self.learning = width, known, learning
        self.restarts, self.tolerance = restarts, tolerance
        self._seed = int(np.random.randint(1 << 31))  # from the generator that `seed` sets
        self.restart(0)

    @staticmethod
    def seed(number: int) -> None:
        np.random.seed(number)

    def restart(self, number: int) -> None:
        """Initial parameters; the scale of the series is not known yet."""
        random = np.random.default_rng([self._seed, number])
        self._starts = self._structure.initial_parameters(random)
        self._parameters, states = self._starts[0], self._structure.states
        self._scales = {
            "centre": np.zeros(self._width),
            "unit": np.ones(self._width),
            "input_centre": np.zeros(self._known),
            "input_unit": np.ones(self._known),
        }
        self._prior = InitialDistribution.known(np.zeros(states), np.eye(states))
        self._is_new = True

    # Estimation.

    def statistics(self, batch: Batch) -> Any:
        several = [self._split(rows) for rows, _ in whole_series(batch)]
        several = [series for series in several if not np.isnan(series[0]).all()]
        if self._is_new:
            white_noise = sum(_white_noise(values) for values, _ in several)
            return TrainingSeries(tuple(several), white_noise)
        scaled = [self._scaled(*series) for series in several]
        if self.learning == "expectation" and scaled:
            return fit.expected_moments(self._structure, self._parameters, scaled)
        log_likelihood = fit.log_likelihood(self._structure, self._parameters, scaled)
        return TrainingSeries(tuple(several), log_likelihood)

    def update(self, statistics: Any) -> None:
        if isinstance(statistics, TrainingSeries):
            if not statistics.series:
                raise nothing_observed(1, 1)
            if self._is_new:
                self._fit_scales(statistics.series)
            several = [self._scaled(*series) for series in statistics.series]
            if self._is_new:
                self._parameters = fit.best_start(self._structure, self._starts, several)
            if self.learning == "likelihood":
                self._parameters = fit.maximum_likelihood(
                    self._structure, self._parameters, several, STEPS
                )
            statistics = fit.expected_moments(self._structure, self._parameters, several)
        if self.learning == "expectation":
            system = self._structure.m_step(statistics, self._system)
            self._parameters = self._structure.parameters(system)
        self._is_new, self._prior = False, _pooled_states(statistics, self._structure.states)

    def _fit_scales(self, several: tuple[tuple[Rows, Rows], ...]) -> None:
        values = np.concatenate([values for values, _ in several])
        inputs = np.concatenate([inputs for _, inputs in several])
        for name, rows in (("", values), ("input_", inputs)):
            is_observed = ~np.isnan(rows)
            count = np.maximum(1, is_observed.sum(0))
            mean = np.where(is_observed, rows, 0).sum(0) / count
            deviation = np.sqrt((np.where(is_observed, rows - mean, 0) ** 2).sum(0) / count)
            varies = deviation > 1e-12 * np.abs(mean)  # more than rounding errors
            self._scales[f"{name}centre"] = mean
            self._scales[f"{name}unit"] = np.where(varies, deviation, 1.0)

    # Inference.

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        """Log-density of the future given the past; of a whole series the diffuse log-likelihood.

        The diffuse log-likelihood is that of Durbin and Koopman (2012), with its constant.
        """
        unit, log_probs = np.log(self._scales["unit"]), []
        for rows, ahead in whole_series(batch):
            values, inputs = self._scaled(*self._split(rows))
            past = len(rows) - ahead
            system = self._system if past == 0 else self._identified(values, inputs, past)
            terms = compiled.log_likelihoods(system, values, inputs)[past:]
            scaling = (~np.isnan(values[past:]) * unit).sum()
            if past == 0:  # κ, the diffuse variance, is infinite in any units, and is not scaled
                scaling -= _diffuse_counts(system.initial.diffuse, self._width) @ unit
            log_probs.append(terms.sum() - scaling)
        return np.array(log_probs, dtype=np.float64)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        target = self.signature.target
        horizon = search.horizon or (target.horizon if isinstance(target, Series) else 1)
        forecasts, log_probs = [], []
        for number, length in enumerate(source.lengths.tolist()):
            ahead = min(horizon, length)
            rows = np.array(source.values[number, :length], dtype=np.float64)
            rows[length - ahead :, : self._width] = np.nan
            forecast = self._forecast(rows, ahead, search, number)
            forecasts.append(forecast)
            rows[length - ahead :, : self._width] = forecast.mean
            log_probs.append(self._log_density(rows, ahead))
        return Prediction.of_forecasts(forecasts, np.array(log_probs, dtype=np.float64))

    def _forecast(
        self, rows: Float[np.ndarray, "time all"], ahead: int, search: Search, number: int
    ) -> QuantileForecast:
        values, inputs = self._scaled(*self._split(rows))
        past = len(rows) - ahead
        system = self._identified(values, inputs, past)
        filtered = compiled.kalman_filter(system, values, inputs)
        mean, covariance = compiled.observation_moments(
            system, filtered.predicted_mean[past:], filtered.predicted_covariance[past:]
        )
        mean = mean + compiled.observation_offsets(system, inputs[past:])
        paths = None
        if search.samples:
            random = np.random.default_rng([search.seed, number])
            start = InitialDistribution.known(
                filtered.predicted_mean[past], filtered.predicted_covariance[past]
            )
            paths = self._unscaled(simulate(system, start, inputs[past:], search.samples, random))
        deviation = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1)) * self._scales["unit"]
        return QuantileForecast.normal(self._unscaled(mean), deviation, paths)

    def _log_density(self, rows: Float[np.ndarray, "time all"], ahead: int) -> float:
        past = rows.copy()
        past[len(rows) - ahead :, : self._width] = np.nan
        future = rows[len(rows) - ahead :, : self._width]
        batch = Batch(Sequences.pad([past]), Sequences.pad([future]))
        return float(self.log_prob(batch)[0]) if ahead < len(rows) else self._without_past(batch)

    def _without_past(self, batch: Batch) -> float:
        """Log-density of a future without a past, from the state distribution of training."""
        values, inputs = self._scaled(*self._split(whole_series(batch)[0][0]))
        system = self._with_prior()
        unit = (~np.isnan(values) * np.log(self._scales["unit"])).sum()
        return float(compiled.log_likelihoods(system, values, inputs).sum() - unit)

    def stepper(self) -> "KalmanStepper":
        """Streaming Kalman filter."""
        return KalmanStepper(self)

    def filtered(self, past: Float[np.ndarray, "time all"]) -> compiled.FilterResult:
        """Filtered state means and covariances at each step, in scaled units."""
        values, inputs = self._scaled(*self._split(past))
        return compiled.kalman_filter(self._identified(values, inputs, len(past)), values, inputs)

    def components(self, past: Float[np.ndarray, "time all"]) -> dict[str, tuple[Rows, Rows]]:
        """Smoothed level, trend, season and other components: mean and standard deviation.

        Those of a structure are in the units of the series, with a column for each variable; the
        states of the free structure have no units.
        """
        values, inputs = self._scaled(*self._split(past))
        smooth = compiled.kalman_smoother(
            self._identified(values, inputs, len(past)), values, inputs
        )
        components = {}
        for name, matrix in self._structure.components.items():
            unit = self._scales["unit"] if len(matrix) == self._width else np.ones(len(matrix))
            if isinstance(self._structure, FreeMatrices):
                unit = np.ones(len(matrix))
            mean = smooth.mean @ matrix.T * unit
            variance = np.einsum("ik,tkl,il->ti", matrix, smooth.covariance[:], matrix)
            if name == "level":
                mean = mean + self._scales["centre"]
            # Rounding can leave a variance of 0 slightly negative.
            components[name] = (mean, np.sqrt(np.maximum(variance, 0)) * unit)
        return components

    def describe(self) -> dict[str, float]:
        """Estimated variances and coefficients by name, in the units of the model's input.

        If the task scales its series these are scaled units; with task.scaling=none the file's.
        """
        system, unit = self._system, self._scales["unit"]
        estimates = dict(_variances("noise", system.observation_noise, unit))
        for name, rows in self._structure.noises.items():
            block = system.process_noise[np.ix_(rows, rows)]
            estimates |= _variances(name, block, unit if len(rows) == self._width else None)
        if isinstance(self._structure, LatentAutoregression):
            for lag in range(self._structure.order):
                for number in range(self._width):
                    key = _named(f"coefficient {lag + 1}", number, self._width)
                    estimates[key] = float(system.transition[number, lag * self._width + number])
        if system.feedthrough is not None:
            slopes = unit[:, None] * system.feedthrough / self._scales["input_unit"]
            for (number, column), slope in np.ndenumerate(slopes):
                estimates[_named(f"input {column + 1}", number, self._width)] = float(slope)
        return estimates

    def weights(self) -> Weights:
        start = {"start.mean": self._prior.mean, "start.covariance": self._prior.covariance}
        return {"numbers": self._parameters, **self._scales, **start}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        mine = self.weights()
        if weights.keys() != mine.keys() or any(weights[n].shape != mine[n].shape for n in mine):
            raise ModelError("M111", "the weights do not fit this state-space model")
        self._parameters = np.asarray(weights["numbers"], dtype=np.float64)
        self._scales = {name: np.asarray(weights[name], dtype=np.float64) for name in SCALES}
        self._prior = InitialDistribution.known(weights["start.mean"], weights["start.covariance"])
        self._is_new = False

    @property
    def system(self) -> StateSpace:
        """The matrices, in scaled units."""
        return self._system

    @property
    def _system(self) -> StateSpace:
        return self._structure.state_space(self._parameters)

    def _with_prior(self) -> StateSpace:
        """The system, its initial state from the distribution of states in training."""
        return replace(self._system, initial=self._prior)

    def _identified(self, values: Rows, inputs: Rows, past: int) -> StateSpace:
        """The system with its diffuse initial state if the past identifies it, else with a prior.

        Without enough observations a diffuse state still has infinite variance after the past, and
        forecasts would have none at all.
        """
        system = self._system
        if not system.initial.diffuse.any():
            return system
        is_identified = past > 0 and compiled.is_identified(system, values[:past], inputs[:past])
        return system if is_identified else self._with_prior()

    def _split(self, rows: Float[np.ndarray, "time all"]) -> tuple[Rows, Rows]:
        return rows[:, : self._width], rows[:, self._width :]

    def _scaled(self, values: Rows, inputs: Rows) -> tuple[Rows, Rows]:
        scales = self._scales
        scaled_inputs = (inputs - scales["input_centre"]) / scales["input_unit"]
        return (values - scales["centre"]) / scales["unit"], scaled_inputs

    def _unscaled(self, values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        return values * self._scales["unit"] + self._scales["centre"]


class KalmanStepper:
    """Streaming Kalman filter; its state is the mean and covariance of the hidden state."""

    def __init__(self, model: Kalman) -> None:
        self._model, self._width = model, model._width
        self._filter = OnlineFilter(model.system, model._prior)

    def begin(self) -> State:
        return self._filter.begin()

    def step(self, value: Any, state: State) -> tuple[Float[np.ndarray, "rows width"], State]:
        row = np.asarray(value, dtype=np.float64)[None]
        values, inputs = self._model._scaled(*self._model._split(row))
        mean, covariance, state = self._filter.step(values[0], inputs[0], state)
        unit = self._model._scales["unit"]
        deviation = np.sqrt(covariance.diagonal()) * unit
        forecast = QuantileForecast.normal(self._model._unscaled(mean)[None], deviation[None])
        return np.concatenate([forecast.mean, forecast.quantiles[0].T]), state

    def posterior(self, state: State) -> dict[str, Float[np.ndarray, "..."]]:
        """The mean and the covariance of the hidden state, in scaled units."""
        mean, covariance = self._filter.filtered(state)
        return {"mean": mean, "covariance": covariance}


def _structures(width: int, known: int, period: int, order: int, states: int) -> dict[str, Any]:
    return {
        "local-level": lambda: UnobservedComponents(width, known, period=period),
        "local-trend": lambda: UnobservedComponents(width, known, trend=True, period=period),
        "autoregression": lambda: LatentAutoregression(width, known, order),
        "free": lambda: FreeMatrices(width, known, states),
    }


def _white_noise(values: Rows) -> float:
    """Log-likelihood of a series as Gaussian white noise: what the first pass is compared with."""
    is_observed = ~np.isnan(values)
    variance = np.maximum(np.nanvar(values), 1e-12) if is_observed.any() else 1.0
    return float(-0.5 * is_observed.sum() * (np.log(2 * np.pi * variance) + 1))


def _pooled_states(moments: Any, states: int) -> InitialDistribution:
    """Mean and covariance of the states over all steps of all series."""
    regressors = moments.observation.regressors  # Σ E[r rᵀ], r the state, the inputs and 1
    count = regressors[-1, -1]
    mean = regressors[:states, -1] / count
    covariance = regressors[:states, :states] / count - np.outer(mean, mean)
    return InitialDistribution.known(mean, (covariance + covariance.T) / 2)


def _diffuse_counts(
    diffuse: Float[np.ndarray, " states"], width: int
) -> Float[np.ndarray, " {width}"]:
    """Number of diffuse states of each variable; the states of a structure are interleaved."""
    counts = np.zeros(width)
    for state in np.flatnonzero(diffuse):
        counts[state % width] += 1
    return counts


def _variances(
    name: str, covariance: Float[np.ndarray, "size size"], unit: np.ndarray | None
) -> dict[str, float]:
    units = np.ones(len(covariance)) if unit is None else unit
    variances = covariance.diagonal() * units**2
    count = len(variances)
    return {_named(f"variance of {name}", i, count): float(v) for i, v in enumerate(variances)}


def _named(name: str, number: int, width: int) -> str:
    return f"{name}, {number + 1}" if width > 1 else name


def _check_options(**options: float) -> None:
    least = {"order": 1, "states": 1, "restarts": 1, "tolerance": 0}
    for name, value in options.items():
        if value < least[name]:
            example = {"tolerance": "0.000001"}.get(name, str(max(1, least[name])))
            raise _wrong(
                f"{name} = {value:g}: expected at least {least[name]}", f"{name}={example}"
            )


def _wrong(problem: str, example: str) -> ModelError:
    return ModelError("M403", f"model.{problem}", help=[f"--set model.{example}"])
