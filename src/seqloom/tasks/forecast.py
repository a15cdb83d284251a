"""Time-series forecasting: tables with dates, one series a row, JSON lines, .ts files."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt64

from ..batch import Item
from ..config import StepsOrZero
from ..data.formats import Row, Sentence
from ..data.formats.base import InputFile
from ..data.formats.series import TABLE_EXTENSIONS, read_series
from ..data.options import Data
from ..data.series.calendar import add_calendar_features, calendar_features
from ..data.series.conformal import IntervalRecalibration
from ..data.series.scaling import Scale, ScalingName, SeriesScaler, TransformName
from ..data.series.schema import (
    SeriesFile,
    SeriesSchema,
    TimeIndex,
    TimeSeries,
    format_rows,
    parse_numbers,
    parse_rows,
)
from ..data.series.windows import (
    ForecastWindow,
    RollingOrigin,
    future_window,
    row_hashes,
    training_window,
    univariate_series,
)
from ..errors import DataError, Place, UsageError
from ..metrics import Ratio, Tally
from ..metrics import forecasts as forecast_metrics
from ..prediction import QuantileForecast
from ..signature import Form, Series, Signature
from ..task import Baseline, Task
from .forecast_answer import ForecastAnswer, written
from .forecast_splits import Steps, parts_of, restored_parts, too_far


class Read(list[ForecastWindow]):
    """The series of a file, to learn from as a whole, and what else the file says."""

    def __init__(self, windows: Sequence[ForecastWindow], recording: SeriesFile, path: str) -> None:
        super().__init__(windows)
        self.recording, self.path = recording, path


class Forecast(Task):
    """Time-series forecasting with prediction intervals.

    The file is split in time: the end of each series is the test split, what comes before it is for
    validation, and the rest for training. Forecasts are evaluated at several forecast origins
    (rolling origin), each from all that came before it. Errors are in the units of the file; MASE
    is in units of the error of the naive forecast, so that less than 1 is better than naive.

    Args:
        horizon: Forecast horizon in steps; 0 is one season, or 10 without a season.
        period: Seasonal period in steps; 0 follows from the dates: a day of hours, a week of days,
            a year of months.
        history: Maximum number of steps read before a forecast; 0 reads all.
        stride: Steps between two forecast origins in evaluation; 0 is the horizon.
        together: Multivariate: the columns of a file are one series of vectors. Else each column is
            a series of its own, and one model learns from all.
        scaling: Scaling of each series, fitted on its training split: standard subtracts the mean
            and divides by the standard deviation, mean divides by the mean absolute value.
        transform: log takes logarithms, for multiplicative growth; sqrt square roots, for counts.
        calendar: Calendar features as inputs: hour, weekday, month, minute, day, week, quarter and
            year-day.
        clock: Time index as an input, for models with a trend or seasonal dummies (autoregressive).
        calibrate: Recalibrate prediction intervals on the validation split; else they are those of
            the model.
        train_steps: Training rows, from the first on, where the other splits are given in steps,
            too; 0 is all that are left.
        valid_steps: Validation rows; 0 goes by data.valid_fraction.
        test_steps: Test rows; 0 goes by data.test_fraction.
    """

    form = Form.FORECAST
    verb, primary_metric, input_unit = "forecast", "mase", "rows"
    roles = ("time", "value")
    splits_in_time = reads_series = True

    def __init__(  # noqa: PLR0913 - options
        self,
        *,
        horizon: StepsOrZero = 0,
        period: int = 0,
        history: StepsOrZero = 1024,
        stride: int = 0,
        together: bool = False,
        scaling: ScalingName = "standard",
        transform: TransformName = "none",
        calendar: tuple[str, ...] = (),
        clock: bool = False,
        calibrate: bool = True,
        train_steps: int = 0,
        valid_steps: int = 0,
        test_steps: int = 0,
    ) -> None:
        given = {"horizon": horizon, "period": period, "history": history, "stride": stride}
        given |= {"train_steps": train_steps, "valid_steps": valid_steps, "test_steps": test_steps}
        for name, number in given.items():
            if number < 0:
                raise UsageError("U306", f"{name} = {number}: expected a whole number from 0 on")
        self.outline = SeriesSchema(period, horizon)
        self.scaling = SeriesScaler(scaling, transform=transform)
        self.clock, self.calibrate, self.bands = (
            TimeIndex(clock),
            calibrate,
            IntervalRecalibration(),
        )
        self.together, self.history, self.stride = together, history, stride
        self.places, self.steps = (
            calendar_features(calendar),
            Steps(train_steps, valid_steps, test_steps),
        )
        self._asked = (period, horizon)
        self._said: list[str] = []

    @property
    def reach(self) -> RollingOrigin:
        """Context length and horizon of windows."""
        return RollingOrigin(max(1, self.outline.horizon), self.history, self.stride)

    def read(self, path: Path, data: Data) -> Read:
        recording = read_series(path, data)
        if self.outline.is_learned:
            return self._learned_columns(recording, path)
        return self._windows(recording, path)

    def _learned_columns(self, recording: SeriesFile, path: Path) -> Read:
        """The series of the columns that training had; an error if a file lacks them."""
        read = self._windows(self.outline.select(recording, str(path)), path)
        self.outline.must_match(read.recording, read[0].series.values.shape[1], str(path))
        return read

    def _windows(self, recording: SeriesFile, path: Path) -> Read:
        """Each series as a window; without `together` each column is a series."""
        series = recording.series
        if not self.together:
            series = univariate_series(series, recording.names)
        self._must_be_inside(series, path)
        return Read(
            [training_window(add_calendar_features(one, self.places)) for one in series],
            recording,
            str(path),
        )

    def inputs(self, path: Path, data: Data) -> InputFile | None:
        """None: a line is a typed series. A table has dates and covariates: `forecast` reads it."""
        if data.format in ("auto", "text") and path.suffix.lower() not in TABLE_EXTENSIONS:
            return None
        raise UsageError(
            "U318",
            f"a file of series needs {self.verb}; predict reads one typed series per line",
            help=[f"seqloom {self.verb} RUN {path}"],
        )

    def questions(self, path: Path, data: Data, horizon: int = 0) -> list[ForecastWindow]:
        """The window after each series of a file; rows with inputs only are in the future."""
        return [self.ahead(window.series, horizon) for window in self.read(path, data)]

    def ahead(self, series: TimeSeries, horizon: int = 0) -> ForecastWindow:
        """The forecast window after a series."""
        count = len(self.outline.known)
        asked = future_window(
            replace(series, known=series.known[:, :count]),
            horizon or self.reach.horizon,
            self.history,
        )
        missing = np.isnan(asked.series.known).any(1)
        if missing.any():
            raise _inputs_end(series, int(missing.argmax()), asked, self.outline.known)
        return replace(asked, series=add_calendar_features(asked.series, self.places))

    def temporal_splits(
        self, given: Mapping[str, Sequence[Any]], data: Data
    ) -> dict[str, Sequence[Any]]:
        found = {name: read for name, read in given.items() if isinstance(read, Read)}
        train = found["train"]
        width = train[0].series.values.shape[1]
        self.outline.period, self.outline.horizon = self._asked
        self._said = [*train.recording.notes, *self._how_read(train)]
        self._said += self.outline.learn(train.recording, width, train.path)
        found = {
            name: self._learned_columns(read.recording, Path(read.path))
            for name, read in found.items()
        }
        parts, said = parts_of(found, data, self.reach, self.steps, self.outline)
        self._said += said
        return parts

    def restored_splits(
        self,
        given: Mapping[str, Sequence[Any]],
        hashes: Mapping[str, UInt64[np.ndarray, " _"]],
    ) -> dict[str, Sequence[Any]]:
        found = restored_parts(given, hashes, self.reach)
        return {part: _unique(windows, self.key) for part, windows in found.items()}

    def distinct(self, examples: Sequence[ForecastWindow]) -> Sequence[ForecastWindow]:
        """Windows; a whole series is evaluated at every origin with a season before it."""
        least = max(self.outline.period, self.reach.horizon)
        found = []
        for one in examples:
            found += self.reach.backtest(one.series, least) if one.is_training else [one]
        if examples and not found:
            longest = max(len(one.series) for one in examples)
            raise too_far(self.reach.horizon, longest, "")
        return found

    def example(self, row: Row | Sentence) -> ForecastWindow:
        """A row of numbers as a time series."""
        return self.question(" ".join(map(str, row.fields)))

    def question(self, text: str) -> ForecastWindow:
        if self.outline.known:
            raise UsageError(
                "U304",
                f"this model reads inputs beside its numbers: {', '.join(self.outline.known)}",
                help=["give a file that has them, those of the future, too"],
            )
        values = self._typed(text)
        times = tuple(str(number) for number in range(1, len(values) + 1))
        series = TimeSeries(self.scaling.only_name, values, np.zeros((len(values), 0)), times)
        return self.ahead(series)

    def with_target(self, question: ForecastWindow, answer: Any) -> ForecastWindow:
        rows = answer.mean if isinstance(answer, ForecastAnswer) else self._typed(str(answer))
        values = question.series.values.copy()
        values[question.origin : question.end] = rows
        return replace(question, series=replace(question.series, values=values))

    def key(self, example: ForecastWindow) -> Hashable:
        return example.series.name, example.start, example.origin, example.end, _bytes(example)

    def hashes(self, example: ForecastWindow) -> UInt64[np.ndarray, " _"]:
        return row_hashes(example.series, example.origin, example.end)

    def example_id(self, example: ForecastWindow) -> Hashable:
        return example.series.name, example.line, example.origin, example.end

    def length(self, example: ForecastWindow) -> int:
        return example.end - example.start

    def prepare(self, examples: Sequence[ForecastWindow]) -> None:
        count = len(self.outline.known)
        learned = [(one.series.name, one.series.values[: one.end]) for one in examples]
        inputs = [one.series.known[: one.end, :count] for one in examples]
        self.scaling.learn(learned, np.concatenate(inputs))
        self.clock.learn(one.series for one in examples)

    def notes(self) -> list[str]:
        flat = self.scaling.constant_series
        if not flat:
            return self._said
        names = ", ".join(f'"{name}"' for name in flat[:3]) + ", …" * (len(flat) > 3)  # noqa: PLR2004
        return [*self._said, f"constant in training: {names}; a forecast of it tells nothing"]

    def signature(self) -> Signature:
        about, horizon = self.outline, self.reach.horizon
        is_on = self.clock.is_on
        known = is_on + len(about.known) + 2 * len(self.places)
        space = Series(about.width, known, max(1, about.period), horizon, is_on)
        return Signature(self.form, space, replace(space, known=0, clock=False))

    def encode(self, example: ForecastWindow) -> Item:
        scale = self.scale_of(example)
        rows = slice(example.start, example.end)
        values = scale.apply(example.series.values[rows])
        target = values[example.origin - example.start :].copy()
        values[example.origin - example.start :] = np.nan
        known = self.scaling.scale_inputs(example.series.known[rows])
        step = self.clock.column(example.series, example.start, example.end)
        return Item(np.concatenate([values, step, known], axis=1), target)

    def encode_source(self, example: ForecastWindow) -> Float[np.ndarray, "time inputs"]:
        """The past and the known inputs of the future; of a training series, its next window."""
        asked = self.ahead(_until(example)) if example.is_training else example
        found: np.ndarray = self.encode(asked).source
        return found

    def encode_value(self, value: Any) -> tuple[Float[np.ndarray, " inputs"], bool]:
        if self.places or self.clock.is_on:
            raise UsageError(
                "U305",
                "this model reads dates or numbers of steps, and a stream has none",
                help=["train without task.calendar and task.clock"],
            )
        width, count = self.outline.width, len(self.outline.known)
        text = value if isinstance(value, str) else " ".join(map(str, np.ravel(value)))
        row = np.array(parse_numbers(text) or [np.nan] * width)
        if len(row) != width + count:
            raise DataError(
                "D224",
                f"{text!r} has {len(row)} numbers; a step of this model has {width}"
                + f" and {count} inputs" * bool(count),
                help=["give one step at a time; nan stands for a number that is missing"],
            )
        scale = self.scaling.default_scale(width)
        inputs = self.scaling.scale_inputs(row[None, width:])[0]
        return np.concatenate([scale.apply(row[:width]), inputs]), True

    def encode_end(self) -> Float[np.ndarray, "0 inputs"]:
        return np.zeros((0, self.outline.width + len(self.outline.known)))

    def decode(self, row: Any) -> ForecastAnswer:
        found = self._calibrated(row)
        return ForecastAnswer.of(
            found, self.scaling.default_scale(self.outline.width), names=self._names()
        )

    def decode_for(self, example: ForecastWindow, row: Any) -> ForecastAnswer:
        series, scale = example.series, self.scale_of(example)
        about = {"names": self._names(), "series": series.name}
        found = ForecastAnswer.of(self._calibrated(row), scale, **about)
        times = series.times[example.origin : example.origin + len(found)]
        return replace(found, times=times)

    def baseline(self) -> Baseline:
        name = "seasonal-naive" if self.outline.period > 1 else "naive"
        return Baseline(f"{name} forecast", {"name": name})

    def score(
        self, example: ForecastWindow, answer: ForecastAnswer, nats: float
    ) -> Mapping[str, Tally]:
        actual, mean = example.future, answer.mean
        scale = self.scale_of(example)
        naive = forecast_metrics.naive_scale(
            example.series.values[: example.insample_end], max(1, self.outline.period)
        )
        there, guessed = scale.apply(actual), scale.apply(mean)
        return {
            "mase": forecast_metrics.mase(actual, mean, naive),
            "mae": forecast_metrics.absolute_error(actual, mean),
            "rmse": forecast_metrics.squared_error(actual, mean),
            "smape": forecast_metrics.smape(actual, mean),
            "pinball": forecast_metrics.pinball(actual, answer.quantiles),
            "crps": forecast_metrics.crps(actual, answer.quantiles),
            "coverage_80": forecast_metrics.interval_coverage(actual, *answer.interval(0.8)),
            "coverage_95": forecast_metrics.interval_coverage(actual, *answer.interval(0.95)),
            "scaled_mse": forecast_metrics.squared_error(there, guessed),
            "scaled_mae": forecast_metrics.absolute_error(there, guessed),
            "loss": Ratio(nats + scale.log_jacobian(actual), float((~np.isnan(actual)).sum())),
        }

    def metric_variants(self, examples: Sequence[ForecastWindow]) -> dict[str, str]:
        season = self.outline.period
        lag = f"over a season of {season} steps" if season > 1 else "from step to step"
        return {
            "mase": f"in units of the mean change {lag} before the part that is judged",
            "loss": "nats per value, as a density in the units of the file",
            "scaled_mse": "on numbers scaled as the model reads them",
        }

    def details(
        self, example: ForecastWindow, answer: ForecastAnswer, probabilities: Any
    ) -> dict[str, Any]:
        return answer.as_dict()

    def to_json(self, answer: ForecastAnswer) -> Any:
        return answer.as_dict()["mean"]

    def show(self, answer: ForecastAnswer) -> str:
        return str(answer)

    def show_question(self, example: ForecastWindow) -> str:
        rows = example.series.values[: example.end] if example.is_training else example.past
        return written(rows, exact=True)

    def show_tokens(self, example: ForecastWindow, answer: object) -> tuple[list[str], list[str]]:
        times = example.series.times
        return list(times[example.start : example.end]), list(times[example.origin : example.end])

    def is_known(self, example: ForecastWindow) -> list[bool]:
        return [True] * (example.end - example.start)

    def tokens_with_known(self, example: ForecastWindow) -> dict[str, list[tuple[str, bool]]]:
        return {"value": format_rows(example.series.values[example.start : example.end])}

    def scale_of(self, example: ForecastWindow) -> Scale:
        """The scale of a window's series: as training learned it, or by what is known of it."""
        cut = example.end if example.is_training else example.origin
        return self.scaling.scale_of(example.series.name, example.series.values[:cut])

    def restore(self, state: dict[str, Any]) -> None:
        super().restore({"bands": [], **state})  # runs of old have none

    def _calibrated(self, row: Any) -> Any:
        return self.bands.apply(row) if isinstance(row, QuantileForecast) else row

    def _names(self) -> tuple[str, ...]:
        return self.outline.names if self.outline.width > 1 else ()

    def _how_read(self, train: Read) -> list[str]:
        """How several columns are taken."""
        if len(train.recording.names) == 1:
            return []
        if self.together:
            return ["the columns are one series of several numbers"]
        return ["each column is a series of its own (--set task.together=true joins them)"]

    def _typed(self, text: str) -> Float[np.ndarray, "time width"]:
        """Numbers of which there are logarithms, or roots, where that is asked for."""
        values = parse_rows(text, self.outline.width)
        low = self._is_outside(values)
        if low.any():
            raise _outside(f"{values[low][0]:g}", self.scaling.transform, None)
        return values

    def _is_outside(self, values: np.ndarray) -> Any:
        """Which numbers have no logarithm, or no root, where that is asked for."""
        if self.scaling.transform == "none":
            return np.zeros_like(values, dtype=bool)
        return values <= 0 if self.scaling.transform == "log" else values < 0

    def _must_be_inside(self, series: Sequence[TimeSeries], path: Path) -> None:
        for one in series:
            low = self._is_outside(one.values)
            if low.any():
                step = int(low.any(1).argmax())
                value = f"{one.values[step][low[step]][0]:g} at {one.times[step]}"
                raise _outside(value, self.scaling.transform, Place(str(path)))


