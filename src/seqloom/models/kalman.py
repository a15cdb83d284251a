"""The Kalman filter: a linear dynamical system behind a series."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, Weights
from ..prediction import Foreseen
from ..signature import Form, Series, Signature
from ..statistical.kalman import compiled
from ..statistical.kalman import fit as learn
from ..statistical.kalman.simulate import Steps, drawn
from ..statistical.kalman.structure import Autoregression, Components, Free, Structure
from ..statistical.kalman.system import Start, System
from .series import nothing_observed, rows_of

StructureName = Literal["local-level", "local-trend", "autoregression", "free"]
LearningName = Literal["likelihood", "expectation"]
Rows = Float[np.ndarray, "_ _"]
STEPS = 50  # of descent in one pass over the data; passes repeat while they gain
SCALES = ("centre", "unit", "input_centre", "input_unit")


@dataclass(frozen=True)
class Gathered:
    """Series to be learned from together, and how likely they are so far."""

    series: tuple[tuple[Rows, Rows], ...]
    log_likelihood: float

    def __add__(self, other: "Gathered") -> "Gathered":
        return Gathered(self.series + other.series, self.log_likelihood + other.log_likelihood)


class Kalman(Model):
    """A hidden state that moves by a matrix and is seen through another, both with Gaussian noise.

    z_t = A z_{t-1} + B u_t + c + w_t     w_t ~ N(0, Q)     the state; u_t are inputs that are known
    x_t = C z_t     + D u_t + d + v_t     v_t ~ N(0, R)     what is observed

    Kalman (1960): what is known of the state is a mean and a covariance, both moved on and
    corrected in every step. Forecasts, intervals and the likelihood are exact, and a number that is
    missing is simply not seen. All series that are learned from have the same matrices.

    Args:
        structure: What the state is: a level that walks at random, a level with a trend, an
            autoregression that is seen with noise, or free numbers whose matrices are all learned.
        seasonal: Whether a season is added to the level, where the task names a period above 1.
        order: Of the autoregression: how many of the last values count.
        states: Of the free structure: how many numbers the state has.
        learning: By descent of the exact gradient of the likelihood, or by
            expectation-maximisation of all matrices, a pass for each epoch.
        restarts: How often learning starts; only the free structure starts at random.
        tolerance: Learning ends when all numbers gain less than this on average, in nats, or after
            training.epochs passes.
    """

    forms = frozenset({Form.FORECAST})
    reads = writes = frozenset({Series})

    def __init__(
        self,
        signature: Signature,
        *,
        structure: StructureName = "local-trend",
        seasonal: bool = True,
        order: int = 2,
        states: int = 4,
        learning: LearningName = "likelihood",
        restarts: int = 1,
        tolerance: float = 1e-6,
    ) -> None:
        super().__init__(signature)
        if not isinstance(signature.source, Series):
            raise TypeError("a Kalman filter reads series")
        _refuse_impossible(order=order, states=states, restarts=restarts, tolerance=tolerance)
        if learning == "expectation" and structure == "autoregression":
            raise _wrong(
                "learning = expectation: an autoregression that is stationary has no such pass",
                "learning=likelihood",
            )
        width, known, period = signature.source.width, signature.source.known, 1
        if seasonal:
            period = signature.source.period
        self._structure: Structure = _structures(width, known, period, order, states)[structure]()
        self._width, self._known, self.learning = width, known, learning
        self.restarts, self.tolerance = restarts, tolerance
        self._seed = int(np.random.randint(1 << 31))  # from where `seed` has set it
        self.restart(0)

    @staticmethod
    def seed(number: int) -> None:
        np.random.seed(number)

    def restart(self, number: int) -> None:
        """Begin anew: nothing is known of the series, not even their size."""
        chance = np.random.default_rng([self._seed, number])
        self._starts = self._structure.begin(chance)
        self._numbers, states = self._starts[0], self._structure.states
        self._scales = {
            "centre": np.zeros(self._width),
            "unit": np.ones(self._width),
            "input_centre": np.zeros(self._known),
            "input_unit": np.ones(self._known),
        }
        self._prior = Start.known(np.zeros(states), np.eye(states))
        self._is_new = True

    # Learning.

    def statistics(self, batch: Batch) -> Any:
        several = [self._split(rows) for rows, _ in rows_of(batch)]
        several = [series for series in several if not np.isnan(series[0]).all()]
        if self._is_new:
            return Gathered(tuple(several), sum(_as_noise(values) for values, _ in several))
        scaled = [self._scaled(*series) for series in several]
        if self.learning == "expectation" and scaled:
            return learn.expected_of(self._structure, self._numbers, scaled)
        likely = learn.total(self._structure, self._numbers, scaled)
        return Gathered(tuple(several), likely)

    def update(self, statistics: Any) -> None:
        if isinstance(statistics, Gathered):
            if not statistics.series:
                raise nothing_observed(1, 1)
            if self._is_new:
                self._take_scales(statistics.series)
            several = [self._scaled(*series) for series in statistics.series]
            if self._is_new:
                self._numbers = learn.best_start(self._structure, self._starts, several)
            if self.learning == "likelihood":
                self._numbers = learn.likeliest(self._structure, self._numbers, several, STEPS)
            statistics = learn.expected_of(self._structure, self._numbers, several)
        if self.learning == "expectation":
            system = self._structure.maximised(statistics, self._system)
            self._numbers = self._structure.numbers(system)
        self._is_new, self._prior = False, _spread_of(statistics, self._structure.states)

    def _take_scales(self, several: tuple[tuple[Rows, Rows], ...]) -> None:
        values = np.concatenate([values for values, _ in several])
        inputs = np.concatenate([inputs for _, inputs in several])
        for name, rows in (("", values), ("input_", inputs)):
            there = ~np.isnan(rows)
            count = np.maximum(1, there.sum(0))
            centre = np.where(there, rows, 0).sum(0) / count
            spread = np.sqrt((np.where(there, rows - centre, 0) ** 2).sum(0) / count)
            self._scales[f"{name}centre"] = centre
            self._scales[f"{name}unit"] = np.where(spread > 1e-12 * np.abs(centre), spread, 1.0)

    # Use.

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        """Of whole series as Durbin and Koopman count it: diffuse numbers have their constant."""
        unit, found = np.log(self._scales["unit"]), []
        for rows, ahead in rows_of(batch):
            values, inputs = self._scaled(*self._split(rows))
            past = len(rows) - ahead
            system = self._system if past == 0 else self._told(values, inputs, past)
            terms = compiled.log_likelihoods(system, values, inputs)[past:]
            scaling = (~np.isnan(values[past:]) * unit).sum()
            if past == 0:  # κ is as large in any units, so what is diffuse has no scale
                scaling -= _of_each(system.start.diffuse, self._width) @ unit
            found.append(terms.sum() - scaling)
        return np.array(found, dtype=np.float64)

    def predict(self, source: Sequences, search: Search) -> Prediction:
        target = self.signature.target
        horizon = search.horizon or (target.horizon if isinstance(target, Series) else 1)
        found, log_probs = [], []
        for number, length in enumerate(source.lengths.tolist()):
            ahead = min(horizon, length)
            rows = np.array(source.values[number, :length], dtype=np.float64)
            rows[length - ahead :, : self._width] = np.nan
            foreseen = self._foreseen(rows, ahead, search, number)
            found.append(foreseen)
            rows[length - ahead :, : self._width] = foreseen.mean
            log_probs.append(self._density(rows, ahead))
        return Prediction.ahead(found, np.array(log_probs, dtype=np.float64))

    def _foreseen(
        self, rows: Float[np.ndarray, "time all"], ahead: int, search: Search, number: int
    ) -> Foreseen:
        values, inputs = self._scaled(*self._split(rows))
        past = len(rows) - ahead
        system = self._told(values, inputs, past)
        known = compiled.filtered(system, values, inputs)
        mean, covariance = compiled.shown(system, known.ahead[past:], known.ahead_covariance[past:])
        mean = mean + compiled.offsets(system, inputs[past:])
        paths = None
        if search.samples:
            chance = np.random.default_rng([search.seed, number])
            start = Start.known(known.ahead[past], known.ahead_covariance[past])
            paths = self._back(drawn(system, start, inputs[past:], search.samples, chance))
        size = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1)) * self._scales["unit"]
        return Foreseen.normal(self._back(mean), size, paths)

    def _density(self, rows: Float[np.ndarray, "time all"], ahead: int) -> float:
        past = rows.copy()
        past[len(rows) - ahead :, : self._width] = np.nan
        future = rows[len(rows) - ahead :, : self._width]
        batch = Batch(Sequences.pad([past]), Sequences.pad([future]))
        return float(self.log_prob(batch)[0]) if ahead < len(rows) else self._from_nothing(batch)

    def _from_nothing(self, batch: Batch) -> float:
        """Of a future without a past: the state could be any that was learned from."""
        values, inputs = self._scaled(*self._split(rows_of(batch)[0][0]))
        system = self._begun()
        unit = (~np.isnan(values) * np.log(self._scales["unit"])).sum()
        return float(compiled.log_likelihoods(system, values, inputs).sum() - unit)

    def stepper(self) -> "KalmanSteps":
        """Single steps of the filter."""
        return KalmanSteps(self)

    def filtered(self, past: Float[np.ndarray, "time all"]) -> compiled.Filtered:
        """What is known of the state in each step of a series, in scaled units."""
        values, inputs = self._scaled(*self._split(past))
        return compiled.filtered(self._told(values, inputs, len(past)), values, inputs)

    def components(self, past: Float[np.ndarray, "time all"]) -> dict[str, tuple[Rows, Rows]]:
        """Level, trend, season and the like in each step, given the whole past: mean and deviation.

        Those of a structure are in the units of the series, one column for each number of it;
        states of a free system are in their own.
        """
        values, inputs = self._scaled(*self._split(past))
        smooth = compiled.smoothed(self._told(values, inputs, len(past)), values, inputs)
        found = {}
        for name, matrix in self._structure.parts.items():
            unit = self._scales["unit"] if len(matrix) == self._width else np.ones(len(matrix))
            if isinstance(self._structure, Free):
                unit = np.ones(len(matrix))
            middle = smooth.mean @ matrix.T * unit
            spread = np.einsum("ik,tkl,il->ti", matrix, smooth.covariance[:], matrix)
            if name == "level":
                middle = middle + self._scales["centre"]
            found[name] = (middle, np.sqrt(np.maximum(spread, 0)) * unit)
        return found

    def describe(self) -> dict[str, float]:
        """The variances and coefficients by name, in the units of the data it was given.

        A task that scales its series gives scaled ones; with task.scaling=none they are the file's.
        """
        system, unit = self._system, self._scales["unit"]
        found = dict(_variances("noise", system.error, unit))
        for name, rows in self._structure.noisy.items():
            block = system.process[np.ix_(rows, rows)]
            found |= _variances(name, block, unit if len(rows) == self._width else None)
        if isinstance(self._structure, Autoregression):
            for lag in range(self._structure.order):
                for number in range(self._width):
                    key = _named(f"coefficient {lag + 1}", number, self._width)
                    found[key] = float(system.transition[number, lag * self._width + number])
        if system.direct is not None:
            slopes = unit[:, None] * system.direct / self._scales["input_unit"]
            for (number, known), slope in np.ndenumerate(slopes):
                found[_named(f"input {known + 1}", number, self._width)] = float(slope)
        return found

    def weights(self) -> Weights:
        start = {"start.mean": self._prior.mean, "start.covariance": self._prior.covariance}
        return {"numbers": self._numbers, **self._scales, **start}

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        mine = self.weights()
        if weights.keys() != mine.keys() or any(weights[n].shape != mine[n].shape for n in mine):
            raise ModelError("M111", "the weights do not fit this structure of a Kalman filter")
        self._numbers = np.asarray(weights["numbers"], dtype=np.float64)
        self._scales = {name: np.asarray(weights[name], dtype=np.float64) for name in SCALES}
        self._prior = Start.known(weights["start.mean"], weights["start.covariance"])
        self._is_new = False

    @property
    def system(self) -> System:
        """The matrices, in scaled units."""
        return self._system

    @property
    def _system(self) -> System:
        return self._structure.system(self._numbers)

    def _begun(self) -> System:
        """The system from states as they were learned from."""
        return replace(self._system, start=self._prior)

    def _told(self, values: Rows, inputs: Rows, past: int) -> System:
        """The system with its own start, or another where the past does not tell it."""
        system = self._system
        if not system.start.diffuse.any():
            return system
        is_told = past > 0 and compiled.is_told(system, values[:past], inputs[:past])
        return system if is_told else self._begun()

    def _split(self, rows: Float[np.ndarray, "time all"]) -> tuple[Rows, Rows]:
        return rows[:, : self._width], rows[:, self._width :]

    def _scaled(self, values: Rows, inputs: Rows) -> tuple[Rows, Rows]:
        scales = self._scales
        known = (inputs - scales["input_centre"]) / scales["input_unit"]
        return (values - scales["centre"]) / scales["unit"], known

    def _back(self, values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        return values * self._scales["unit"] + self._scales["centre"]


class KalmanSteps:
    """A filter that is moved one step at a time; the state is a mean and a covariance."""

    def __init__(self, model: Kalman) -> None:
        self._model, self._width = model, model._width
        self._steps = Steps(model.system, model._prior)

    def begin(self) -> State:
        return self._steps.begin()

    def step(self, value: Any, state: State) -> tuple[Float[np.ndarray, "rows width"], State]:
        row = np.asarray(value, dtype=np.float64)[None]
        values, inputs = self._model._scaled(*self._model._split(row))
        mean, covariance, state = self._steps.step(values[0], inputs[0], state)
        unit = self._model._scales["unit"]
        size = np.sqrt(covariance.diagonal()) * unit
        foreseen = Foreseen.normal(self._model._back(mean)[None], size[None])
        return np.concatenate([foreseen.mean, foreseen.quantiles[0].T]), state

    def posterior(self, state: State) -> dict[str, Float[np.ndarray, "..."]]:
        """The mean and the covariance of the hidden state, in scaled units."""
        mean, covariance = self._steps.known(state)
        return {"mean": mean, "covariance": covariance}


def _structures(width: int, known: int, period: int, order: int, states: int) -> dict[str, Any]:
    return {
        "local-level": lambda: Components(width, known, period=period),
        "local-trend": lambda: Components(width, known, trend=True, period=period),
        "autoregression": lambda: Autoregression(width, known, order),
        "free": lambda: Free(width, known, states),
    }


def _as_noise(values: Rows) -> float:
    """The log-likelihood of a series as independent Normal numbers."""
    there = ~np.isnan(values)
    size = np.maximum(np.nanvar(values), 1e-12) if there.any() else 1.0
    return float(-0.5 * there.sum() * (np.log(2 * np.pi * size) + 1))


def _spread_of(found: Any, states: int) -> Start:
    """The mean and the covariance of states over all steps of all series."""
    count, given = found.shown.given[-1, -1], found.shown.given
    mean = given[:states, -1] / count
    covariance = given[:states, :states] / count - np.outer(mean, mean)
    return Start.known(mean, (covariance + covariance.T) / 2)


def _of_each(diffuse: Float[np.ndarray, " states"], width: int) -> Float[np.ndarray, " {width}"]:
    """How many diffuse states each number has: those of a structure take turns."""
    found = np.zeros(width)
    for place in np.flatnonzero(diffuse):
        found[place % width] += 1
    return found


def _variances(
    name: str, covariance: Float[np.ndarray, "size size"], unit: np.ndarray | None
) -> dict[str, float]:
    units = np.ones(len(covariance)) if unit is None else unit
    sizes = covariance.diagonal() * units**2
    return {_named(f"variance of {name}", i, len(sizes)): float(s) for i, s in enumerate(sizes)}


def _named(name: str, number: int, width: int) -> str:
    return f"{name}, {number + 1}" if width > 1 else name


def _refuse_impossible(**options: float) -> None:
    least = {"order": 1, "states": 1, "restarts": 1, "tolerance": 0}
    for name, value in options.items():
        if value < least[name]:
            example = {"tolerance": "0.000001"}.get(name, str(max(1, least[name])))
            raise _wrong(
                f"{name} = {value:g}: expected at least {least[name]}", f"{name}={example}"
            )


def _wrong(problem: str, example: str) -> ModelError:
    return ModelError("M403", f"model.{problem}", help=[f"--set model.{example}"])
