"""Which steps of a series are named below a picture, and by what words."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from .symbols import shorten

Tick = tuple[int, str]  # the number of a step, and its name
LONGEST = 12  # columns of a name that is not a date
_ORDER = "[0-9]{1,6}"  # numbers of steps, or years


def time_ticks(times: Sequence[str], most: int) -> list[Tick]:
    """At most so many steps, with short names: round numbers, or where a year or a day begins.

    Names that are neither numbers nor dates stand as they are, at equal distances.
    """
    most = max(2, most)
    if len(times) > 1 and all(re.fullmatch(_ORDER, time) for time in times):
        ticks = _of_numbers([int(time) for time in times], most)
    else:
        moments = [moment for time in times if (moment := moment_of(time))]
        ticks = _of_moments(moments, most) if len(moments) == len(times) else []
    return ticks if len(ticks) > 1 else _evenly(times, most)


def short_times(times: Sequence[str]) -> list[str]:
    """Names without what all of them end with: seconds or hours that are nought."""
    for pattern in (r"[T ]00:00(:00(\.0+)?)?", r"(?<=\d\d:\d\d):00(\.0+)?"):
        if all(re.search(f"{pattern}$", time) for time in times):
            return [re.sub(f"{pattern}$", "", time) for time in times]
    return list(times)


def moment_of(time: str) -> datetime | None:
    """The date and hour that a text names in ISO 8601, such as 2016-07-01 12:00; or a month."""
    text = f"{time}-01" if re.fullmatch(r"\d{4}-\d{2}", time) else time
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


def _of_numbers(numbers: Sequence[int], most: int) -> list[Tick]:
    for power in range(7):
        for step in (10**power, 2 * 10**power, 5 * 10**power):
            ticks = [(place, str(n)) for place, n in enumerate(numbers) if n % step == 0]
            if len(ticks) <= most:
                return ticks
    return []


def _of_moments(moments: Sequence[datetime], most: int) -> list[Tick]:
    """Where something new begins, by the finest measure that gives no more than so many."""
    for number_of, name in _MEASURES:
        numbers = [number_of(moment) for moment in moments]
        before = [number_of(moments[0] - _INSTANT), *numbers] if moments else []
        begun = [place for place, number in enumerate(numbers) if number != before[place]]
        if len(begun) <= most:
            return [(place, name(moments[place])) for place in begun]
    return []


def _evenly(times: Sequence[str], most: int) -> list[Tick]:
    most = min(most, max(2, most * 8 // LONGEST)) if any(len(time) > 8 for time in times) else most
    every = max(1, -(-(len(times) - 1) // (most - 1)))
    return [(place, shorten(times[place], LONGEST)) for place in range(0, len(times), every)]


def _minutes(count: int) -> Callable[[datetime], int]:
    return lambda m: (m.toordinal() * 1440 + m.hour * 60 + m.minute) // count


def _days(count: int) -> Callable[[datetime], int]:
    return lambda m: (m.toordinal() - 1) // count  # seven of them begin on a Monday


def _months(count: int) -> Callable[[datetime], int]:
    return lambda m: (m.year * 12 + m.month - 1) // count


def _hour(moment: datetime) -> str:
    is_midnight = moment.hour == moment.minute == 0
    return f"{moment:%m-%d}" if is_midnight else f"{moment:%H:%M}"


def _day(moment: datetime) -> str:
    return f"{moment:%m-%d}"


def _month(moment: datetime) -> str:
    return f"{moment.year:04}" if moment.month == 1 else f"{moment.year:04}-{moment.month:02}"


def _year(moment: datetime) -> str:
    return f"{moment.year:04}"


_INSTANT = timedelta(microseconds=1)
_MEASURES: list[tuple[Callable[[datetime], int], Callable[[datetime], str]]] = [
    *((_minutes(count), _hour) for count in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)),
    *((_days(count), _day) for count in (1, 2, 4, 7, 14)),
    *((_months(count), _month) for count in (1, 2, 3, 6)),
    *((_months(12 * count), _year) for count in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
]
