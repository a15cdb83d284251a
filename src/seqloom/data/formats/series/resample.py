"""Regular time grid of raw series: order, duplicates and gaps; missing steps become NaN.

What pandas calls `asfreq`: the frequency is inferred, and nothing is aggregated.
"""

import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np

from ....errors import DataError, Place
from ...series.clock_changes import hours_passed, may_change
from ...series.date_styles import DateParseError, ParsedDates, are_compact_dates, read_dates
from ...series.dates import TimeStep, infer_step
from ...series.schema import SeriesFile, TimeSeries
from ..base import pluralize
from .base import RawSeries, RawSeriesFile

_WHOLE = re.compile(r"[+-]?\d{1,15}")
_MICROSECOND = timedelta(microseconds=1)
MAX_FILL_RATIO = 3  # steps per row; with more gaps, the frequency is probably wrong


def to_regular_steps(file: RawSeriesFile) -> SeriesFile:
    """Time series on a regular grid, with the time of each step."""
    notes = list(file.notes)
    series = [raw for raw in file.series if len(raw)]
    grid = _time_grid(file, series, notes) if file.time else None
    if grid is None:
        regular = [_in_order(raw) for raw in series]
        return _file(file, regular, notes)
    _reverse(series, grid, notes)
    if grid.step is not None and grid.step.name:
        notes.append(f"the step is {_article(grid.step.name)} (from {file.time})")
    regular = [_regular(raw, grid, file, index) for index, raw in enumerate(series)]
    filled = sum(map(len, regular)) - sum(map(len, series))
    if filled:
        notes.append(_gaps(filled, regular, series))
        if file.known:
            notes.append("known inputs in gaps are those of the step before")
    step, period = (grid.step.name, grid.step.period) if grid.step else ("", 1)
    return replace(_file(file, regular, notes), step=step, period=period)


def _file(file: RawSeriesFile, series: list[TimeSeries], notes: list[str]) -> SeriesFile:
    """The series with the names of their columns."""
    chosen, named = file.are_chosen, file.are_named
    return SeriesFile(
        series, file.names, file.known, notes=notes, are_named=named, are_chosen=chosen
    )


@dataclass
class _TimeGrid:
    """The times of all series as whole numbers, with the unit of the grid."""

    numbers: list[list[int]]
    unit: int  # the difference between two steps
    dates: ParsedDates | None = None
    step: TimeStep | None = None
    shifts: dict[int, list[timedelta]] = field(default_factory=dict)  # of series that repeat hours

    def name(self, number: int, shift: timedelta = timedelta(0)) -> str:
        """The time of a step in the style of the file, on clocks that are shifted."""
        if self.dates is None or self.step is None:
            return str(number)
        return self.dates.write(self.step.date(number, self.dates.values[0]) + shift)

    def may_repeat_an_hour(self, number: int) -> bool:
        """Whether clocks without a zone may have been put back around this step."""
        if self.dates is None or self.step is None or self.dates.offsets is not None:
            return False
        is_short = (
            self.step.unit == "microsecond" and self.unit <= timedelta(hours=1) / _MICROSECOND
        )
        return is_short and may_change(self.step.date(number, self.dates.values[0]))


