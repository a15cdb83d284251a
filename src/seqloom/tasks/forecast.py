"""Forecast series of numbers: tables with dates, one series a row, JSON lines, .ts files."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..batch import Item
from ..data.formats import Row, Sentence
from ..data.formats.series import read_series
from ..data.options import Data
from ..data.series.calendar import places_named, with_seasons
from ..data.series.conformal import Bands
from ..data.series.scaling import Kind, Scale, Scaling, Transform
from ..data.series.schema import Clock, Outline, Recorded, Recording, shown_rows, typed, typed_rows
from ..data.series.windows import Reach, Window, ahead, columns_apart, whole
from ..errors import DataError, Place, UsageError
from ..metrics import Ratio, Tally
from ..metrics import forecasts as off
from ..prediction import Foreseen
from ..signature import Form, Series, Signature
from ..task import Task
from .forecast_answer import Ahead, written
from .forecast_splits import Steps, parts_of, too_far


class Read(list[Window]):
    """The series of a file, to learn from as a whole, and what else the file says."""

    def __init__(self, windows: Sequence[Window], recording: Recording, path: str) -> None:
        super().__init__(windows)
        self.recording, self.path = recording, path


class Forecast(Task):
    """Numbers at equal steps of time in; those to come out, with how far they may be off.

    The file is cut in time: the end of each series is its test part, what comes before it chooses
    the best step, and the rest is learned from. Forecasts are judged at several origins, each with
    all that came before it. Errors are in the units of the file; MASE tells them in units of what
    the naive forecast was off, so that less than 1 is better than naive.

    Args:
        horizon: How many steps are forecast; 0 is a season, or 10 where there is none.
        period: After how many steps a season comes again; 0 is told by the dates: a day of hours,
            a week of days, a year of months.
        history: How many steps before a forecast are read at most; 0 reads all.
        stride: How many steps lie between two forecasts that are judged; 0 is the horizon.
        together: Whether the columns of a file are one series of several numbers, which may tell of
            each other. Else each is a series of its own, and one model learns from all.
        scaling: How each series is brought to one size, by its training part alone: standard takes
            its mean away and divides by its deviation, mean divides by its mean size.
        transform: log reads the logarithms of numbers, for what grows by a share of itself; sqrt
            their square roots, for counts, which vary more where they are more.
        calendar: Places in the calendar that are inputs, as hour+weekday+month; also minute, day,
            week, quarter and year-day.
        clock: Whether the number of each step is an input, for models with a trend or the places of
            a season (autoregressive).
        calibrate: Whether bands become wider or narrower as the validation part shows they should
            be; else they are as the model says, exactly Gaussian where it is.
        train_steps: How many rows from the first on are learned from, where the others are given
            in steps, too; 0 is all that is left.
        valid_steps: How many rows choose the best step; 0 goes by data.valid_fraction.
        test_steps: How many rows are the test part; 0 goes by data.test_fraction.
    """

    form = Form.FORECAST
    verb, headline, read_unit = "forecast", "mase", "rows"
    roles = ("time", "value")
    in_time = reads_series = True

    def __init__(  # noqa: PLR0913 - options
        self,
        *,
        horizon: int = 0,
        period: int = 0,
        history: int = 1024,
        stride: int = 0,
        together: bool = False,
        scaling: Kind = "standard",
        transform: Transform = "none",
        calendar: str = "",
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
        self.outline = Outline(period, horizon)
        self.scaling = Scaling(scaling, transform=transform)
        self.clock, self.calibrate, self.bands = Clock(clock), calibrate, Bands()
        self.together, self.history, self.stride = together, history, stride
        self.places, self.steps = (
            places_named(calendar),
            Steps(train_steps, valid_steps, test_steps),
        )
        self._asked = (period, horizon)
        self._said: list[str] = []

    @property
    def reach(self) -> Reach:
        """How far windows look."""
        return Reach(max(1, self.outline.horizon), self.history, self.stride)

    def read(self, path: Path, data: Data) -> Read:
        recording = read_series(path, data)
        series = recording.series
        if not self.together:
            series = columns_apart(series, recording.names)
        if self.outline.is_learned:
            width = series[0].values.shape[1]
            self.outline.must_match(recording, width, str(path))
        self._must_be_inside(series, path)
        return Read([whole(with_seasons(one, self.places)) for one in series], recording, str(path))

    def questions(self, path: Path, data: Data, horizon: int = 0) -> list[Window]:
        """What comes after each series of a file; rows that have inputs only are in the future."""
        return [self.ahead(window.series, horizon) for window in self.read(path, data)]

    def ahead(self, series: Recorded, horizon: int = 0) -> Window:
        """What comes after a series that was read."""
        count = len(self.outline.known)
        asked = ahead(
            replace(series, known=series.known[:, :count]),
            horizon or self.reach.horizon,
            self.history,
        )
        missing = np.isnan(asked.series.known).any(1)
        if missing.any():
            raise _inputs_end(series, int(missing.argmax()), asked, self.outline.known)
        return replace(asked, series=with_seasons(asked.series, self.places))

    def parted(self, given: Mapping[str, Sequence[Any]], data: Data) -> dict[str, Sequence[Any]]:
        found = {name: read for name, read in given.items() if isinstance(read, Read)}
        train = found["train"]
        width = train[0].series.values.shape[1]
        self.outline.period, self.outline.horizon = self._asked
        self._said = [*train.recording.said, *self._how_read(train)]
        self._said += self.outline.learn(train.recording, width, train.path)
        for read in found.values():
            here = read[0].series.values.shape[1]
            self.outline.must_match(read.recording, here, read.path)
        parts, said = parts_of(found, data, self.reach, self.steps, self.outline)
        self._said += said
        return parts

    def distinct(self, examples: Sequence[Window]) -> Sequence[Window]:
        """Windows; a whole series is judged at every origin that has a season before it."""
        least = max(self.outline.period, self.reach.horizon)
        found = []
        for one in examples:
            found += self.reach.over(one.series, least) if one.is_whole else [one]
        if examples and not found:
            longest = max(len(one.series) for one in examples)
            raise too_far(self.reach.horizon, longest, "")
        return found

    def example(self, row: Row | Sentence) -> Window:
        """A row of numbers as a series by itself."""
        return self.question(" ".join(map(str, row.fields)))

    def question(self, text: str) -> Window:
        if self.outline.known:
            raise UsageError(
                "U304",
                f"this model reads inputs beside its numbers: {', '.join(self.outline.known)}",
                help=["give a file that has them, those of the future, too"],
            )
        values = self._typed(text)
        times = tuple(str(number) for number in range(1, len(values) + 1))
        series = Recorded(self.scaling.only, values, np.zeros((len(values), 0)), times)
        return self.ahead(series)

    def answered(self, question: Window, answer: Any) -> Window:
        rows = answer.mean if isinstance(answer, Ahead) else self._typed(str(answer))
        values = question.series.values.copy()
        values[question.cut : question.end] = rows
        return replace(question, series=replace(question.series, values=values))

    def key(self, example: Window) -> Hashable:
        return example.series.name, example.begin, example.cut, example.end, _bytes(example)

    def place(self, example: Window) -> Hashable:
        return example.series.name, example.line, example.cut, example.end

    def length(self, example: Window) -> int:
        return example.end - example.begin

    def prepare(self, examples: Sequence[Window]) -> None:
        count = len(self.outline.known)
        learned = [(one.series.name, one.series.values[: one.end]) for one in examples]
        inputs = [one.series.known[: one.end, :count] for one in examples]
        self.scaling.learn(learned, np.concatenate(inputs))
        self.clock.learn(one.series for one in examples)

    def notes(self) -> list[str]:
        flat = self.scaling.constant
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

    def encode(self, example: Window) -> Item:
        scale = self.scale_of(example)
        rows = slice(example.begin, example.end)
        values = scale.there(example.series.values[rows])
        target = values[example.cut - example.begin :].copy()
        values[example.cut - example.begin :] = np.nan
        known = self.scaling.inputs(example.series.known[rows])
        step = self.clock.column(example.series, example.begin, example.end)
        return Item(np.concatenate([values, step, known], axis=1), target)

    def ask(self, example: Window) -> Float[np.ndarray, "time inputs"]:
        """The past and what is known of the future; of a series to learn from, what comes next."""
        asked = self.ahead(_until(example)) if example.is_whole else example
        found: np.ndarray = self.encode(asked).source
        return found

    def ask_one(self, value: Any) -> tuple[Float[np.ndarray, " inputs"], bool]:
        if self.places or self.clock.is_on:
            raise UsageError(
                "U305",
                "this model reads dates or numbers of steps, and a stream has none",
                help=["train without task.calendar and task.clock"],
            )
        width, count = self.outline.width, len(self.outline.known)
        text = value if isinstance(value, str) else " ".join(map(str, np.ravel(value)))
        row = np.array(typed(text) or [np.nan] * width)
        if len(row) != width + count:
            raise DataError(
                "D224",
                f"{text!r} has {len(row)} numbers; a step of this model has {width}"
                + f" and {count} inputs" * bool(count),
                help=["give one step at a time; nan stands for a number that is missing"],
            )
        scale = self.scaling.usual(width)
        inputs = self.scaling.inputs(row[None, width:])[0]
        return np.concatenate([scale.there(row[:width]), inputs]), True

    def ask_end(self) -> Float[np.ndarray, "0 inputs"]:
        return np.zeros((0, self.outline.width + len(self.outline.known)))

    def decode(self, row: Any) -> Ahead:
        found = self._calibrated(row)
        return Ahead.of(found, self.scaling.usual(self.outline.width), names=self._names())

    def answer_to(self, example: Window, row: Any) -> Ahead:
        series, scale = example.series, self.scale_of(example)
        about = {"names": self._names(), "series": series.name}
        found = Ahead.of(self._calibrated(row), scale, **about)
        times = series.times[example.cut : example.cut + len(found)]
        return replace(found, times=times)

    def judge(self, example: Window, answer: Ahead, nats: float) -> Mapping[str, Tally]:
        actual, mean = example.future, answer.mean
        scale = self.scale_of(example)
        naive = off.naive_scale(example.series.values[: example.base], max(1, self.outline.period))
        there, guessed = scale.there(actual), scale.there(mean)
        return {
            "mase": off.mase(actual, mean, naive),
            "mae": off.absolute(actual, mean),
            "rmse": off.squared(actual, mean),
            "smape": off.smape(actual, mean),
            "pinball": off.pinball(actual, answer.quantiles),
            "crps": off.crps(actual, answer.quantiles),
            "coverage_80": off.covered(actual, *answer.band(0.8)),
            "coverage_95": off.covered(actual, *answer.band(0.95)),
            "scaled_mse": off.squared(there, guessed),
            "scaled_mae": off.absolute(there, guessed),
            "loss": Ratio(nats + scale.nats(actual), float((~np.isnan(actual)).sum())),
        }

    def how_measured(self, examples: Sequence[Window]) -> dict[str, str]:
        season = self.outline.period
        lag = f"over a season of {season} steps" if season > 1 else "from step to step"
        return {
            "mase": f"in units of the mean change {lag} before the part that is judged",
            "loss": "nats per value, as a density in the units of the file",
            "scaled_mse": "on numbers scaled as the model reads them",
        }

    def details(self, example: Window, answer: Ahead, chances: Any) -> dict[str, Any]:
        return answer.as_dict()

    def plain(self, answer: Ahead) -> Any:
        return answer.as_dict()["mean"]

    def show(self, answer: Ahead) -> str:
        return str(answer)

    def shown_question(self, example: Window) -> str:
        rows = example.series.values[: example.end] if example.is_whole else example.past
        return written(rows, digits=17)

    def symbols(self, example: Window, answer: object) -> tuple[list[str], list[str]]:
        times = example.series.times
        return list(times[example.begin : example.end]), list(times[example.cut : example.end])

    def is_known(self, example: Window) -> list[bool]:
        return [True] * (example.end - example.begin)

    def seen(self, example: Window) -> dict[str, list[tuple[str, bool]]]:
        return {"value": shown_rows(example.series.values[example.begin : example.end])}

    def scale_of(self, example: Window) -> Scale:
        """The scale of a window's series: as training learned it, or by what is known of it."""
        cut = example.end if example.is_whole else example.cut
        return self.scaling.of(example.series.name, example.series.values[:cut])

    def restore(self, state: dict[str, Any]) -> None:
        super().restore({"bands": [], **state})  # runs of old have none

    def _calibrated(self, row: Any) -> Any:
        return self.bands.of(row) if isinstance(row, Foreseen) else row

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
        values = typed_rows(text, self.outline.width)
        low = self._is_outside(values)
        if low.any():
            raise _outside(f"{values[low][0]:g}", self.scaling.transform, None)
        return values

    def _is_outside(self, values: np.ndarray) -> Any:
        """Which numbers have no logarithm, or no root, where that is asked for."""
        if self.scaling.transform == "none":
            return np.zeros_like(values, dtype=bool)
        return values <= 0 if self.scaling.transform == "log" else values < 0

    def _must_be_inside(self, series: Sequence[Recorded], path: Path) -> None:
        for one in series:
            low = self._is_outside(one.values)
            if low.any():
                step = int(low.any(1).argmax())
                value = f"{one.values[step][low[step]][0]:g} at {one.times[step]}"
                raise _outside(value, self.scaling.transform, Place(str(path)))


def _until(example: Window) -> Recorded:
    """A series as far as it is learned from."""
    series, end = example.series, example.end
    return replace(
        series, values=series.values[:end], known=series.known[:end], times=series.times[:end]
    )


def _bytes(example: Window) -> bytes:
    return example.series.values[example.begin : example.end].tobytes()


def _outside(what: str, transform: Transform, place: Place | None) -> DataError:
    lacks = "logarithm: numbers must be above 0" if transform == "log" else "root: it is below 0"
    return DataError(
        "D222", f"{what} has no {lacks}", place=place, help=["--set task.transform=none"]
    )


def _inputs_end(series: Recorded, step: int, asked: Window, names: tuple[str, ...]) -> DataError:
    of = f' of "{series.name}"' if series.name else ""
    return DataError(
        "D225",
        f"inputs{of} end before {asked.series.times[step]}: a forecast of"
        f" {asked.end - asked.cut:,} steps needs {', '.join(names)} until"
        f" {asked.series.times[-1]}",
        help=[
            "add rows for the future to the file: with inputs, and nothing where numbers will be",
            f"--horizon {max(1, step - asked.cut)}   or less"
            if step > asked.cut
            else "train without inputs",
        ],
    )
