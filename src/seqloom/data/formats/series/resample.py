"""Dates of series: checked for their order, for doubles and for gaps, which are filled."""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from ....errors import DataError, Place
from ...series.dates import Dates, NotDatesError, Step, find_step, read_dates
from ...series.schema import Recorded, Recording
from ..base import count
from .base import Found, Raw

_WHOLE = re.compile(r"[+-]?\d{1,15}")
MOST_FILLED = 3  # times as many rows as there are: beyond that the dates are not what they seem


def timed(found: Found) -> Recording:
    """Series at equal steps, each step with its name."""
    said = list(found.said)
    series = [raw for raw in found.series if len(raw)]
    clock = _clock(found, series, said) if found.time else None
    if clock is None:
        recorded = [_in_order(raw) for raw in series]
        return Recording(recorded, found.names, found.known, said=said)
    _turn_round(series, clock, said)
    if clock.step is not None and clock.step.name:
        said.append(f"the step is {_article(clock.step.name)} (from {found.time})")
    recorded = [_regular(raw, clock, found) for raw in series]
    filled = sum(map(len, recorded)) - sum(map(len, series))
    if filled:
        said.append(_gaps(filled, recorded, series))
        if found.known:
            said.append("inputs in gaps are those of the step before")
    step, period = (clock.step.name, clock.step.period) if clock.step else ("", 1)
    return Recording(recorded, found.names, found.known, step, period, said)


@dataclass
class _Clock:
    """The times of all series as whole numbers, and back."""

    numbers: list[list[int]]
    unit: int  # from one step to the next
    dates: Dates | None = None
    step: Step | None = None

    def name(self, number: int) -> str:
        """What the file would call a step."""
        if self.dates is None or self.step is None:
            return str(number)
        return self.dates.write(self.step.date(number, self.dates.values[0]))


def _clock(found: Found, series: list[Raw], said: list[str]) -> _Clock | None:
    """How time goes in the file; None where its times tell nothing but an order."""
    texts = [time for raw in series for time in raw.times]
    lines = [line for raw in series for line in raw.lines]
    is_year = all(re.fullmatch(r"[12]\d{3}", text.strip()) for text in texts)
    if not is_year and all(_WHOLE.fullmatch(text.strip()) for text in texts):
        numbers = [[int(text) for text in raw.times] for raw in series]
        ways = [abs(b - a) for one in numbers for a, b in pairwise(one) if a != b]
        return _Clock(numbers, min(ways, default=1))
    try:
        dates = read_dates(texts)
    except NotDatesError as error:
        if error.place == 0 and "two dates" not in error.reason:
            said.append(f'"{found.time}" has no dates that can be read: rows go in their order')
            return None
        raise _no_date(found, lines[error.place], texts[error.place], error) from None
    groups, place = [], 0
    for raw in series:
        groups.append(dates.values[place : place + len(raw)])
        place += len(raw)
    falling = [one[::-1] if len(one) > 1 and one[0] > one[-1] else one for one in groups]
    step = find_step(falling)
    if step is None:
        return _Clock([[0] * len(one) for one in groups], 1, dates)
    return _Clock([[step.number(d) for d in one] for one in groups], step.count, dates, step)


def _turn_round(series: list[Raw], clock: _Clock, said: list[str]) -> None:
    """Series that begin with the newest row are turned round."""
    turned = 0
    for raw, numbers in zip(series, clock.numbers, strict=True):
        if len(numbers) > 1 and all(a > b for a, b in pairwise(numbers)):
            raw.times, raw.labels = raw.times[::-1], raw.labels[::-1]
            raw.lines = raw.lines[::-1]
            numbers.reverse()
            raw.values, raw.known = raw.values[::-1].copy(), raw.known[::-1].copy()
            turned += 1
    if turned:
        said.append("the newest rows come first: they were turned round")


