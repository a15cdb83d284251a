"""Vector autoregression (VAR, with exogenous inputs), estimated by least squares."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from ..batch import Batch, Sequences
from ..config import SizeOrZero
from ..errors import ModelError
from ..model import Model, Prediction, Search, State, Weights
from ..prediction import QuantileForecast
from ..signature import Form, Series, Signature
from ..statistical.autoregression.exogenous import Regressors, no_season
from ..statistical.autoregression.least_squares import (
    LagRegressions,
    LeastSquaresFit,
    gather,
    restrict_order,
    solve,
    sums_of,
)
from ..statistical.autoregression.posterior import (
    SAMPLES,
    CoefficientPosterior,
    CoefficientSamples,
    log_mean_exp,
    mixture_quantiles,
)
from ..statistical.autoregression.simulate import (
    ARProcess,
    LagState,
    Values,
    difference,
    integrate,
)
from .series import horizons, nothing_observed, observed_series

NAMES = ("taps", "driven", "noise", "mean", "spread", "doubt", "freedom")  # weights on disk
WITH_GAPS = [
    *range(20),
    *range(SAMPLES // 2, SAMPLES // 2 + 20),
]  # coefficient samples, if values are missing
MAX_JOINT = 256  # values of a future with gaps whose joint covariance is computed
MIN_VARIANCE = 1e-24  # of what is forecast without error, so that densities are finite
MIN_EIGENVALUE = 1e-10  # of a residual correlation matrix that counts as positive definite
MAX_ORDERS = (12, 60)  # bounds of the default maximum order

Design = Float[np.ndarray, "time columns"]  # deterministic terms and inputs of each step
Criterion = Literal["aicc", "aic", "bic"]
Differences = Literal["none", "step", "season", "both"]


class Autoregressive(Model):
    """Vector autoregression VAR(p), or AR(p), with exogenous inputs, fitted by least squares.

    x_t = c + b t + s_{t mod m} + A₁ x_{t-1} + … + A_p x_{t-p} + B u_t + e_t,   e_t ~ N(0, Σ)

    With `differences`, y_t = x_t - x_{t-1}, or x_t - x_{t-m}, replaces x_t on both sides: an
    ARIMA(p, d, 0) model.

    With several variables it is a vector autoregression (Sims, 1980). Coefficients are estimated by
    least squares over all series together; rows with missing values are left out. The order p
    minimises AIC, log |Σ| + 2 k / n (Akaike, 1974), BIC, log |Σ| + k log n / n (Schwarz, 1978), or
    AICc, AIC corrected for small samples (Hurvich & Tsai, 1993), k being the number of coefficients
    and n that of rows, the same rows for all orders.

    Forecast means and covariances follow the recursion, and missing values of the past are
    conditioned on all observations. With known coefficients forecasts are exact and Gaussian. Else
    they are averaged over the posterior of the coefficients, which makes one-step forecasts
    Student's t, and prediction intervals wider the fewer steps there were.

    Args:
        order: Order p, the number of lags; 0 lets the criterion choose.
        most: Maximum order that is tried; 0 is the seasonal period plus one, from 12 to 60.
        criterion: Information criterion that selects the order: aic, aicc (for small samples), or
            bic, which selects smaller orders.
        ridge: Ridge (L2) penalty on the coefficients of lags and inputs; 0 is ordinary least
            squares.
        intercept: Constant term c.
        trend: Linear trend b t.
        season: Seasonal dummies: a constant for each phase of the season.
        differences: Differencing, for series without a constant mean: none, first differences
            (step), seasonal differences (season), or both.
        guessed: Coefficient uncertainty: prediction intervals include the estimation error of the
            coefficients; else they count as known.
    """

    forms = frozenset({Form.FORECAST})
    source_spaces = target_spaces = frozenset({Series})
    learns = "closed form (least squares)"

    def __init__(
        self,
        signature: Signature,
        *,
        order: SizeOrZero = 0,
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
        self.is_joint = not guessed  # observed steps do not update the posterior of coefficients
        self.guessed = guessed
        if not isinstance(signature.target, Series) or not isinstance(signature.source, Series):
            raise TypeError("autoregression forecasts time series")
        _check_options(order, most, ridge)
        self.width, self.ridge, self.criterion = signature.target.width, ridge, criterion
        self.regressors = Regressors.of(signature.source, intercept, trend, season)
        self.difference = _difference(differences, signature.target.period)
        self._radius = 0.0  # spectral radius of the estimated process, before integration
        least, highest = MAX_ORDERS
        self.order = order
        self.most = order or most or min(max(least, signature.target.period + 1), highest)
        self.criteria: dict[int, float] = {}  # value of the criterion by order
        inputs, identity = self.regressors.columns, np.eye(self.width)
        self._set(
            integrate(np.zeros((max(order, 1), self.width, self.width)), self.difference),
            np.zeros((self.width, inputs)),
            identity,
            np.zeros(self.width),
            np.ones(self.width),
            CoefficientPosterior.certain(inputs + order * self.width),
        )

    def statistics(self, batch: Batch) -> LagRegressions:
        orders = [self.order] if self.order else [*range(self.most + 1)]
        series = observed_series(batch, self.width)
        changes = [difference(values, self.difference) for values in series]
        return gather(changes, self._design(batch.source), orders, sums_of(series))

    def update(self, statistics: LagRegressions) -> None:
        count, total, squares = statistics.sums
        if not count.all():
            raise nothing_observed(int(np.flatnonzero(count == 0)[0]) + 1, self.width)
        order = self.order or self._select_order(statistics)
        rows, number = statistics.of(order)
        columns = self.regressors.columns + order * self.width
        if not self.ridge and number <= columns:
            raise _too_few(order, columns, number)
        penalties = self._penalties(order)
        fit = solve(rows, number, self.width, penalties)
        mean = total / count
        inputs, lags = np.split(fit.coefficients, [self.regressors.columns])
        shape = (order, self.width, self.width)
        coefficients = np.zeros((1, *shape[1:]))
        if order:
            coefficients = np.swapaxes(lags.reshape(shape), 1, 2)
        noise = _positive(fit.noise())
        variance = np.maximum(squares / count - mean**2, MIN_VARIANCE)
        self._radius = ARProcess(coefficients, noise).radius()
        products = _products(rows, self.width, penalties)
        posterior = CoefficientPosterior.of(products, number, fit.freedom)
        process = integrate(coefficients, self.difference)
        self._set(process, inputs.T, noise, mean, variance, posterior)

    def _select_order(self, statistics: LagRegressions) -> int:
        """The order that minimises the criterion, over the rows of the highest order."""
        enough = [
            order
            for order, count in zip(statistics.orders, statistics.counts, strict=True)
            if count > self.regressors.columns + (order + 1) * self.width
        ]
        highest = enough[-1] if enough else 0
        rows, count = statistics.of(highest)
        weight = 2.0 if self.criterion == "aic" else float(np.log(max(count, 1)))
        self.criteria = {}
        for order in enough:
            fit = self._fit_order(rows, count, order, highest)
            corrected = self.criterion == "aicc"
            self.criteria[order] = fit.corrected() if corrected else fit.criterion(weight)
        return min(self.criteria, key=lambda order: self.criteria[order], default=0)

    def _fit_order(
        self, rows: Float[np.ndarray, "_ _"], count: int, order: int, highest: int
    ) -> LeastSquaresFit:
        part = restrict_order(rows, order, highest, self.width)
        return solve(part, count, self.width, self._penalties(order))

    def _penalties(self, order: int) -> Float[np.ndarray, " columns"]:
        """Ridge penalties of lags and inputs; constant, trend and season have none."""
        free = self.regressors.columns - self.regressors.inputs
        small = self.regressors.inputs + order * self.width
        return np.array([0.0] * free + [self.ridge] * small)

    def warning(self) -> dict[str, Any]:
        """Warn if the estimated process is explosive: a root outside the unit circle."""
        size = self._radius
        if size <= 1:
            return {}
        return {
            "code": "M446",
            "problem": f"the estimated process is explosive: its largest root is {size:.5g}, so"
            " long-range forecasts grow without bound (fewer lags, --set model.order, or"
            " --set model.ridge=1 may help)",
            "radius": size,
            "help": ["--set model.order=1   or another small one", "--set model.ridge=1"],
        }

    def log_prob(self, batch: Batch) -> Float[np.ndarray, " batch"]:
        series, inputs = observed_series(batch, self.width), self._design(batch.source)
        aheads = batch.target.lengths.tolist()
        return np.array(
            [self._log_density(*one) for one in zip(series, inputs, aheads, strict=True)]
        )

    def _log_density(self, values: Values, design: Design, ahead: int) -> float:
        """Log-density of the last rows given the others."""
        start, order = len(values) - ahead, self.process.order
        if not self.guessed or not start:  # no past: a training series, with known coefficients
            return self._density_under(self.process, self._inputs, values, design, start)
        if start >= order and not np.isnan(values[start - order : start]).any():
            if not np.isnan(values[start:]).any():
                return log_mean_exp(self.coefficient_samples.log_densities(values, design, start))
            if values[start:].size <= MAX_JOINT:
                recent = values[start - order : start][::-1].ravel()
                rest = values[start:], design[start:]
                return log_mean_exp(self.coefficient_samples.log_densities_observed(recent, *rest))
        some = [self.coefficient_samples.one(number) for number in WITH_GAPS]
        return log_mean_exp(
            np.array([self._density_under(*o, values, design, start) for o in some])
        )

    def _density_under(
        self, process: ARProcess, inputs: np.ndarray, values: Values, design: Design, start: int
    ) -> float:
        return process.filter(values, design @ inputs.T, start, self._first)[0]

    def predict(self, source: Sequences, search: Search) -> Prediction:
        random = np.random.default_rng(search.seed)
        forecasts, log_probs = [], []
        aheads = horizons(self.signature, source, search).tolist()
        for row, design, ahead in zip(source.values, self._design(source), aheads, strict=True):
            shifts, past = design @ self._inputs.T, len(design) - ahead
            values = np.array(row[: len(design), : self.width], dtype=np.float64)
            _, lags = self.process.filter(values[:past], shifts[:past], past, self._first)
            forecast = self.forecast(lags, design[past:], search.samples, random)
            forecasts.append(forecast)
            values[past:] = forecast.mean
            log_probs.append(self._log_density(values, design, ahead))
        return Prediction.of_forecasts(forecasts, np.array(log_probs))

    def forecast(
        self,
        lags: LagState,
        design: Design,
        samples: int = 0,
        random: np.random.Generator | None = None,
    ) -> QuantileForecast:
        """Forecast after a lag state, with these deterministic terms and inputs."""
        shifts = design @ self._inputs.T
        mean, variance = self.process.forecast(lags, shifts)
        if not self.guessed:
            paths = (
                self.process.sample_paths(lags, shifts, samples, random)
                if random and samples
                else None
            )
            return QuantileForecast.normal(mean, np.sqrt(variance), paths)
        means, variances = self.coefficient_samples.forecast(lags.mean, design)
        if lags.covariance is not None:  # missing lags add the same variance for any coefficients
            variances += variance - self.process.forecast(LagState(lags.mean, None), shifts)[1]
        # The mean over samples differs from the least-squares forecast by chance: it is shifted.
        centre = mean - means.mean(0)
        quantiles = mixture_quantiles(means + centre, np.sqrt(variances))
        paths = None
        if random and samples:
            paths = centre + self.coefficient_samples.sample_paths(lags, design, samples, random)
        return QuantileForecast(mean, quantiles, paths)

    def stepper(self) -> "AutoregressiveStepper":
        """Streaming forecasts of the next step."""
        return AutoregressiveStepper(self)

    def begin(self) -> LagState:
        """Distribution of the lags before the first step."""
        return self._first

    def shift(self, inputs: Float[np.ndarray, " known"]) -> np.ndarray:
        """The part of a step that follows from its inputs."""
        shift: np.ndarray = self._inputs @ self.regressors.design_matrix(inputs[None])[0]
        return shift

    def weights(self) -> Weights:
        coefficients, noise = self.process.coefficients, self.process.noise
        estimates = (coefficients, self._inputs, noise, self._mean, self._variance)
        posterior = self._posterior.root, np.array([self._posterior.freedom])
        return dict(zip(NAMES, (*estimates, *posterior), strict=True))

    def restore(self, weights: Mapping[str, np.ndarray]) -> None:
        mine = self.weights()
        fits = weights.keys() == mine.keys() and all(
            weights[name].shape == mine[name].shape for name in NAMES[1:5]
        )
        if not fits or weights["taps"].shape[1:] != mine["taps"].shape[1:]:
            raise ModelError("M111", f"the weights do not fit series of {self.width} variables")
        posterior = CoefficientPosterior(np.array(weights["doubt"]), float(weights["freedom"][0]))
        taps, inputs, noise, mean, variance = (np.array(weights[name]) for name in NAMES[:5])
        self._set(taps, inputs, noise, mean, variance, posterior)

    def _set(
        self,
        coefficients: Float[np.ndarray, "order width width"],
        inputs: Float[np.ndarray, "width inputs"],
        noise: Float[np.ndarray, "width width"],
        mean: Float[np.ndarray, " width"],
        variance: Float[np.ndarray, " width"],
        posterior: CoefficientPosterior,
    ) -> None:
        self.process, self._inputs = ARProcess(coefficients, noise), inputs
        self._mean, self._variance, self._posterior = mean, variance, posterior
        self._first = self.process.first(mean, variance)
        self._samples: CoefficientSamples | None = None

    @property
    def coefficient_samples(self) -> CoefficientSamples:
        """Samples from the posterior of the coefficients, always the same ones."""
        if self._samples is None:
            over = self.difference
            self._samples = CoefficientSamples.sample(
                self.process, self._inputs, self._posterior, over
            )
        return self._samples

    def _design(self, source: Sequences) -> list[Design]:
        """Deterministic terms and inputs of each step of each series."""
        lengths = source.lengths.tolist()
        rows = zip(source.values, lengths, strict=True)
        return [self.regressors.design_matrix(row[:length, self.width :]) for row, length in rows]


class AutoregressiveStepper:
    """Streaming forecasts: the distribution of the lags, and the forecast of the next step."""

    def __init__(self, model: Autoregressive) -> None:
        self._model, self._process = model, model.process

    def begin(self) -> State:
        return _state(self._model.begin())

    def step(
        self, value: Float[np.ndarray, " inputs"], state: State
    ) -> tuple[Float[np.ndarray, "rows width"], State]:
        row = np.asarray(value, dtype=np.float64)
        observed, inputs = row[: self._model.width], row[self._model.width :]
        lags = LagState(state[0], state[1] if state[1].any() else None)
        lags = self._process.next(lags, self._model.shift(inputs))[2]
        lags = self._process.update(lags, observed)
        forecast = self._model.forecast(
            lags, self._model.regressors.design_matrix(inputs[None], later=1)
        )
        return np.concatenate([forecast.mean, forecast.quantiles[0].T]), _state(lags)


def _state(lags: LagState) -> State:
    size = len(lags.mean)
    return lags.mean, np.zeros((size, size)) if lags.covariance is None else lags.covariance


def _positive(noise: Float[np.ndarray, "width width"]) -> Float[np.ndarray, "width width"]:
    """A positive definite covariance, so that every row has a density."""
    # Variables that are forecast without error get a tiny variance, uncorrelated with the others.
    real = np.diag(noise) > MIN_VARIANCE
    variances = np.diag(np.where(real, 0, MIN_VARIANCE))
    covariance: np.ndarray = np.where(np.outer(real, real), noise, 0) + variances
    scale = np.sqrt(np.diag(covariance))
    # Of correlations, so that the test does not depend on the units of the variables.
    roots, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    if roots[0] < MIN_EIGENVALUE:
        raise _collinear(np.argsort(-np.abs(vectors[:, 0]))[:2] + 1)
    return covariance


def _products(
    rows: Float[np.ndarray, "_ _"], width: int, penalties: Float[np.ndarray, " columns"]
) -> Float[np.ndarray, "columns columns"]:
    """XᵀX plus the ridge penalties."""
    x = rows[:, :-width]
    products: np.ndarray = x.T @ x + np.diag(penalties)
    return products


def _check_options(order: int, most: int, ridge: float) -> None:
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
            f"model.order = {order} fixes the order, so model.most has no effect",
            help=["leave one of the two out"],
        )
    if ridge < 0:
        raise ModelError(
            "M441", f"model.ridge = {ridge:g} must not be negative", help=["--set model.ridge=1"]
        )


def _difference(kind: Differences, period: int) -> tuple[int, ...]:
    """The lags of differencing, one after the other."""
    if kind in ("season", "both") and period < 2:  # noqa: PLR2004 - a season has two phases or more
        raise no_season("differences")
    return {"none": (), "step": (1,), "season": (period,), "both": (1, period)}[kind]


def _too_few(order: int, columns: int, rows: int) -> ModelError:
    return ModelError(
        "M443",
        f"an autoregression of order {order} has {columns} coefficients for each variable, and only"
        f" {rows} steps have all their lags",
        help=["--set model.order=1   or another small one"] * (order > 1)
        + ["--set model.ridge=1", "give longer series"],
    )


def _collinear(columns: np.ndarray) -> ModelError:
    one, other = sorted(columns.tolist())
    return ModelError(
        "M444",
        f"columns {one} and {other} are collinear: their residual covariance is singular",
        notes=["One of them follows from others without any error, as a copy or a sum would."],
        help=["leave that column out", "read the columns as series of their own"],
    )
