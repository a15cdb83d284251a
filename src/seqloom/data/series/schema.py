"""Time series and their schema: columns, step (frequency), seasonal period, forecast horizon.

`TimeSeries` is one series and `SeriesFile` all series of a file. `SeriesSchema` and `TimeIndex` are
codecs. Numbers are parsed and written here, with missing values as NaN.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ...errors import DataError, Place
from .date_styles import DateParseError, are_compact_dates
from .dates import infer_step, on_one_clock

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
_DECIMAL = re.compile(r"[+-]?\d+,\d+")


def parse_number(text: str, *, comma: bool = False) -> float | None:
    """A cell of a table as a number: NaN for a missing value, None for text.

    With `comma`, a decimal comma is allowed: 1,5.
    """
    try:
        return float(text) if "_" not in text else None  # Python would read 1_000
    except ValueError:
        stripped = text.strip()
    if stripped.casefold() in MISSING:
        return math.nan
    return float(stripped.replace(",", ".")) if comma and _DECIMAL.fullmatch(stripped) else None


def parse_numbers(text: str) -> list[float]:
    """Numbers that were typed, separated by spaces or commas; NaN for a missing value."""
    found = []
    for part in re.split(r"\s*,\s*|\s+", text.strip()) if text.strip() else []:
        number = parse_number(part)
        if number is None or math.isinf(number):
            raise DataError(
                "D224",
                f"{part!r} is not a number",
                help=["separate numbers by spaces; nan is a missing value"],
            )
        found.append(number)
    return found


def parse_rows(text: str, width: int) -> Float[np.ndarray, "time {width}"]:
    """Time steps that were typed; steps of several numbers are separated by ;."""
    rows = [parse_numbers(step) for step in text.split(";") if step.strip()]
    if width == 1:
        rows = [[number] for row in rows for number in row]
    for row in rows:
        if len(row) != width:
            raise DataError(
                "D224",
                f"a step has {len(row)} numbers; a step of this model has {width}",
                help=["separate steps by ;, as in 1 2; 3 4"],
            )
    return np.array(rows, dtype=np.float64).reshape(-1, width)


def format_rows(values: Float[np.ndarray, "time width"]) -> list[tuple[str, bool]]:
    """Each time step in short form, and whether none of its values is missing."""
    return [(" ".join(f"{one:.6g}" for one in row), not np.isnan(row).any()) for row in values]


@dataclass(frozen=True, eq=False)
class TimeSeries:
    """One time series: observed values, NaN where missing, and known inputs, never missing.

    Known inputs (covariates) are known in advance, also in the future. `times` are the dates of the
    steps as the file has them, or their numbers from 1 on. A series may have one label, or one for
    each step.
    """

    name: str
    values: Float[np.ndarray, "time width"]
    known: Float[np.ndarray, "time known"]
    times: tuple[str, ...] = ()
    label: str = ""
    labels: tuple[str, ...] = ()
    line: int = 0  # the line of its file where it starts

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class SeriesFile:
    """All series of a file, the names of their columns, and how they were read."""

    series: list[TimeSeries]
    names: tuple[str, ...]  # of the observed columns
    known: tuple[str, ...] = ()  # of the known inputs
    step: str = ""  # the frequency: "hour", "month", "7 days"; empty without dates
    period: int = 1  # the default seasonal period of that frequency
    notes: list[str] = field(default_factory=list)  # what was guessed, a sentence each
    are_named: bool = False  # whether a header names the observed columns
    are_chosen: bool = False  # whether the user named them


class TimeIndex:
    """Time index feature: the number of each step, from the start of its series in training.

    A series of a later file continues the count by its dates. Without dates, or under a name that
    was not in training, a series starts at 0. If it is off, it has no column. It is a codec.
    """

    def __init__(self, is_on: bool = False) -> None:
        self.is_on = is_on
        self._starts: dict[str, str] = {}

    def learn(self, series: Iterable[TimeSeries]) -> None:
        """Fit: the first date of each training series."""
        self._starts = {one.name: one.times[0] for one in series if self.is_on and one.times}

    def column(self, series: TimeSeries, start: int, end: int) -> Float[np.ndarray, "time columns"]:
        """The time index of these rows, as one column; none if it is off."""
        if not self.is_on:
            return np.zeros((end - start, 0))
        first = self._starts.get(series.name)
        offset = steps_between(first, series.times) if first is not None and series.times else 0
        return np.arange(start + offset, end + offset, dtype=np.float64)[:, None]

    def state(self) -> Any:
        return {"starts": self._starts}

    def restore(self, state: Any) -> None:
        self._starts = dict(state["starts"])


def steps_between(start: str, times: Sequence[str]) -> int:
    """The steps from a date or step number to the start of a series; 0 if it has neither."""
    if times[0] == start or len(times) == 1:
        return 0
    numbers = [start, *times[:2]]
    are_numbers = all(re.fullmatch(r"-?\d{1,15}", number) for number in numbers)
    if are_numbers and not are_compact_dates(numbers):
        first, here, next_one = map(int, numbers)
        return (here - first) // (next_one - here)
    try:
        (first_date,), dates = on_one_clock([start], times)
    except DateParseError:
        return 0
    step = infer_step([dates])
    return (step.number(dates[0]) - step.number(first_date)) // step.count if step else 0


DEFAULT_HORIZON = 10  # of series without a season
MIN_SEASONS = 2  # a shorter series gets no default season


class SeriesSchema:
    """Schema of time series: columns, step (frequency), seasonal period, forecast horizon.

    A period of 0 is chosen by the frequency: 24 for hours, 7 for days, 12 for months. A horizon of
    0 is one season, or 10 steps without a season. It is a codec: all attributes are saved.
    """

    def __init__(self, period: int = 0, horizon: int = 0) -> None:
        self.period, self.horizon = period, horizon
        self.width, self.step, self.is_learned = 1, "", False
        self.are_named = True
        self.names: tuple[str, ...] = ()
        self.known: tuple[str, ...] = ()

    def learn(self, file: SeriesFile, width: int, path: str) -> list[str]:
        """Fit to the training file; a note, a sentence, for each value that was chosen."""
        longest = max(len(one) for one in file.series)
        self.names, self.known, self.step = file.names, file.known, file.step
        self.are_named = file.are_named
        self.width, notes = width, list[str]()
        if self.period >= longest:
            raise DataError(
                "D221",
                f"a seasonal period of {self.period:,} steps is longer than the longest series"
                f" ({longest:,} steps)",
                place=Place(path),
                help=[f"--set task.period=1   no season, or a period below {longest:,} steps"],
            )
        if not self.period:
            has_season = longest >= MIN_SEASONS * file.period
            self.period = file.period if has_season else 1
            if self.period > 1:
                notes.append(
                    f"seasonal period: {self.period} steps, by the dates (--set task.period)"
                )
        if not self.horizon:
            default = self.period if self.period > 1 else DEFAULT_HORIZON
            self.horizon = max(1, min(default, longest // 4))
            steps = "one step" if self.horizon == 1 else f"{self.horizon} steps"
            notes.append(f"forecast horizon: {steps} (--set task.horizon)")
        self.is_learned = True
        return notes

    def select(self, file: SeriesFile, path: str) -> SeriesFile:
        """The learned columns of a file, in their order; an error if it has none of them.

        Columns without names go by their places, and those that the user named are taken.
        """
        if not (self.are_named and file.are_named) or file.are_chosen:
            return file
        plain = [name.casefold() for name in file.names]
        found = [plain.index(name.casefold()) for name in self.names if name.casefold() in plain]
        if not found or (self.width > 1 and len(found) < len(self.names)):
            raise self._no_column(file, plain, path)
        if found == list(range(len(file.names))):
            return file
        series = [replace(one, values=one.values[:, found]) for one in file.series]
        return replace(file, series=series, names=tuple(file.names[place] for place in found))

    def _no_column(self, file: SeriesFile, plain: list[str], path: str) -> DataError:
        """An error for a file that lacks a learned column."""
        missing = next(name for name in self.names if name.casefold() not in plain)
        return DataError(
            "D227",
            f'"{Path(path).name}" has no column "{missing}", which the model has learned',
            place=Place(path, 1),
            notes=[f"found: {', '.join(file.names[:10])}{', …' * (len(file.names) > 10)}"],
            help=["--columns value=COLUMN   forecast another column, which you name"],
        )

    def must_match(self, file: SeriesFile, width: int, path: str) -> None:
        """Refuse a file whose columns are not those of the training file."""
        if len(file.known) != len(self.known):
            raise DataError(
                "D223",
                f"the file has {_listed(file.known)} as known inputs, and training had"
                f" {_listed(self.known)}",
                place=Place(path),
                help=["--columns known=COLUMN+COLUMN   the inputs, in the same order"],
            )
        if width != self.width:
            raise DataError(
                "D223",
                f"a step has {width} numbers here, and in training it had {self.width}",
                place=Place(path),
                help=[f"--columns value={'+'.join(self.names)}"] if self.width > 1 else [],
            )

    def state(self) -> Any:
        return dict(vars(self))

    def restore(self, state: Any) -> None:
        for name, value in state.items():
            found = tuple(value) if isinstance(value, list) else value
            if not isinstance(found, type(vars(self)[name])):
                raise ValueError(f"{name} is of another kind")
            setattr(self, name, found)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
