"""Dates as files write them, the step from one to the next, and the names of steps to come."""

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
_ZONED = "%Y-%m-%dT%H:%M:%SZ"  # how dates with a time zone are written: all in one zone
_QUARTERS = {  # how they are written, by how they are told
    r"(?P<year>\d{4})-?Q(?P<quarter>[1-4])": "{year}Q{quarter}",
    r"(?P<year>\d{4})[- ]Q(?P<quarter>[1-4])": "{year}-Q{quarter}",
    r"Q(?P<quarter>[1-4])[- ](?P<year>\d{4})": "Q{quarter} {year}",
}
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_SECONDS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_MONTHS = {1: "month", 3: "quarter", 12: "year"}
_PERIODS = {"day": 7, "weekday": 5, "week": 52, "month": 12, "quarter": 4}
_SATURDAY, _TO_TELL_WEEKDAYS = 5, 10
_SHORTEST_OF_A_DAY = 600  # seconds: from steps of so long on, a day is the season


class NotDatesError(ValueError):
    """Texts that are no dates, or could be several: which of them, and why."""

    def __init__(self, place: int, reason: str) -> None:
        self.place, self.reason = place, reason
        super().__init__(reason)


@dataclass(frozen=True)
class Dates:
    """Points of time, and how the file writes them."""

    values: list[datetime]
    style: str

    def write(self, date: datetime) -> str:
        """A date as the file would write it."""
        if "{" in self.style:
            return self.style.format(year=date.year, quarter=(date.month + 2) // 3)
        return date.strftime(self.style)


@dataclass(frozen=True)
class Step:
    """From one date to the next: so many months, weekdays or microseconds.

    Months keep their day, as far as they have it; day 0 is the last of each.
    """

    unit: Literal["month", "weekday", "microsecond"]
    count: int
    day: int = 1

    def number(self, date: datetime) -> int:
        """The date as a whole number of its unit."""
        if self.unit == "month":
            return date.year * 12 + date.month - 1
        if self.unit == "weekday":
            weeks, weekday = divmod(date.toordinal() - 1, 7)
            return 5 * weeks + weekday
        return (date - _EPOCH) // _MICROSECOND

    def date(self, number: int, like: datetime) -> datetime:
        """The date with that number, at the time of day of another."""
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
        """What people call it: "hour", "month", "15 minutes"."""
        if self.unit == "month":
            named = _MONTHS.get(self.count)
            return named or _several(self.count, "month")
        if self.unit == "weekday":
            return _several(self.count, "weekday")
        seconds = self.count / 1e6
        for name, size in _SECONDS.items():
            if seconds % size == 0:
                return _several(int(seconds) // size, name)
        return f"{seconds:g} seconds"

    @property
    def period(self) -> int:
        """After how many steps a season probably comes again; 1 where nothing is usual."""
        if self.name in _PERIODS:
            return _PERIODS[self.name]
        seconds = self.count / 1e6 if self.unit == "microsecond" else 0
        is_part = _SHORTEST_OF_A_DAY <= seconds < _SECONDS["day"]
        return round(86_400 / seconds) if is_part and 86_400 % seconds == 0 else 1


def read_dates(texts: Sequence[str]) -> Dates:
    """Texts as dates, all written in one way.

    Which of 3/4/2019 is the day must be told by some other date.
    """
    first = texts[0].strip()
    for pattern, style in _QUARTERS.items():
        if re.fullmatch(pattern, first):
            return Dates([_quarter(pattern, place, t) for place, t in enumerate(texts)], style)
    if re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)", first):
        return Dates([_zoned(place, text) for place, text in enumerate(texts)], _ZONED)
    styles = [day + clock for day in _DAYS for clock in _CLOCKS if _fits(first, day + clock)]
    if not styles:
        raise NotDatesError(0, "it is no date")
    return _in_one_style(texts, styles)


def _in_one_style(texts: Sequence[str], styles: list[str]) -> Dates:
    """Texts as dates of the one style that all of them have."""
    found, worst = [], NotDatesError(-1, "")
    for style in styles:
        try:
            found.append(Dates(_all(texts, style), style))
        except NotDatesError as error:
            worst = max(worst, error, key=lambda one: one.place)
    if not found:
        raise worst
    if len(found) > 1 and found[0].values != found[1].values:
        raise NotDatesError(0, "it could be two dates: which number is the day, which the month?")
    return found[0]


def find_step(groups: Sequence[Sequence[datetime]]) -> Step | None:
    """The step that is most frequent among dates in order; None where there are no two of them."""
    every = [date for group in groups for date in group]
    step = Step("microsecond", 1)
    if len({date.time() for date in every}) <= 1:
        days = {date.day for date in every}
        ends = all(date.day == calendar.monthrange(date.year, date.month)[1] for date in every)
        if len(days) == 1 or ends:
            step = Step("month", 1, 0 if ends else days.pop())
        elif len(every) >= _TO_TELL_WEEKDAYS and _are_weekdays(groups):
            step = Step("weekday", 1)
    ways = Counter(
        after - before
        for group in groups
        for before, after in pairwise(map(step.number, group))
        if after > before
    )
    if not ways:
        return None
    most = max(ways.values())
    return Step(step.unit, min(way for way, times in ways.items() if times == most), step.day)


def continued(times: Sequence[str], count: int) -> list[str]:
    """The names of the steps that follow those: by their dates, or by their numbers."""
    if not count:
        return []
    try:
        dates = read_dates(times) if times else None
    except NotDatesError:
        dates = None
    step = find_step([dates.values]) if dates is not None else None
    if dates is not None and step is not None:
        last = dates.values[-1]
        ahead = range(1, count + 1)
        number = step.number(last)
        return [dates.write(step.date(number + step.count * i, last)) for i in ahead]
    start = int(times[-1]) if times and re.fullmatch(r"-?\d{1,15}", times[-1]) else len(times)
    way = 1
    if len(times) > 1 and all(re.fullmatch(r"-?\d{1,15}", time) for time in times[-2:]):
        way = int(times[-1]) - int(times[-2])
    return [str(start + way * i) for i in range(1, count + 1)]


def _are_weekdays(groups: Sequence[Sequence[datetime]]) -> bool:
    """Whether days follow one another from Monday to Friday, and no other day is among them."""
    ways = {b.toordinal() - a.toordinal() for group in groups for a, b in pairwise(group)}
    weekdays = {date.weekday() for group in groups for date in group}
    return max(weekdays) < _SATURDAY and {1, 3} <= ways


def _fits(text: str, style: str) -> bool:
    try:
        datetime.strptime(text, style)  # noqa: DTZ007 - files name no time zone
    except ValueError:
        return False
    return True


def _all(texts: Sequence[str], style: str) -> list[datetime]:
    """Every text as a date of this style."""
    found = []
    is_plain = style.startswith("%Y-%m-%d")  # the quick way gives the same
    for place, text in enumerate(texts):
        written = text.strip()
        try:
            if is_plain and len(written) >= len("2019-01-01"):
                found.append(datetime.fromisoformat(written))
            else:
                found.append(datetime.strptime(written, style))  # noqa: DTZ007
        except ValueError:
            raise NotDatesError(place, "it is no date like the first") from None
        if found[-1].tzinfo is not None:
            raise NotDatesError(place, "it has a time zone, and the first date has none")
    return found


def _zoned(place: int, text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise NotDatesError(place, "it is no date like the first") from None
    if found.tzinfo is None:
        raise NotDatesError(place, "it has no time zone, and the first date has one")
    return found.astimezone(UTC).replace(tzinfo=None)


def _quarter(pattern: str, place: int, text: str) -> datetime:
    found = re.fullmatch(pattern, text.strip())
    if found is None:
        raise NotDatesError(place, "it is no quarter like the first")
    return datetime(int(found["year"]), 3 * int(found["quarter"]) - 2, 1)


def _several(number: int, name: str) -> str:
    return name if number == 1 else f"{number:,} {name}s"
