"""Forecasting: point forecasts, quantiles and sample paths; `seqloom forecast`, `run.forecast`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from ..data.series.scaling import Scale, apply_transform
from ..data.series.schema import TimeSeries
from ..data.series.windows import ForecastWindow
from ..errors import DataError, UsageError, nearest
from ..evaluation.evaluate import predict
from ..model import Decomposable, Model, Search
from ..prediction import QuantileForecast
from ..signature import Series
from ..task import Task
from ..views import Component, ComponentsView, FanChart, ForecastView, fan_charts
from ..views.forecast import fan_chart_json

LISTED = 8  # names of series listed in an error


@runtime_checkable
class ForecastTask(Protocol):
    """A task that forecasts time series."""

    history: int

    def ahead(self, series: TimeSeries, horizon: int = 0) -> ForecastWindow:
        """The window to forecast after a series; horizon 0 is the trained horizon."""
        ...

    def scale_of(self, example: ForecastWindow) -> Scale:
        """The scaling of a window's values for the model."""
        ...


@dataclass(frozen=True, kw_only=True)
class ForecastRequest:
    """Options of a forecast.

    Args:
        horizon: Forecast horizon in steps; 0 is the trained horizon.
        samples: Number of sample paths.
        seed: Random seed of the sample paths.
        hold_out: Whether the last steps of each series are held out and forecast.
        series: Names of the series to forecast; empty means all.
    """

    horizon: int = 0
    samples: int = 0
    seed: int = 1
    hold_out: bool = False
    series: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class SeriesForecast:
    """The forecast of one series, in the units of its file.

    Args:
        model: Name of the run.
        name: Name of the series.
        names: Names of its columns.
        times: Time labels of the past and of the horizon.
        past: The observations; NaN where one is missing.
        forecast: Mean, quantiles and sample paths.
        actual: The actual values of the horizon, if known.
    """

    model: str
    name: str
    names: tuple[str, ...]
    times: tuple[str, ...]
    past: Float[np.ndarray, "past width"]
    forecast: QuantileForecast
    actual: Float[np.ndarray, "ahead width"] | None = None

    @property
    def ahead(self) -> tuple[str, ...]:
        """The time labels of the horizon."""
        return self.times[len(self.past) :]

    @property
    def mean(self) -> Float[np.ndarray, "ahead width"]:
        """The mean forecast of each step."""
        return self.forecast.mean

    def interval(
        self, level: float
    ) -> tuple[Float[np.ndarray, "ahead width"], Float[np.ndarray, "ahead width"]]:
        """The central prediction interval of level 0.5, 0.8 or 0.95."""
        return self.forecast.interval(level)

    def fans(self) -> list[FanChart]:
        """A fan chart for each column, titled by series and column."""
        titles = [_title(self.name, name, len(self.names)) for name in self.names]
        return fan_charts(titles, self.past, self.forecast, self.times, self.actual)

    def view(self, *, history: int = 0, dark: bool = False) -> ForecastView:
        """The forecast as a plot, with `history` steps of the past; 0 chooses the number."""
        return forecast_view([self], history=history, dark=dark)

    def as_dict(self) -> dict[str, Any]:
        """The forecast as JSON; None for missing values."""
        columns = []
        for name, fan in zip(self.names, self.fans(), strict=True):
            plain = fan_chart_json(fan)
            kept = {key: plain[key] for key in ("mean", "quantiles", "actual")}
            paths = {"samples": plain["paths"]} if "paths" in plain else {}
            columns.append({"name": name, **kept, **paths})
        return {
            "run": self.model,
            "series": self.name,
            "after": self.times[len(self.past) - 1] if len(self.past) else None,
            "horizon": len(self.ahead),
            "times": list(self.ahead),
            "numbers": columns,
        }

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The plot, for notebooks."""
        return self.view()._repr_mimebundle_(include, exclude)

    def __str__(self) -> str:
        return self.view().to_text()


def forecast_series(  # noqa: PLR0913, PLR0917 - `tell` may be left out
    model: Model,
    task: Task,
    series: Sequence[TimeSeries],
    request: ForecastRequest,
    name: str,
    tell: Callable[[int], None] = lambda done: None,
) -> list[SeriesForecast]:
    """Forecast each series, in their order."""
    if not isinstance(task, ForecastTask):
        raise TypeError(f"{type(task).__name__} forecasts nothing")
    target = task.signature().target
    steps = request.horizon or (target.horizon if isinstance(target, Series) else 1)
    request = replace(request, horizon=steps)
    windows = [_window(task, one, request) for one in select_series(series, request.series)]
    search = Search(horizon=request.horizon, samples=request.samples, seed=request.seed)
    predictions = predict(model, task, windows, search, tell)
    found = [prediction.value for prediction in predictions]
    return [_series_forecast(name, *pair) for pair in zip(windows, found, strict=True)]


def forecast_view(
    found: Sequence[SeriesForecast], *, history: int = 0, dark: bool = False
) -> ForecastView:
    """Several forecasts in one plot."""
    fans = [fan for one in found for fan in one.fans()]
    names = ", ".join(dict.fromkeys(one.model for one in found))
    return ForecastView(fans, names, history=history, dark=dark)


def components_of(
    model: Model, task: Task, series: TimeSeries, name: str, notes: Sequence[str] = ()
) -> ComponentsView:
    """What a series is made of, in the units of its file; of logarithms or roots in those."""
    if not (isinstance(model, Decomposable) and isinstance(task, ForecastTask)):
        raise TypeError(f"{type(model).__name__} has no decomposition into components")
    window = task.ahead(series, 1)
    rows = np.asarray(task.encode_source(window))[: window.origin - window.start]
    scale = task.scale_of(window)
    observed = apply_transform(window.past, scale.transform)
    columns = getattr(task, "outline", None)
    names = columns.names if columns is not None and observed.shape[1] > 1 else ("",)
    parts = [
        _component(part, number, found, scale, observed, names)
        for part, found in model.components(rows).items()
        for number in range(found[0].shape[1])
    ]
    units = {"none": [], "log": ["in natural logarithms"], "sqrt": ["in square roots"]}
    all_notes = [*notes, *units[scale.transform]]
    return ComponentsView(parts, name, series.times[window.start : window.origin], all_notes)


def _component(  # noqa: PLR0913, PLR0917 - one column with its scaling and names
    part: str,
    number: int,
    found: tuple[np.ndarray, np.ndarray],
    scale: Scale,
    observed: Float[np.ndarray, "time width"],
    names: Sequence[str],
) -> Component:
    mean, deviation = found[0][:, number], found[1][:, number]
    if part.startswith("state ") or found[0].shape[1] != observed.shape[1]:
        return Component(part, mean, deviation)  # not in the units of the file
    factor, shift = scale.factor[number], scale.shift[number]
    title = f"{part} · {names[number]}" if len(names) > 1 else part
    if part != "level":
        return Component(title, factor * mean, factor * deviation)
    return Component(title, factor * mean + shift, factor * deviation, observed[:, number])


def series_from_rows(task: Task, rows: Sequence[Any]) -> TimeSeries:
    """A series from numbers, or from rows of numbers; None for missing values."""
    lines = [[row] if row is None or np.ndim(row) == 0 else row for row in rows]
    texts = [" ".join("nan" if n is None else repr(float(n)) for n in line) for line in lines]
    window: ForecastWindow = task.question("; ".join(texts))
    return truncate_at_origin(window)


def truncate_at_origin(window: ForecastWindow) -> TimeSeries:
    """The series of a window up to the forecast origin."""
    series, cut = window.series, window.origin
    return replace(
        series, values=series.values[:cut], known=series.known[:cut], times=series.times[:cut]
    )


def _window(task: ForecastTask, series: TimeSeries, request: ForecastRequest) -> ForecastWindow:
    if not np.isfinite(series.values).any():
        of = f' of "{series.name}"' if series.name else ""
        raise DataError("D261", f"there is no value{of} to forecast from")
    if not request.hold_out:
        return task.ahead(series, request.horizon)
    observed = np.flatnonzero(np.isfinite(series.values).any(1))
    end, steps = int(observed[-1]) + 1, request.horizon
    if end <= steps:
        of = f' "{series.name}"' if series.name else ""
        raise DataError(
            "D260",
            f"the series{of} has {len(series):,} steps: with {steps:,} held out, nothing is left"
            " to read",
            help=[f"--horizon {max(1, len(series) // 4)}   hold out fewer"],
        )
    cut = end - steps
    begin = max(0, cut - task.history) if task.history else 0
    return ForecastWindow(series, begin, cut, end, cut)


def select_series(series: Sequence[TimeSeries], names: Sequence[str]) -> list[TimeSeries]:
    """The series with these names, in the order of the names; all without names."""
    found: list[TimeSeries] = []
    for name in names:
        mine = [one for one in series if one.name == name]
        if not mine:
            known = [one.name for one in series]
            near = nearest(name, known)
            listed = ", ".join(known[:LISTED]) + ", …" * (len(known) > LISTED)
            raise UsageError(
                "U315",
                f"there is no series called {name!r}",
                help=[f"did you mean {near!r}?"] * (near is not None) + [f"there are: {listed}"],
            )
        found += mine
    return found if names else list(series)


def _series_forecast(model: str, window: ForecastWindow, prediction: Any) -> SeriesForecast:
    """A prediction as the forecast of a series, with the past and the actual values."""
    series, cut = window.series, window.origin
    actual = series.values[cut : window.end]
    return SeriesForecast(
        model,
        series.name,
        tuple(prediction.names) or (series.name or "value",),
        tuple(series.times[: window.end]),
        series.values[:cut],
        QuantileForecast(prediction.mean, prediction.quantiles, prediction.paths),
        actual if np.isfinite(actual).any() else None,
    )


def _title(series: str, number: str, count: int) -> str:
    """The title of a column of a series: column name, series name or both."""
    if not series or series == number:
        return number
    return f"{series} · {number}" if count > 1 else series
