"""Autoregression: the next step as a weighted sum of the last ones, found by least squares."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from ..batch import Batch, Sequences
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, Weights
from ..prediction import Foreseen
from ..signature import Form, Series, Signature
from ..statistical.autoregression.exogenous import Driving, no_season
from ..statistical.autoregression.least_squares import Fit, Rows, fitted, gather, narrowed, sums_of
from ..statistical.autoregression.posterior import DRAWS, Doubt, Guesses, log_mean, mixed
from ..statistical.autoregression.simulate import Delays, Memory, Steps, differenced, summed
from .series import futures, nothing_observed, whole_of

NAMES = ("taps", "driven", "noise", "mean", "spread", "doubt", "freedom")
WITH_GAPS = [*range(20), *range(DRAWS // 2, DRAWS // 2 + 20)]  # draws where steps are missing
WIDEST = 256  # numbers of a future with gaps whose covariance is taken as a whole
LEAST = 1e-24  # the variance of what is forecast without error, so that densities are finite
ALIKE = 1e-10  # the smallest root of a matrix of correlations that is still one
MOST = (12, 60)  # the highest order that is tried is at least, and at most, so much

Columns = Float[np.ndarray, "time columns"]  # what drives each step
Criterion = Literal["aicc", "aic", "bic"]
Differences = Literal["none", "step", "season", "both"]


class Autoregressive(Model):
    """Delay taps: a step is a weighted sum of the last steps, of what drives it, and Normal noise.

    x_t = c + b t + s_{t mod m} + A₁ x_{t-1} + … + A_p x_{t-p} + B u_t + e_t,   e_t ~ N(0, Σ)

    With `differences`, y_t = x_t - x_{t-1}, or x_t - x_{t-m}, stands for x_t on both sides.

    With several numbers in a row it is a vector autoregression (Sims, 1980): each follows from the
    past of all. The weights are those with the least squared errors over all series together; rows
    in which something is missing are left out. The order p is the one with the lowest
    log |Σ| + 2 k / n (Akaike, 1974), log |Σ| + k log n / n (Schwarz, 1978), or the first corrected
    for few rows (Hurvich & Tsai, 1993), k being the number of weights and n that of rows, the same
    rows for all orders.

    Means and covariances go through the recursion, and numbers that are missing in the past are
    conditioned on all that was observed. With weights that count as known, forecasts are exact and
    Gaussian. Else they are mixed over weights that fit the steps seen about as well, which makes a
    step ahead Student's, and bands wider the fewer steps there were.

    Args:
        order: How many steps back it looks; 0 lets the criterion choose.
        most: The highest order that is tried; 0 is one more than a season has, from 12 to 60.
        criterion: What chooses the order: aic for good forecasts, aicc the same with few steps,
            bic for the fewest weights.
        ridge: The weight of the sum of squared taps and weights of inputs beside the squared
            errors; 0 is plain least squares.
        intercept: Whether there is a constant c.
        trend: Whether there is a straight line b t in time.
        season: Whether each place of the season has a constant of its own.
        differences: What is regressed: the numbers themselves (none), how they change from step to
            step, from season to season, or from season to season of their changes (both). It is for
            series that wander, or grow, and never come back to a mean.
        guessed: Whether weights count as guessed from the steps that were seen, so that bands have
            room for what they may be off; else as known for sure.
    """

    forms = frozenset({Form.FORECAST})
    reads = writes = frozenset({Series})

    def __init__(
        self,
        signature: Signature,
        *,
        order: int = 0,
        most: int = 0,
        criterion: Criterion = "aicc",
        ridge: float = 0.0,
        intercept: bool = True,
        trend: bool = False,
        season: bool = False,
        differences: Differences = "none",
        guessed: bool = True,
    ) -> None:
        super().__init__(signature)
        self.is_joint = not guessed  # what is seen of a future tells nothing of the weights
        self.guessed = guessed
        if not isinstance(signature.target, Series) or not isinstance(signature.source, Series):
            raise TypeError("autoregression forecasts series")
        _refuse_impossible(order, most, ridge)
        self.width, self.ridge, self.criterion = signature.target.width, ridge, criterion
        self.driving = Driving.of(signature.source, intercept, trend, season)
        self.difference = _difference(differences, signature.target.period)
        self._roots = 0.0  # the largest of what was learned, beside those of differences
        least, highest = MOST
        self.order = order
        self.most = order or most or min(max(least, signature.target.period + 1), highest)
        self.criteria: dict[int, float] = {}  # of every order that was tried
        inputs, identity = self.driving.width, np.eye(self.width)
        self._take(
            summed(np.zeros((max(order, 1), self.width, self.width)), self.difference),
            np.zeros((self.width, inputs)),
            identity,
            np.zeros(self.width),
            np.ones(self.width),
            Doubt.none(inputs + order * self.width),
        )

    def statistics(self, batch: Batch) -> Rows:
        orders = [self.order] if self.order else [*range(self.most + 1)]
        series = whole_of(batch, self.width)
        changes = [differenced(values, self.difference) for values in series]
        return gather(changes, self._driven(batch.source), orders, sums_of(series))

    def update(self, statistics: Rows) -> None:
        count, total, squares = statistics.sums
        if not count.all():
            raise nothing_observed(int(np.flatnonzero(count == 0)[0]) + 1, self.width)
        order = self.order or self._chosen(statistics)
        rows, number = statistics.of(order)
        columns = self.driving.width + order * self.width
        if not self.ridge and number <= columns:
            raise _too_few(order, columns, number)
        penalties = self._penalties(order)
        fit = fitted(rows, number, self.width, penalties)
        mean = total / count
        driven, taps = np.split(fit.coefficients, [self.driving.width])
        shape = (order, self.width, self.width)
        found = np.swapaxes(taps.reshape(shape), 1, 2) if order else np.zeros((1, *shape[1:]))
        noise, spread = _positive(fit.noise()), np.maximum(squares / count - mean**2, LEAST)
        self._roots = Delays(found, noise).radius()
        doubt = Doubt.of(_products(rows, self.width, penalties), number, fit.freedom)
        self._take(summed(found, self.difference), driven.T, noise, mean, spread, doubt)

    def _chosen(self, statistics: Rows) -> int:
        """The order with the lowest criterion, over the rows that the highest one has."""
        enough = [
            order
            for order, count in zip(statistics.orders, statistics.counts, strict=True)
            if count > self.driving.width + (order + 1) * self.width
        ]
        highest = enough[-1] if enough else 0
        rows, count = statistics.of(highest)
        weight = 2.0 if self.criterion == "aic" else float(np.log(max(count, 1)))
        self.criteria = {}
        for order in enough:
            fit = self._tried(rows, count, order, highest)
            corrected = self.criterion == "aicc"
            self.criteria[order] = fit.corrected() if corrected else fit.criterion(weight)
        return min(self.criteria, key=lambda order: self.criteria[order], default=0)

    def _tried(self, rows: Float[np.ndarray, "_ _"], count: int, order: int, highest: int) -> Fit:
        part = narrowed(rows, order, highest, self.width)
        return fitted(part, count, self.width, self._penalties(order))

    def _penalties(self, order: int) -> Float[np.ndarray, " columns"]:
        """Of taps and inputs; a constant, a trend or a season may be as large as it likes."""
        free = self.driving.width - self.driving.inputs
        small = self.driving.inputs + order * self.width
        return np.array([0.0] * free + [self.ridge] * small)

    def warning(self) -> dict[str, Any]:
        """Whether what was learned grows without bound."""
        size = self._roots
        if size <= 1:
            return {}
        return {
            "code": "M446",
            "problem": f"what was learned is explosive: its largest root is {size:.5g}, so that"
            " forecasts far ahead grow without bound (fewer taps, --set model.order, or"
            " --set model.ridge=1 may help)",
            "radius": size,
            "help": ["--set model.order=1   or another small one", "--set model.ridge=1"],
        }

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        series, inputs = whole_of(batch, self.width), self._driven(batch.source)
        aheads = batch.target.lengths.tolist()
        return np.array([self._density(*one) for one in zip(series, inputs, aheads, strict=True)])

    def _density(self, values: Steps, driven: Columns, ahead: int) -> float:
        """Log of the density of the last rows given the others."""
        start, order = len(values) - ahead, self.delays.order
        if not self.guessed or not start:  # without a past it is one of those learned from
            return self._density_of(self.delays, self._inputs, values, driven, start)
        if start >= order and not np.isnan(values[start - order : start]).any():
            if not np.isnan(values[start:]).any():
                return log_mean(self.guesses.log_densities(values, driven, start))
            if values[start:].size <= WIDEST:
                recent = values[start - order : start][::-1].ravel()
                rest = values[start:], driven[start:]
                return log_mean(self.guesses.log_densities_seen(recent, *rest))
        some = [self.guesses.one(number) for number in WITH_GAPS]
        return log_mean(np.array([self._density_of(*o, values, driven, start) for o in some]))

    def _density_of(
        self, delays: Delays, inputs: np.ndarray, values: Steps, driven: Columns, start: int
    ) -> float:
        return delays.read(values, driven @ inputs.T, start, self._first)[0]

    def predict(self, source: Sequences, search: Search) -> Prediction:
        chance = np.random.default_rng(search.seed)
        foreseen, log_probs = [], []
        ends = futures(self.signature, source, search).tolist()
        for row, driven, ahead in zip(source.values, self._driven(source), ends, strict=True):
            shifts, past = driven @ self._inputs.T, len(driven) - ahead
            values = np.array(row[: len(driven), : self.width], dtype=np.float64)
            _, memory = self.delays.read(values[:past], shifts[:past], past, self._first)
            found = self.foreseen(memory, driven[past:], search.samples, chance)
            foreseen.append(found)
            values[past:] = found.mean
            log_probs.append(self._density(values, driven, ahead))
        return Prediction.ahead(foreseen, np.array(log_probs))

    def foreseen(
        self,
        memory: Memory,
        driven: Columns,
        samples: int = 0,
        chance: np.random.Generator | None = None,
    ) -> Foreseen:
        """What follows a memory, driven like this."""
        shifts = driven @ self._inputs.T
        mean, variance = self.delays.ahead(memory, shifts)
        if not self.guessed:
            paths = (
                self.delays.drawn(memory, shifts, samples, chance) if chance and samples else None
            )
            return Foreseen.normal(mean, np.sqrt(variance), paths)
        means, variances = self.guesses.ahead(memory.mean, driven)
        if memory.spread is not None:  # what is missing adds as much, whatever the weights
            variances += variance - self.delays.ahead(Memory(memory.mean, None), shifts)[1]
        centre = mean - means.mean(0)  # what is expected is what least squares expects
        quantiles = mixed(means + centre, np.sqrt(variances))
        paths = None
        if chance and samples:
            paths = centre + self.guesses.paths(memory, driven, samples, chance)
        return Foreseen(mean, quantiles, paths)

    def stepper(self) -> "AutoregressiveStepper":
        """Single steps, with what was learned so far."""
        return AutoregressiveStepper(self)

    def begin(self) -> Memory:
        """What is known of the taps before the first step."""
        return self._first

    def shift(self, inputs: Float[np.ndarray, " known"]) -> np.ndarray:
        """What drives a step."""
        moved: np.ndarray = self._inputs @ self.driving.rows(inputs[None])[0]
        return moved

    def weights(self) -> Weights:
        taps, noise = self.delays.taps, self.delays.noise
        found = (taps, self._inputs, noise, self._mean, self._spread)
        doubt = self._doubt.root, np.array([self._doubt.freedom])
        return dict(zip(NAMES, (*found, *doubt), strict=True))

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        mine = self.weights()
        fits = weights.keys() == mine.keys() and all(
            weights[name].shape == mine[name].shape for name in NAMES[1:5]
        )
        if not fits or weights["taps"].shape[1:] != mine["taps"].shape[1:]:
            raise ModelError("M111", f"the weights do not fit series of {self.width} numbers")
        doubt = Doubt(np.array(weights["doubt"]), float(weights["freedom"][0]))
        taps, driven, noise, mean, spread = (np.array(weights[name]) for name in NAMES[:5])
        self._take(taps, driven, noise, mean, spread, doubt)

    def _take(
        self,
        taps: Float[np.ndarray, "order width width"],
        driven: Float[np.ndarray, "width inputs"],
        noise: Float[np.ndarray, "width width"],
        mean: Float[np.ndarray, " width"],
        spread: Float[np.ndarray, " width"],
        doubt: Doubt,
    ) -> None:
        self.delays, self._inputs = Delays(taps, noise), driven
        self._mean, self._spread, self._doubt = mean, spread, doubt
        self._first = self.delays.first(mean, spread)
        self._guesses: Guesses | None = None

    @property
    def guesses(self) -> Guesses:
        """Weights that fit what was learned from about as well; always the same ones."""
        if self._guesses is None:
            over = self.difference
            self._guesses = Guesses.drawn(self.delays, self._inputs, self._doubt, over)
        return self._guesses

    def _driven(self, source: Sequences) -> list[Columns]:
        """What drives each step of each series."""
        lengths = source.lengths.tolist()
        rows = zip(source.values, lengths, strict=True)
        return [self.driving.rows(row[:length, self.width :]) for row, length in rows]


class AutoregressiveStepper:
    """One series, step by step: what is known of the taps, and what is expected next."""

    def __init__(self, model: Autoregressive) -> None:
        self._model, self._delays = model, model.delays

    def begin(self) -> State:
        return _state(self._model.begin())

    def step(
        self, value: Float[np.ndarray, " inputs"], state: State
    ) -> tuple[Float[np.ndarray, "rows width"], State]:
        row = np.asarray(value, dtype=np.float64)
        seen, inputs = row[: self._model.width], row[self._model.width :]
        memory = Memory(state[0], state[1] if state[1].any() else None)
        memory = self._delays.next(memory, self._model.shift(inputs))[2]
        memory = self._delays.told(memory, seen)
        found = self._model.foreseen(memory, self._model.driving.rows(inputs[None], later=1))
        return np.concatenate([found.mean, found.quantiles[0].T]), _state(memory)


def _state(memory: Memory) -> State:
    size = len(memory.mean)
    return memory.mean, np.zeros((size, size)) if memory.spread is None else memory.spread


def _positive(noise: Float[np.ndarray, "width width"]) -> Float[np.ndarray, "width width"]:
    """A covariance under which every row has a density."""
    sizes = np.diag(noise)
    real = sizes > LEAST
    found = np.where(np.outer(real, real), noise, 0) + np.diag(np.where(real, 0, LEAST))
    scale = np.sqrt(np.diag(found))
    roots, vectors = np.linalg.eigh(found / np.outer(scale, scale))
    if roots[0] < ALIKE:
        raise _alike(np.argsort(-np.abs(vectors[:, 0]))[:2] + 1)
    return found


def _products(
    rows: Float[np.ndarray, "_ _"], width: int, penalties: Float[np.ndarray, " columns"]
) -> Float[np.ndarray, "columns columns"]:
    """XᵀX with what keeps weights small."""
    x = rows[:, :-width]
    found: np.ndarray = x.T @ x + np.diag(penalties)
    return found


def _refuse_impossible(order: int, most: int, ridge: float) -> None:
    for name, number in (("order", order), ("most", most)):
        if number < 0:
            raise ModelError(
                "M441",
                f"model.{name} = {number}: expected a whole number of at least 1, or 0",
                help=[f"--set model.{name}=12"],
            )
    if order and most:
        raise ModelError(
            "M441",
            f"model.order is {order}, so that no other is tried: model.most has no meaning",
            help=["leave one of the two out"],
        )
    if ridge < 0:
        raise ModelError(
            "M441", f"model.ridge = {ridge:g} must not be negative", help=["--set model.ridge=1"]
        )


def _difference(kind: Differences, period: int) -> tuple[int, ...]:
    """The steps over which changes are taken, one after the other."""
    if kind in ("season", "both") and period < 2:  # noqa: PLR2004 - a season has two places at least
        raise no_season("differences")
    return {"none": (), "step": (1,), "season": (period,), "both": (1, period)}[kind]


def _too_few(order: int, columns: int, rows: int) -> ModelError:
    return ModelError(
        "M443",
        f"an autoregression of order {order} has {columns} weights for each number, and only"
        f" {rows} steps have all their taps",
        help=["--set model.order=1   or another small one"] * (order > 1)
        + ["--set model.ridge=1", "give longer series"],
    )


def _alike(columns: np.ndarray) -> ModelError:
    one, other = sorted(columns.tolist())
    return ModelError(
        "M444",
        f"columns {one} and {other} go wrong by the same amounts: their covariance is not positive",
        notes=["One of them follows from others without any error, as a copy or a sum would."],
        help=["leave that column out", "read the columns as series of their own"],
    )