def _time_grid(file: RawSeriesFile, series: list[RawSeries], notes: list[str]) -> _TimeGrid | None:
    """The grid of the times of a file; None if its times are neither numbers nor dates."""
    texts = [time for raw in series for time in raw.times]
    lines = [line for raw in series for line in raw.lines]
    is_year = all(re.fullmatch(r"[12]\d{3}", text.strip()) for text in texts)
    are_whole = not is_year and all(_WHOLE.fullmatch(text.strip()) for text in texts)
    if are_whole and not are_compact_dates(texts):
        numbers = [[int(text) for text in raw.times] for raw in series]
        gaps = [abs(b - a) for one in numbers for a, b in pairwise(one) if a != b]
        return _TimeGrid(numbers, min(gaps, default=1))
    try:
        dates = read_dates(texts)
    except DateParseError as error:
        if error.index == 0 and "two dates" not in error.reason:
            notes.append(f'"{file.time}" has no dates: rows are time steps in their order')
            return None
        raise _no_date(file, lines[error.index], texts[error.index], error) from None
    groups, shifts = _groups(dates, series)
    if dates.has_clock_changes:
        how = "days of local clocks" if dates.is_local else "the hours that pass"
        notes.append(f'the clock changes in "{file.time}": steps are by {how}')
    if shifts:
        notes.append(
            f'an hour repeats in "{file.time}", as clocks are put back: steps are by the hours'
            " that pass"
        )
    rising = [one[::-1] if len(one) > 1 and one[0] > one[-1] else one for one in groups]
    step = infer_step(rising)
    if step is None:
        return _TimeGrid([[0] * len(one) for one in groups], 1, dates)
    numbers = [[step.number(date) for date in one] for one in groups]
    return _TimeGrid(numbers, step.count, dates, step, shifts)


def _groups(
    dates: ParsedDates, series: list[RawSeries]
) -> tuple[list[list[datetime]], dict[int, list[timedelta]]]:
    """The dates of each series as instants, and how far clocks are shifted if an hour repeats."""
    groups, shifts, start = list[list[datetime]](), dict[int, list[timedelta]](), 0
    for number, raw in enumerate(series):
        one = dates.values[start : start + len(raw)]
        start += len(raw)
        is_falling = len(one) > 1 and one[0] > one[-1]
        shift = hours_passed(one[::-1] if is_falling else one) if dates.offsets is None else None
        if shift is not None:
            shifts[number] = shift
            in_order = shift[::-1] if is_falling else shift
            one = [date - by for date, by in zip(one, in_order, strict=True)]
        groups.append(one)
    return groups, shifts


def _reverse(series: list[RawSeries], grid: _TimeGrid, notes: list[str]) -> None:
    """Reverse series whose newest row comes first."""
    count = 0
    for raw, numbers in zip(series, grid.numbers, strict=True):
        if len(numbers) > 1 and all(a > b for a, b in pairwise(numbers)):
            raw.times, raw.labels = raw.times[::-1], raw.labels[::-1]
            raw.lines = raw.lines[::-1]
            numbers.reverse()
            raw.values, raw.known = raw.values[::-1].copy(), raw.known[::-1].copy()
            count += 1
    if count:
        notes.append("the newest rows come first: rows were reversed")


def _regular(raw: RawSeries, grid: _TimeGrid, file: RawSeriesFile, index: int) -> TimeSeries:
    """One series with a row for each step of the grid; steps that the file lacks are NaN."""
    numbers = grid.numbers[index]
    shifts = grid.shifts.get(index, [timedelta(0)] * len(numbers))
    for row, (before, after) in enumerate(pairwise(numbers), 1):
        if after == before:
            raise _duplicate(file, raw, row, grid, after)
        if after < before:
            raise _out_of_order(file, raw, row)
        if (after - before) % grid.unit:
            raise _uneven(file, raw, row, grid)
    steps = (np.array(numbers) - numbers[0]) // grid.unit
    size = int(steps[-1]) + 1
    if size > MAX_FILL_RATIO * len(raw) + 1 and len(raw) > 1:
        raise _too_many_gaps(file, raw, size, grid)
    values = np.full((size, raw.values.shape[1]), np.nan)
    values[steps] = raw.values
    # The row of each step, or of the last step before it: known inputs are carried forward.
    source = np.searchsorted(steps, np.arange(size), side="right") - 1
    row_of = {int(step): row for row, step in enumerate(steps)}
    times = tuple(
        raw.times[row_of[i]].strip()
        if i in row_of
        else grid.name(numbers[0] + i * grid.unit, shifts[source[i]])
        for i in range(size)
    )
    labels = tuple(raw.labels[row] for row in source) if raw.labels else ()
    known = raw.known[source]
    return TimeSeries(raw.name, values, known, times, raw.label, labels, raw.lines[0])


