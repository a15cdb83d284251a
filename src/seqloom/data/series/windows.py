"""Rolling-origin evaluation (backtesting): windows of a past and a future of time series."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from jaxtyping import UInt64

from ..loading.splitting import key_hash
from .dates import continued_times, continues, next_times
from .schema import TimeSeries

HASHED_ROWS = 8  # of values by which a row of a series is known again


@dataclass(frozen=True, eq=False)
class ForecastWindow:
    """Window of a series: the past from `start` to the forecast `origin`, the future to `end`.

    A window without a past (`origin` == `start`) is a training series. Rows before `insample_end`
    are in-sample: scaled errors such as MASE divide by the errors of a naive forecast on them.
    """

    series: TimeSeries
    start: int
    origin: int
    end: int
    insample_end: int

    @property
    def line(self) -> int:
        """The line of the file where the series starts."""
        return self.series.line

    @property
    def is_training(self) -> bool:
        """Whether this is a training series, without a past."""
        return self.origin == self.start

    @property
    def past(self) -> np.ndarray:
        """The values before the forecast origin."""
        return self.series.values[self.start : self.origin]

    @property
    def future(self) -> np.ndarray:
        """The values to forecast."""
        return self.series.values[self.origin : self.end]


@dataclass(frozen=True)
class RollingOrigin:
    """Rolling forecast origin: horizon, history (0: all of it), stride (0: the horizon)."""

    horizon: int
    history: int
    stride: int

    def windows(
        self, series: TimeSeries, start: int, end: int, insample_end: int
    ) -> Iterator[ForecastWindow]:
        """The windows whose futures lie between two rows.

        Windows without any observation in their past or in their future are left out.
        """
        is_observed = ~np.isnan(series.values).all(1)
        for origin in range(max(1, start), end - self.horizon + 1, self.stride or self.horizon):
            first = max(0, origin - self.history) if self.history else 0
            future = is_observed[origin : origin + self.horizon]
            if is_observed[first:origin].any() and future.any():
                yield ForecastWindow(series, first, origin, origin + self.horizon, insample_end)

    def backtest(self, series: TimeSeries, min_history: int) -> list[ForecastWindow]:
        """The windows of a whole series that was not in training."""
        first = max(1, min(min_history, len(series) - self.horizon))
        found = list(self.windows(series, first, len(series), first))
        return [replace(window, insample_end=window.origin) for window in found]


def training_window(series: TimeSeries, end: int | None = None) -> ForecastWindow:
    """A series to train on, up to row `end`."""
    end = len(series) if end is None else end
    return ForecastWindow(series, 0, 0, end, end)


def future_window(series: TimeSeries, horizon: int, history: int = 0) -> ForecastWindow:
    """The window of a forecast beyond the end of a series.

    The origin is after the last observed row; later rows, with known inputs only, are its future.
    """
    observed = np.flatnonzero(~np.isnan(series.values).all(1))
    origin = int(observed[-1]) + 1 if len(observed) and series.known.shape[1] else len(series)
    series = extend(series, origin + horizon)
    start = max(0, origin - history) if history else 0
    return ForecastWindow(series, start, origin, origin + horizon, origin)


def extend(series: TimeSeries, size: int) -> TimeSeries:
    """A series extended to `size` rows: NaN values and the next times."""
    more = size - len(series)
    if more <= 0:
        return series
    rows = np.full((more, series.values.shape[1]), np.nan)
    values = np.concatenate([series.values, rows])
    times = (*series.times, *next_times(series.times, more))
    known = np.concatenate([series.known, np.full((more, series.known.shape[1]), np.nan)])
    return replace(series, values=values, known=known, times=times, labels=())


def trim_future(series: TimeSeries) -> TimeSeries:
    """A series without the rows after its last observation, which have known inputs only."""
    observed = np.flatnonzero(~np.isnan(series.values).all(1))
    end = int(observed[-1]) + 1 if len(observed) else len(series)
    if end == len(series):
        return series
    return replace(
        series,
        values=series.values[:end],
        known=series.known[:end],
        times=series.times[:end],
        labels=series.labels[:end],
    )


def concatenate(first: TimeSeries, then: TimeSeries) -> TimeSeries:
    """A series followed by another; times that do not continue are replaced."""
    return replace(
        first,
        values=np.concatenate([first.values, then.values]),
        known=np.concatenate([first.known, then.known]),
        times=(*first.times, *continued_times(first.times, then.times)),
        labels=(),
    )


def follows(first: TimeSeries, then: TimeSeries, *, dated: bool) -> bool:
    """Whether a series continues another: the same name and, if dated, the next date."""
    if first.name != then.name:
        return False
    return not dated or continues(first.times, then.times)


def fold_bounds(size: int, folds: int, fold: int) -> tuple[int, int]:
    """The rows of a forward fold, from 1 on: the series has `folds` + 1 equal blocks."""
    edges = [number * size // (folds + 1) for number in range(folds + 2)]
    return edges[fold], edges[fold + 1]


def row_hashes(series: TimeSeries, first: int, end: int) -> UInt64[np.ndarray, " _"]:
    """A hash of each row between two: the name of the series, the time, and the last values.

    A value alone would not do: series often repeat one.
    """
    start = max(0, first - HASHED_ROWS + 1)
    values = np.where(np.isnan(series.values[start:end]), np.nan, series.values[start:end] + 0.0)
    rows = np.zeros(end - start, np.uint64)
    for column in np.ascontiguousarray(values.T).view(np.uint64):
        rows = _mixed(rows + column)
    found = np.zeros(end - first, np.uint64)
    for back in range(HASHED_ROWS):
        known = np.zeros(end - first, np.uint64)
        wanted = np.arange(first - back, end - back) - start
        known[wanted >= 0] = rows[wanted[wanted >= 0]]
        found = _mixed(found + known)
    times = [crc32(time.encode()) for time in series.times[first:end]]
    return _mixed(_mixed(found + np.array(times, np.uint64)) + np.uint64(key_hash(series.name)))


def _mixed(numbers: UInt64[np.ndarray, " _"]) -> UInt64[np.ndarray, " _"]:
    """The finaliser of splitmix64: every bit depends on all."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def univariate_series(series: Sequence[TimeSeries], names: Sequence[str]) -> list[TimeSeries]:
    """Each column of each series as a univariate series."""
    return [
        replace(
            one,
            name=" ".join(filter(None, [one.name, name if len(names) > 1 or not one.name else ""])),
            values=one.values[:, column : column + 1],
        )
        for one in series
        for column, name in enumerate(names)
    ]
