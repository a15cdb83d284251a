"""Dates of time series: parsing, the step (frequency) between them, and the next dates.

What pandas calls `to_datetime`, `infer_freq` and `date_range`, without pandas.
"""

import calendar
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Literal

_DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%Y-%m", "%Y/%m", "%Y"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%b %Y", "%b-%Y", "%B %Y", "%d %B %Y"),
)
_CLOCKS = ("", " %H:%M:%S", " %H:%M", "T%H:%M:%S", "T%H:%M", " %H:%M:%S.%f", "T%H:%M:%S.%f")
_ZONED = "%Y-%m-%dT%H:%M:%SZ"  # dates with a time zone are converted to UTC
_QUARTERS = {  # the pattern of a style of quarters, and how it is written
    r"(?P<year>\d{4})-?Q(?P<quarter>[1-4])": "{year}Q{quarter}",
    r"(?P<year>\d{4})[- ]Q(?P<quarter>[1-4])": "{year}-Q{quarter}",
    r"Q(?P<quarter>[1-4])[- ](?P<year>\d{4})": "Q{quarter} {year}",
}
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_SECONDS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_MONTHS = {1: "month", 3: "quarter", 12: "year"}
_PERIODS = {"day": 7, "weekday": 5, "week": 52, "month": 12, "quarter": 4}
_SATURDAY = 5
_MIN_DATES_OF_WEEKDAYS = 10  # fewer dates may lie in one week
_MIN_STEP_OF_DAILY_SEASON = 600  # seconds; shorter steps have no default season


class DateParseError(ValueError):
    """A text that is not a date, or is ambiguous: its index among the texts, and the reason."""

    def __init__(self, index: int, reason: str) -> None:
        self.index, self.reason = index, reason
        super().__init__(reason)


@dataclass(frozen=True)
class ParsedDates:
    """Dates and their style: a `strftime` format, or a format of quarters."""

    values: list[datetime]
    style: str

    def write(self, date: datetime) -> str:
        """A date in the style of the file."""
        if "{" in self.style:
            return self.style.format(year=date.year, quarter=(date.month + 2) // 3)
        return date.strftime(self.style)


@dataclass(frozen=True)
class TimeStep:
    """Time step (frequency): a number of months, weekdays or microseconds between two dates.

    Dates of monthly series are on the `day` of their month, or on its last day if it is shorter;
    day 0 is the last day of each month.
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
            return datetime.fromordinal(7 * weeks + weekday + 1)
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


def read_dates(texts: Sequence[str]) -> ParsedDates:
    """Parse dates that are all written in one style.

    Whether 3/4/2019 is in March or in April must be clear from some other date.
    """
    first = texts[0].strip()
    for pattern, style in _QUARTERS.items():
        if re.fullmatch(pattern, first):
            return ParsedDates([_quarter(pattern, i, t) for i, t in enumerate(texts)], style)
    if re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)", first):
        return ParsedDates([_zoned(i, text) for i, text in enumerate(texts)], _ZONED)
    styles = [day + clock for day in _DAYS for clock in _CLOCKS if _fits(first, day + clock)]
    if not styles:
        raise DateParseError(0, "it is not a date")
    return _in_one_style(texts, styles)


def _in_one_style(texts: Sequence[str], styles: list[str]) -> ParsedDates:
    """Parse dates in the one style, of those that fit the first date, that all of them have."""
    found, worst = [], DateParseError(-1, "")
    for style in styles:
        try:
            found.append(ParsedDates(_all(texts, style), style))
        except DateParseError as error:
            worst = max(worst, error, key=lambda one: one.index)
    if not found:
        raise worst
    if len(found) > 1 and found[0].values != found[1].values:
        raise DateParseError(0, "it could be two dates: which number is the day, which the month?")
    return found[0]


def infer_step(groups: Sequence[Sequence[datetime]]) -> TimeStep | None:
    """The most frequent step between ordered dates; None if no group has two dates."""
    every = [date for group in groups for date in group]
    step = TimeStep("microsecond", 1)
    # Months and business days are not of equal length: they are recognised first, and counted in
    # units of their own.
    if len({date.time() for date in every}) <= 1:
        days = {date.day for date in every}
        ends = all(date.day == calendar.monthrange(date.year, date.month)[1] for date in every)
        if len(days) == 1 or ends:
            step = TimeStep("month", 1, 0 if ends else days.pop())
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


def _fits(text: str, style: str) -> bool:
    try:
        datetime.strptime(text, style)  # noqa: DTZ007 - files name no time zone
    except ValueError:
        return False
    return True


def _all(texts: Sequence[str], style: str) -> list[datetime]:
    """Parse every text in this style."""
    found = []
    is_plain = style.startswith("%Y-%m-%d")  # fromisoformat is faster and gives the same
    for index, text in enumerate(texts):
        stripped = text.strip()
        try:
            if is_plain and len(stripped) >= len("2019-01-01"):
                found.append(datetime.fromisoformat(stripped))
            else:
                found.append(datetime.strptime(stripped, style))  # noqa: DTZ007
        except ValueError:
            raise DateParseError(index, "it is not a date like the first") from None
        if found[-1].tzinfo is not None:
            raise DateParseError(index, "it has a time zone, and the first date has none")
    return found


def _zoned(index: int, text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise DateParseError(index, "it is not a date like the first") from None
    if found.tzinfo is None:
        raise DateParseError(index, "it has no time zone, and the first date has one")
    return found.astimezone(UTC).replace(tzinfo=None)


def _quarter(pattern: str, index: int, text: str) -> datetime:
    found = re.fullmatch(pattern, text.strip())
    if found is None:
        raise DateParseError(index, "it is not a quarter like the first")
    return datetime(int(found["year"]), 3 * int(found["quarter"]) - 2, 1)


def _several(number: int, name: str) -> str:
    return name if number == 1 else f"{number:,} {name}s"