def _in_order(raw: RawSeries) -> TimeSeries:
    """One series whose rows are its time steps."""
    times = tuple(str(number) for number in range(1, len(raw) + 1))
    times = tuple(time.strip() for time in raw.times) if raw.times else times
    return TimeSeries(
        raw.name, raw.values, raw.known, times, raw.label, tuple(raw.labels), raw.lines[0]
    )


def _gaps(filled: int, regular: list[TimeSeries], series: list[RawSeries]) -> str:
    """A note on the steps that were filled in, with the first of them."""
    for one, raw in zip(regular, series, strict=True):
        if len(one) > len(raw):
            given = iter([*raw.times, ""])
            first = next(time for time in one.times if time != next(given).strip())
            of = f' of "{one.name}"' if one.name else ""
            steps = f"{filled:,} steps are" if filled > 1 else "1 step is"
            return f"{steps} not in the file, {first}{of} first: read as missing"
    raise ValueError("nothing was filled")


def _article(step: str) -> str:
    if step[0].isdigit():
        return step
    return f"an {step}" if step.startswith("hour") else f"a {step}"


def _of(raw: RawSeries) -> str:
    return f' in the series "{raw.name}"' if raw.name else ""


def _at(path: Path, line: int) -> Place:
    return Place(str(path), line)


def _no_date(file: RawSeriesFile, line: int, text: str, error: DateParseError) -> DataError:
    return DataError(
        "D207",
        f'"{text.strip()}" in "{file.time}" cannot be read as a date: {error.reason}',
        place=_at(file.path, line),
        help=["write dates as 2019-03-31", "--columns time=none   take the rows in their order"],
    )


def _duplicate(
    file: RawSeriesFile, raw: RawSeries, row: int, grid: _TimeGrid, number: int
) -> DataError:
    first, text = raw.lines[row - 1], raw.times[row].strip()
    remedy = "keep one of the two rows"
    if grid.may_repeat_an_hour(number):
        remedy = "write the zone, as in 2023-10-29 02:00+01:00, if clocks were put back then"
    return DataError(
        "D205",
        f"{text} occurs twice{_of(raw)}: first on line {first}",
        place=_at(file.path, raw.lines[row]),
        help=["--columns id=COLUMN   if the file has several series", remedy],
    )


def _out_of_order(file: RawSeriesFile, raw: RawSeries, row: int) -> DataError:
    now, before = raw.times[row].strip(), raw.times[row - 1].strip()
    return DataError(
        "D204",
        f"dates are out of order{_of(raw)}: {now} comes after {before}",
        place=_at(file.path, raw.lines[row]),
        help=["sort the rows by their dates", "--columns id=COLUMN   if there are several series"],
    )


def _uneven(file: RawSeriesFile, raw: RawSeries, row: int, grid: _TimeGrid) -> DataError:
    name = grid.step.name if grid.step else f"step of {grid.unit}"
    now, before = raw.times[row].strip(), raw.times[row - 1].strip()
    return DataError(
        "D206",
        f"no regular time step{_of(raw)}: most rows are {_article(name)} apart, but {now} is"
        f" not a whole number of them after {before}",
        place=_at(file.path, raw.lines[row]),
        help=[
            "bring the rows to equal time steps first",
            "--columns time=none   take the rows in their order",
        ],
    )


def _too_many_gaps(file: RawSeriesFile, raw: RawSeries, size: int, grid: _TimeGrid) -> DataError:
    name = grid.step.name if grid.step else f"step of {grid.unit}"
    return DataError(
        "D206",
        f"no regular time step{_of(raw)}: at {_article(name)}, {pluralize(size, 'row')} would be"
        f" needed, and there are {len(raw):,}",
        place=_at(file.path, raw.lines[0]),
        help=["--columns time=none   take the rows in their order"],
    )