def _regular(raw: Raw, clock: _Clock, found: Found) -> Recorded:
    """One series with a row for each step; what the file does not have is missing."""
    numbers = clock.numbers[[id(one) for one in found.series if len(one)].index(id(raw))]
    for place, (before, after) in enumerate(pairwise(numbers), 1):
        if after == before:
            raise _double(found, raw, place)
        if after < before:
            raise _out_of_order(found, raw, place)
        if (after - before) % clock.unit:
            raise _uneven(found, raw, place, clock)
    steps = (np.array(numbers) - numbers[0]) // clock.unit
    size = int(steps[-1]) + 1
    if size > MOST_FILLED * len(raw) + 1 and len(raw) > 1:
        raise _too_many_gaps(found, raw, size, clock)
    values = np.full((size, raw.values.shape[1]), np.nan)
    values[steps] = raw.values
    source = np.searchsorted(steps, np.arange(size), side="right") - 1
    places = {int(step): place for place, step in enumerate(steps)}
    times = tuple(
        raw.times[places[i]].strip() if i in places else clock.name(numbers[0] + i * clock.unit)
        for i in range(size)
    )
    labels = tuple(raw.labels[place] for place in source) if raw.labels else ()
    known = raw.known[source]
    return Recorded(raw.name, values, known, times, raw.label, labels, raw.lines[0])


def _in_order(raw: Raw) -> Recorded:
    """One series whose rows are its steps."""
    times = tuple(str(number) for number in range(1, len(raw) + 1))
    times = tuple(time.strip() for time in raw.times) if raw.times else times
    return Recorded(
        raw.name, raw.values, raw.known, times, raw.label, tuple(raw.labels), raw.lines[0]
    )


def _gaps(filled: int, recorded: list[Recorded], series: list[Raw]) -> str:
    """What was filled, and where first."""
    for one, raw in zip(recorded, series, strict=True):
        if len(one) > len(raw):
            given = {time.strip() for time in raw.times}
            first = next(time for time in one.times if time not in given)
            of = f' of "{one.name}"' if one.name else ""
            steps = f"{filled:,} steps are" if filled > 1 else "1 step is"
            return f"{steps} not in the file, {first}{of} first: read as missing"
    raise ValueError("nothing was filled")


def _article(step: str) -> str:
    if step[0].isdigit():
        return step
    return f"an {step}" if step.startswith("hour") else f"a {step}"


def _of(raw: Raw) -> str:
    return f' in the series "{raw.name}"' if raw.name else ""


def _at(path: Path, line: int) -> Place:
    return Place(str(path), line)


def _no_date(found: Found, line: int, text: str, error: NotDatesError) -> DataError:
    return DataError(
        "D207",
        f'"{text.strip()}" in "{found.time}" cannot be read as a date: {error.reason}',
        place=_at(found.path, line),
        help=["write dates as 2019-03-31", "--columns time=none   take the rows in their order"],
    )


def _double(found: Found, raw: Raw, place: int) -> DataError:
    first = raw.lines[place - 1]
    return DataError(
        "D205",
        f"{raw.times[place].strip()} comes twice{_of(raw)}: it was on line {first} before",
        place=_at(found.path, raw.lines[place]),
        help=["--columns id=COLUMN   if the file has several series", "keep one of the two rows"],
    )


def _out_of_order(found: Found, raw: Raw, place: int) -> DataError:
    now, before = raw.times[place].strip(), raw.times[place - 1].strip()
    return DataError(
        "D204",
        f"dates are out of order{_of(raw)}: {now} comes after {before}",
        place=_at(found.path, raw.lines[place]),
        help=["sort the rows by their dates", "--columns id=COLUMN   if there are several series"],
    )


def _uneven(found: Found, raw: Raw, place: int, clock: _Clock) -> DataError:
    name = clock.step.name if clock.step else f"step of {clock.unit}"
    now, before = raw.times[place].strip(), raw.times[place - 1].strip()
    return DataError(
        "D206",
        f"the step cannot be told{_of(raw)}: most rows are {_article(name)} apart, but {now} is"
        f" not a whole number of them after {before}",
        place=_at(found.path, raw.lines[place]),
        help=[
            "bring the rows to equal steps first",
            "--columns time=none   take the rows in their order",
        ],
    )


def _too_many_gaps(found: Found, raw: Raw, size: int, clock: _Clock) -> DataError:
    name = clock.step.name if clock.step else f"step of {clock.unit}"
    return DataError(
        "D206",
        f"the step cannot be told{_of(raw)}: at {_article(name)}, {count(size, 'row')} would be"
        f" needed, and there are {len(raw):,}",
        place=_at(found.path, raw.lines[0]),
        help=["--columns time=none   take the rows in their order"],
    )
