"""Forecasting with neural networks: recursive forecasts by sample paths, and direct forecasts.

Recursive: one step after another, each sampled from its predictive distribution and fed back.
Direct: one output layer predicts all steps of the horizon at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ..batch import Batch, Sequences
from ..model import Model, Prediction, Search, State
from ..nn.forecast.distributions import DISTRIBUTIONS
from ..nn.forecast.heads import NextStepOutput
from ..nn.forecast.options import ForecastOptions
from ..nn.forecast.windows import (
    ForecastBatch,
    forecast_batch,
    observed_log_density,
    observed_loss,
)
from ..nn.pooling import Body
from ..prediction import LEVELS, QuantileForecast
from ..signature import Series, Signature

MAX_PATHS = 1024  # sample paths computed side by side, which bounds memory


@dataclass(frozen=True)
class WindowForecast:
    """Forecast of a batch of windows, in their normalised units."""

    mean: Float[Tensor, "batch time width"]
    quantiles: Float[Tensor, "batch time width levels"]
    paths: Float[Tensor, "batch samples time width"] | None = None

    def denormalised(self, window: ForecastBatch, keep: int) -> list[QuantileForecast]:
        """In the units of the series, with the first `keep` sample paths."""
        shift, scale = window.shift, window.scale
        means = self.mean.double().numpy() * scale + shift
        quantiles = self.quantiles.double().numpy() * scale[..., None] + shift[..., None]
        if self.paths is None or not keep:
            return list(map(QuantileForecast, means, quantiles))
        paths = self.paths[:, :keep].double().numpy() * scale[:, None] + shift[:, None]
        return list(map(QuantileForecast, means, quantiles, paths))


@runtime_checkable
class DirectForecastNetwork(Protocol):
    """A network that predicts all steps of the horizon at once from the past of a window."""

    def distribution_parameters(
        self, window: ForecastBatch
    ) -> Float[Tensor, "batch ahead width count"]:
        """Parameters of the predictive distribution of each variable at each future step."""
        ...

    def parameters(self) -> Iterator[nn.Parameter]: ...


class Forecaster(ABC):
    """Log-densities, training loss and forecasts of time series, for any network."""

    def __init__(
        self, signature: Signature, forecast_options: ForecastOptions, look_back: int
    ) -> None:
        source, target = series_spaces(signature)
        self.width, self.known, self.horizon = target.width, source.known, target.horizon
        self.forecast_options, self.look_back = forecast_options, look_back
        self.density = DISTRIBUTIONS[forecast_options.output]()

    @property
    @abstractmethod
    def dtype(self) -> torch.dtype:
        """Data type of the weights."""

    @abstractmethod
    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        """Log-density of each future given its past; missing values are left out."""

    @abstractmethod
    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        """Training loss, averaged over observed values."""

    @abstractmethod
    def forecast(self, source: Sequences, search: Search) -> list[QuantileForecast]:
        """The forecasts without their densities."""

    def predict(self, source: Sequences, search: Search) -> Prediction:
        """The forecasts, and the predictive log-density of each at its mean."""
        forecasts = self.forecast(source, search)
        mean = Sequences.pad([each.mean for each in forecasts])
        log_prob = self.log_prob(Batch(source, mean)).double().numpy()
        return Prediction.of_forecasts(forecasts, log_prob)

    def _windows(
        self, source: Sequences, aheads: Int[np.ndarray, " batch"], target: Sequences | None = None
    ) -> ForecastBatch:
        return forecast_batch(
            source,
            aheads,
            self.width,
            look_back=self.look_back,
            center=self.forecast_options.center,
            dtype=self.dtype,
            target=target,
        )

    def _log_density(self, window: ForecastBatch, p: Tensor, y: Tensor) -> Float[Tensor, " batch"]:
        """Sum of the log-densities in the units of the series: scaling by s subtracts log s."""
        real = window.mask()
        each = observed_log_density(self.density, p, y, real)
        if self.forecast_options.center == "standard":
            log_scale = torch.from_numpy(np.log(window.scale)).to(each.dtype)
            each = each - log_scale * (~y.isnan() & real[..., None])
        return each.sum((1, 2))


class DirectForecaster(Forecaster):
    """Direct multi-step forecasts: all steps at once, independent of each other given the past.

    p(y_1 … y_H | past) = Π_k p_k(y_k | past)

    Steps beyond the horizon of training are forecast block by block, from sampled earlier blocks.
    """

    def __init__(
        self,
        signature: Signature,
        forecast_options: ForecastOptions,
        look_back: int,
        model: DirectForecastNetwork,
    ) -> None:
        super().__init__(signature, forecast_options, look_back)
        self.model = model

    @property
    def dtype(self) -> torch.dtype:
        return next(self.model.parameters()).dtype

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        total = torch.zeros(len(batch), dtype=self.dtype)
        for block in self._blocks(batch):
            window = self._windows(block.source, block.target.lengths)
            p, y = self.model.distribution_parameters(window), window.normalised(block.target)
            total = total + self._log_density(window, p, y)
        return total

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        window = self._windows(batch.source, batch.target.lengths)
        p, y = self.model.distribution_parameters(window), window.normalised(batch.target)
        losses, is_observed = observed_loss(self.density, p, y, window.mask())
        return losses.sum() / is_observed.sum().clamp(min=1)

    def forecast(self, source: Sequences, search: Search) -> list[QuantileForecast]:
        horizon = search.horizon or self.horizon
        if horizon > self.horizon:
            at_once = max(1, MAX_PATHS // max(search.samples, self.forecast_options.paths))
            rows = np.arange(len(source))
            parts = [_rows(source, r) for r in np.split(rows, rows[at_once::at_once])]
            return [each for part in parts for each in self._beyond(part, horizon, search)]
        window = self._windows(source, np.full(len(source), horizon))
        p = self.model.distribution_parameters(window)
        paths = None
        if search.samples:
            u = stratified_uniforms(search.seed, horizon, search.samples, self.width, self.dtype)
            each = p[:, None].expand(-1, search.samples, -1, -1, -1)
            paths = self.density.sample(each, u.expand(len(p), -1, -1, -1, -1))
        forecast = WindowForecast(self.density.mean(p), self.density.quantiles(p), paths)
        return forecast.denormalised(window, search.samples)

    def _beyond(self, source: Sequences, horizon: int, search: Search) -> list[QuantileForecast]:
        """A longer horizon, block by block, each given samples of the blocks before it."""
        count = max(search.samples, self.forecast_options.paths)
        first = self.forecast(_but_last(source, horizon - self.horizon), Search())
        u = stratified_uniforms(search.seed, horizon, count, self.width, self.dtype)
        pasts = np.repeat(source.lengths - horizon, count)
        values = np.repeat(source.values, count, 0)
        means = []
        for begin in range(0, horizon, self.horizon):
            ahead = min(self.horizon, horizon - begin)
            now = Sequences(values, pasts + begin + ahead)
            window = self._windows(now, np.full(len(values), ahead))
            p = self.model.distribution_parameters(window)
            block_u = u[:, begin : begin + ahead].repeat(len(source), 1, 1, 1)
            samples = self.density.sample(p, block_u).double().numpy()
            means.append(self.density.mean(p).double().numpy() * window.scale + window.shift)
            positions = pasts[:, None] + begin + np.arange(ahead)
            rows = np.arange(len(values))[:, None]
            values[rows, positions, : self.width] = samples * window.scale + window.shift
        positions = pasts[:, None] + np.arange(horizon)
        paths = values[np.arange(len(values))[:, None], positions, : self.width]
        mean = np.concatenate(means, 1).reshape(len(source), count, horizon, -1).mean(1)
        by_source = paths.reshape(len(source), count, horizon, -1)
        parts = zip(first, mean, by_source, strict=True)
        return [_joined(exact, each, few, search.samples) for exact, each, few in parts]

    def _blocks(self, batch: Batch) -> Iterator[Batch]:
        """Futures in blocks as long as the horizon, each with the blocks before it as past."""
        target = batch.target
        longest = int(target.lengths.max(initial=0))
        if longest <= self.horizon:
            yield batch
            return
        pasts = batch.source.lengths - target.lengths
        values = np.array(batch.source.values)
        for begin in range(0, longest, self.horizon):
            aheads = np.clip(target.lengths - begin, 0, self.horizon)
            block = Sequences(target.values[:, begin : begin + int(aheads.max())], aheads)
            over = np.minimum(begin, target.lengths)
            yield Batch(Sequences(np.array(values), pasts + over + aheads), block)
            for row in range(len(values)):
                start = pasts[row] + begin
                values[row, start : start + aheads[row], : self.width] = block.values[
                    row, : aheads[row]
                ]


class RecursiveForecaster(Forecaster):
    """Recursive multi-step forecasts (autoregressive sampling): each step given all before it.

    p(y_1 … y_H | past) = Π_k p(y_k | past, y_1 … y_k-1)

    Training reads the true values, also those of the future (teacher forcing), and every step of
    past and future adds to the loss. If windows are normalised by their past, only the future does:
    the normalisation would leak later values of the past.
    """

    def __init__(
        self,
        signature: Signature,
        forecast_options: ForecastOptions,
        look_back: int,
        input_layer: nn.Module,
        body: Body,
        dropout: nn.Module,
        output: NextStepOutput,
    ) -> None:
        super().__init__(signature, forecast_options, look_back)
        self.input, self.body, self.dropout, self.output = input_layer, body, dropout, output

    @property
    def dtype(self) -> torch.dtype:
        return self.output.told.weight.dtype

    def log_prob(self, batch: Batch) -> Float[Tensor, " batch"]:
        window = self._windows(batch.source, batch.target.lengths, batch.target)
        states = self._shifted(self._states(window))
        p, y = self.output(window.future(states)), window.future(window.values)
        return self._log_density(window, p, y)

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        window = self._windows(batch.source, batch.target.lengths, batch.target)
        states = self._states(window)
        if self.forecast_options.center == "none":
            real = torch.arange(1, window.values.shape[1]) < window.lengths[:, None]
            p, y = self.output(states), window.values[:, 1:]
            losses, is_observed = observed_loss(self.density, p, y, real)
        else:
            p, y = self.output(window.future(self._shifted(states))), window.future(window.values)
            losses, is_observed = observed_loss(self.density, p, y, window.mask())
        return losses.sum() / is_observed.sum().clamp(min=1)

    def forecast(self, source: Sequences, search: Search) -> list[QuantileForecast]:
        horizon = search.horizon or self.horizon
        window = self._windows(source, np.full(len(source), horizon))
        count = max(search.samples, self.forecast_options.paths)
        if horizon == 1 and not search.samples:
            count = 1
        forecasts: list[QuantileForecast] = [
            QuantileForecast(np.zeros((0, 0)), np.zeros((0, 0, 0)))
        ] * len(source)
        for rows in _equally_long(window.pasts.numpy(), max(1, MAX_PATHS // count)):
            part = _window_rows(window, rows)
            u = stratified_uniforms(search.seed, horizon, count, self.width, self.dtype)
            each = self._sample_paths(part, u).denormalised(part, search.samples)
            for row, forecast in zip(rows.tolist(), each, strict=True):
                forecasts[row] = forecast
        return forecasts

    def _sample_paths(
        self, window: ForecastBatch, u: Float[Tensor, "samples time width 2"]
    ) -> WindowForecast:
        """Ancestral sampling of paths. The distribution of the first step needs no samples."""
        body: Any = self.body
        count, horizon = u.shape[:2]
        batch, past = len(window.values), int(window.pasts[0])
        embedded = self.input(window.inputs()[:, :past])
        outputs, state = body.carry(embedded, body.initial(batch))
        p = self.output(outputs[:, -1])[:, None].expand(-1, count, -1, -1)
        first, means, paths = self.density.quantiles(p[:, 0]), [], []
        for step in range(horizon):
            y = self.density.sample(p, u[:, step].expand(batch, -1, -1, -1))
            means.append(self.density.mean(p).mean(1))
            paths.append(y)
            if step + 1 == horizon:
                break
            if step == 0:  # the past is read once, then each of its states starts all its paths
                state = tuple(part.repeat_interleave(count, 0) for part in state)
            known = window.covariates[:, past + step + 1, None].expand(-1, count, -1)
            row = torch.cat([y, known], dim=-1).flatten(0, 1)
            output, state = body.step(self.input(row), state)
            p = self.output(output).unflatten(0, (batch, count))
        samples = torch.stack(paths, dim=2)
        levels = samples.new_tensor(LEVELS)
        quantiles = samples.quantile(levels, dim=1).permute(1, 2, 3, 0)
        quantiles = torch.cat([first[:, None], quantiles[:, 1:]], dim=1)
        return WindowForecast(torch.stack(means, dim=1), quantiles, samples)

    def _states(self, window: ForecastBatch) -> Float[Tensor, "batch before hidden"]:
        embedded = self.input(window.inputs())
        states: Tensor = self.dropout(self.body(embedded, window.lengths - 1))
        return states

    @staticmethod
    def _shifted(
        states: Float[Tensor, "batch before hidden"],
    ) -> Float[Tensor, "batch time hidden"]:
        """For each row the state that predicts it, which is that before it; the first has none."""
        return torch.cat([states[:, :1], states], dim=1)


class ForecastStepper:
    """Streaming forecasts: after each row, the forecast of the next step.

    A state is the look-back window: the last rows, read anew at every step.
    """

    def __init__(self, model: Model, forecaster: Forecaster) -> None:
        self._model, self._forecaster = deepcopy((model, forecaster))

    def begin(self) -> State:
        return (np.zeros((0, self._forecaster.width + self._forecaster.known)),)

    def step(self, value: Any, state: State) -> tuple[Float[np.ndarray, "rows width"], State]:
        row = np.asarray(value, dtype=np.float64)[None]
        rows = np.concatenate([state[0], row])[-self._forecaster.look_back :]
        after = np.array(row)
        after[:, : self._forecaster.width] = np.nan  # its inputs are those of this step
        source = Sequences.pad([np.concatenate([rows, after])])
        with self._model.inference_mode():
            (forecast,) = self._forecaster.forecast(source, Search(horizon=1))
        return np.concatenate([forecast.mean, forecast.quantiles[0].T]), (rows,)


def series_spaces(signature: Signature) -> tuple[Series, Series]:
    """The source and target spaces of a forecasting task."""
    source, target = signature.source, signature.target
    if not isinstance(source, Series) or not isinstance(target, Series):
        raise TypeError("forecasts need time series as source and target")
    return source, target


def stratified_uniforms(
    seed: int, steps: int, count: int, width: int, dtype: torch.dtype
) -> Float[Tensor, "samples time width 2"]:
    """Stratified uniform random numbers: two for each step of each path, the same for all series.

    At each step there is one in each of `count` equal parts of [0, 1], so that few paths give good
    quantiles (Latin hypercube sampling); each path alone has independent uniform numbers.
    """
    uniforms = np.empty((count, steps, width, 2))
    for step in range(steps):  # seeded by step, so that a longer horizon begins with the same paths
        random = np.random.default_rng([seed, step])
        parts = random.permuted(np.tile(np.arange(count), (2 * width, 1)), axis=1)
        uniforms[:, step] = (
            parts.T.reshape(count, width, 2) + random.random((count, width, 2))
        ) / count
    # The inverse distribution functions are infinite at 0 and 1.
    return torch.from_numpy(np.clip(uniforms, 1e-6, 1 - 1e-6)).to(dtype)


def _joined(
    exact: QuantileForecast,
    mean: Float[np.ndarray, "time width"],
    paths: Float[np.ndarray, "samples time width"],
    keep: int,
) -> QuantileForecast:
    """A forecast from sample paths, its beginning replaced by the exact forecast."""
    sampled, known = QuantileForecast.from_samples(paths, keep=keep), len(exact.mean)
    return QuantileForecast(
        np.concatenate([exact.mean, mean[known:]]),
        np.concatenate([exact.quantiles, sampled.quantiles[known:]]),
        sampled.paths,
    )


def _rows(source: Sequences, rows: Int[np.ndarray, " some"]) -> Sequences:
    return Sequences(source.values[rows], source.lengths[rows])


def _but_last(source: Sequences, count: int) -> Sequences:
    return Sequences(source.values, source.lengths - count)


def _equally_long(
    pasts: Int[np.ndarray, " batch"], most: int
) -> Iterator[Int[np.ndarray, " some"]]:
    """Indices of rows with equally long pasts, at most so many at a time.

    Without padding a body can be stepped on from the last column of all of them.
    """
    for past in np.unique(pasts):
        rows = np.flatnonzero(pasts == past)
        yield from np.split(rows, range(most, len(rows), most))


def _window_rows(window: ForecastBatch, rows: Int[np.ndarray, " some"]) -> ForecastBatch:
    """Some rows of a batch of windows."""
    few = torch.from_numpy(rows)
    tensors = window.values[few], window.covariates[few], window.pasts[few], window.horizons[few]
    return ForecastBatch(*tensors, window.shift[rows], window.scale[rows])