def _until(example: ForecastWindow) -> TimeSeries:
    """The training split of a series."""
    series, end = example.series, example.end
    return replace(
        series, values=series.values[:end], known=series.known[:end], times=series.times[:end]
    )


def _unique(
    windows: Sequence[ForecastWindow], key: Callable[[ForecastWindow], Hashable]
) -> list[ForecastWindow]:
    return list({key(window): window for window in windows}.values())


def _bytes(example: ForecastWindow) -> bytes:
    return example.series.values[example.start : example.end].tobytes()


def _outside(what: str, transform: TransformName, place: Place | None) -> DataError:
    lacks = "logarithm: numbers must be above 0" if transform == "log" else "root: it is below 0"
    return DataError(
        "D222", f"{what} has no {lacks}", place=place, help=["--set task.transform=none"]
    )


def _inputs_end(
    series: TimeSeries, step: int, asked: ForecastWindow, names: tuple[str, ...]
) -> DataError:
    of = f' of "{series.name}"' if series.name else ""
    return DataError(
        "D225",
        f"inputs{of} end before {asked.series.times[step]}: a forecast of"
        f" {asked.end - asked.origin:,} steps needs {', '.join(names)} until"
        f" {asked.series.times[-1]}",
        help=[
            "add rows for the future to the file: with inputs, and nothing where numbers will be",
            f"--horizon {max(1, step - asked.origin)}   or less"
            if step > asked.origin
            else "train without inputs",
        ],
    )
