"""Attribution of a forecast to the observations before it, by finite differences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from ...batch import Sequences
from ...cancellation import check_cancelled
from ...data.series.schema import TimeSeries
from ...data.series.windows import ForecastWindow
from ...errors import ModelError, UsageError
from ...inference.forecast import ForecastTask
from ...model import Model, Search
from ...signature import Series
from ...task import Task
from ...views import AttributionTarget, AttributionView
from ..context import ReceptiveField
from .options import AttributionOptions
from .target import TargetOptions, position_of

MAX_OBSERVATIONS, MAX_HORIZON = 100, 24  # steps of the past and of the forecast that are shown
SERIES_AT_ONCE = 16  # altered series in a batch
STEP_SIZE = 0.05  # of finite differences, in standard deviations of the series
NO_OPTIONS = AttributionOptions()


def attribute_forecast(
    model: Model,
    task: Task,
    series: Sequence[TimeSeries],
    name: str,
    *,
    how: AttributionOptions = NO_OPTIONS,
    about: TargetOptions | None = None,
) -> AttributionView:
    """∂ forecast / ∂ observation of the first series, exact for linear models (Kalman filters).

    Each observation is moved up and down by a little, and the forecast is computed again.
    """
    space, about = model.signature.source, about or TargetOptions()
    if not isinstance(task, ForecastTask) or not isinstance(space, Series):
        raise TypeError(f"{type(task).__name__} does not forecast")
    _check_options(how, about, name)
    window = task.ahead(series[0], 0)
    rows = np.asarray(task.encode_source(window), dtype=np.float64)
    past = window.origin - window.start
    reach = ReceptiveField.of(model).rows or past
    first = max(0, past - min(MAX_OBSERVATIONS, reach))
    ahead = steps_ahead(window)
    chosen = [position_of(about.at, ahead, "the forecast")] if about.at else range(len(ahead))
    with model.inference_mode():
        weights = _finite_differences(model, rows, first, past)
    notes = ["by how much the forecast rises where an observation is one higher"]
    notes += [f"the first of {len(series)} series"] * (len(series) > 1)
    notes += ["of its first variable alone"] * (space.width > 1)
    notes += [f"the last {past - first} of {past} steps"] * (first > 0)
    steps = list(chosen)[:MAX_HORIZON]
    return AttributionView(
        list(window.series.times[window.start + first : window.origin]),
        [AttributionTarget(ahead[step], step + 1) for step in steps],
        weights[steps],
        name,
        by="finite differences",
        unit="weight",
        notes=notes,
    )


def steps_ahead(window: ForecastWindow) -> list[str]:
    """The names of the steps to forecast: their times, where the series has them."""
    times = window.series.times[window.origin : window.end]
    more = range(len(times), window.end - window.origin)
    return [*times, *(f"step {step + 1} ahead" for step in more)]


def _check_options(how: AttributionOptions, about: TargetOptions, name: str) -> None:
    """Raise an error for what has no meaning for a forecast."""
    if by := how.by or how.implied():
        raise ModelError(
            "M341",
            f"{name} cannot be explained by {by}: it forecasts time series",
            help=["leave by out: finite differences are taken"],
        )
    if about.every or about.instead:
        option = "--every" if about.every else "--for"
        raise UsageError(
            "U122",
            f"{option}: a forecast is numbers, of which every step is explained",
            help=["--at 1   the first step alone"],
        )


def _finite_differences(
    model: Model, rows: Float[np.ndarray, "time all"], first: int, past: int
) -> Float[np.ndarray, "horizon observations"]:
    """The derivative of the forecast of the first variable with respect to each observation.

    Central differences; forward differences of 1 for counts, which must stay whole numbers.
    """
    observed = rows[:past, 0]
    known = observed[np.isfinite(observed)]
    is_count = bool(len(known)) and bool((known == np.round(known)).all())
    size = 1.0 if is_count else STEP_SIZE * (float(known.std()) if len(known) else 1.0) or STEP_SIZE
    moved = [rows]
    for step in range(first, past):
        for by in (size,) if is_count else (size, -size):
            other = rows.copy()
            other[step, 0] += by
            moved.append(other)
    forecasts: list[Any] = []
    for start in range(0, len(moved), SERIES_AT_ONCE):
        check_cancelled()
        batch = Sequences.pad(moved[start : start + SERIES_AT_ONCE])
        forecasts += model.predict(batch, Search()).forecasts
    base, *others = (np.asarray(one.mean)[:, 0] for one in forecasts)
    if is_count:
        weights = np.array([(other - base) / size for other in others]).T
    else:
        pairs = zip(others[::2], others[1::2], strict=True)
        weights = np.array([(up - down) / (2 * size) for up, down in pairs]).T
    weights = weights.reshape(len(base), past - first)
    weights[:, ~np.isfinite(observed[first:])] = np.nan
    return np.asarray(weights)
