"""Steps of time series: the step (frequency) between dates, and the next dates.

What pandas calls `infer_freq` and `date_range`, without pandas.
"""

import calendar
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Literal

from .date_styles import DateParseError, read_dates

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_SECONDS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_MONTHS = {1: "month", 3: "quarter", 12: "year"}
_PERIODS = {"day": 7, "weekday": 5, "week": 52, "month": 12, "quarter": 4}
_SATURDAY = 5
_MIN_DATES_OF_WEEKDAYS = 10  # fewer dates may lie in one week
_MIN_STEP_OF_DAILY_SEASON = 600  # seconds; shorter steps have no default season


@dataclass(frozen=True)
class TimeStep:
    """Time step (frequency): a number of months, weekdays or microseconds between two dates.

    Dates of monthly series are on the `day` of their month, or on its last day if it is shorter, as
    the 30th is on the 28th of February; day 0 is the last day of each month.
    """

    unit: Literal["month", "weekday", "microsecond"]
    count: int
    day: int = 1

    def number(self, date: datetime) -> int:
        """The date as a whole number of units, so that steps can be counted."""
        if self.unit == "month":
            return date.year * 12 + date.month - 1
        if self.unit == "weekday":
            weeks, weekday = divmod(date.toordinal() - 1, 7)
            return 5 * weeks + weekday
        return (date - _EPOCH) // _MICROSECOND

    def date(self, number: int, like: datetime) -> datetime:
        """The inverse of `number`; `like` is another date of the series, for its time of day."""
        if self.unit == "month":
            year, month = divmod(number, 12)
            last = calendar.monthrange(year, month + 1)[1]
            return like.replace(year=year, month=month + 1, day=min(self.day or last, last))
        if self.unit == "weekday":
            weeks, weekday = divmod(number, 5)
            return datetime.combine(datetime.fromordinal(7 * weeks + weekday + 1), like.time())
        return _EPOCH + number * _MICROSECOND

    @cached_property
    def name(self) -> str:
        """The step in words: "hour", "month", "15 minutes"."""
        if self.unit == "month":
            return _MONTHS.get(self.count) or _several(self.count, "month")
        if self.unit == "weekday":
            return _several(self.count, "weekday")
        seconds = self.count / 1e6
        for name, size in _SECONDS.items():
            if seconds % size == 0:
                return _several(int(seconds) // size, name)
        return f"{seconds:g} seconds"

    @property
    def period(self) -> int:
        """The default seasonal period, in steps: 24 for hours, 12 for months; 1 is no season."""
        if self.name in _PERIODS:
            return _PERIODS[self.name]
        seconds = self.count / 1e6 if self.unit == "microsecond" else 0
        is_within_day = _MIN_STEP_OF_DAILY_SEASON <= seconds < _SECONDS["day"]
        return round(86_400 / seconds) if is_within_day and 86_400 % seconds == 0 else 1


def infer_step(groups: Sequence[Sequence[datetime]]) -> TimeStep | None:
    """The most frequent step between ordered dates; None if no group has two dates."""
    every = [date for group in groups for date in group]
    step = TimeStep("microsecond", 1)
    # Months and business days are not of equal length: they are recognised first, and counted in
    # units of their own.
    if len({date.time() for date in every}) <= 1:
        day = max((date.day for date in every), default=1)
        if all(date.day == last_day(date) for date in every):
            step = TimeStep("month", 1, 0)
        elif all(date.day == min(day, last_day(date)) for date in every):
            step = TimeStep("month", 1, day)
        elif len(every) >= _MIN_DATES_OF_WEEKDAYS and _are_weekdays(groups):
            step = TimeStep("weekday", 1)
    steps = Counter(
        after - before
        for group in groups
        for before, after in pairwise(map(step.number, group))
        if after > before
    )
    if not steps:
        return None
    most = max(steps.values())
    smallest = min(count for count, times in steps.items() if times == most)
    return TimeStep(step.unit, smallest, step.day)


def continues(times: Sequence[str], later: Sequence[str]) -> bool:
    """Whether later times begin one step after others end: as dates, in whatever style."""
    if not times or not later:
        return False
    try:
        first, then = on_one_clock(times, later)
    except DateParseError:
        return next_times(times, 1) == [later[0].strip()]
    step = infer_step([first])
    if step is None:
        return False
    return step.date(step.number(first[-1]) + step.count, first[-1]) == then[0]


def continued_times(times: Sequence[str], later: Sequence[str]) -> tuple[str, ...]:
    """Later times in the style of others that they continue; what does not continue is replaced."""
    if continues(times, later):
        try:
            read_dates([*times, *later])
        except DateParseError:
            pass  # of another style, or no dates
        else:
            return tuple(later)
    return tuple(next_times(times, len(later)))


def on_one_clock(
    times: Sequence[str], later: Sequence[str]
) -> tuple[list[datetime], list[datetime]]:
    """The dates of both, on the same clock; an error if they cannot be compared."""
    try:
        found = read_dates([*times, *later]).values
    except DateParseError:
        first, then = read_dates(times), read_dates(later)  # in two styles
        if (first.offsets is None) != (then.offsets is None):
            raise
        return first.utc, then.utc
    return found[: len(times)], found[len(times) :]


def next_times(times: Sequence[str], count: int) -> list[str]:
    """The next `count` times of a series: dates, or numbers of steps if it has no dates."""
    if not count:
        return []
    try:
        dates = read_dates(times) if times else None
    except DateParseError:
        dates = None
    step = infer_step([dates.values]) if dates is not None else None
    if dates is not None and step is not None:
        last = dates.values[-1]
        number = step.number(last)
        return [dates.write(step.date(number + step.count * i, last)) for i in range(1, count + 1)]
    start = int(times[-1]) if times and re.fullmatch(r"-?\d{1,15}", times[-1]) else len(times)
    increment = 1
    if len(times) > 1 and all(re.fullmatch(r"-?\d{1,15}", time) for time in times[-2:]):
        increment = int(times[-1]) - int(times[-2])
    return [str(start + increment * i) for i in range(1, count + 1)]


def _are_weekdays(groups: Sequence[Sequence[datetime]]) -> bool:
    """Whether dates are business days: Monday to Friday, with gaps over weekends only."""
    steps = {b.toordinal() - a.toordinal() for group in groups for a, b in pairwise(group)}
    weekdays = {date.weekday() for group in groups for date in group}
    return max(weekdays) < _SATURDAY and {1, 3} <= steps


def last_day(day: datetime) -> int:
    """The number of the last day of a month."""
    return calendar.monthrange(day.year, day.month)[1]


def _several(number: int, name: str) -> str:
    return name if number == 1 else f"{number:,} {name}s"
