"""Clock changes (summer time) in dates: the hour that repeats in autumn, and midnights as UTC.

Files do not name the place, so what they show decides: an hour of a weekend's night that comes
twice in spring or autumn, or days whose times as UTC differ by one hour.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_NIGHT = {22, 23, 0, 1, 2, 3}  # hours at which clocks are put back somewhere
_SEASONS = {3: "spring", 4: "spring", 5: "spring", 9: "autumn", 10: "autumn", 11: "autumn"}
_FRIDAY = 4


def hours_passed(dates: Sequence[datetime]) -> list[timedelta] | None:
    """How far local clocks are from the last one of a series whose dates repeat an hour.

    A date less its number is an instant, so that instants are in equal steps: after the repeated
    hour clocks are an hour back. Where they are put forward an hour is missing, half a year from a
    repeated one. None if no hour is repeated, or if something else is, which is an error.
    """
    gaps = [after - before for before, after in pairwise(dates)]
    rising = Counter(gap for gap in gaps if gap > timedelta(0))
    if len(rising) == 0 or min(gaps) > timedelta(0):
        return None
    step = rising.most_common(1)[0][0]
    if step > _HOUR or _HOUR % step:
        return None
    backs = [row for row, gap in enumerate(gaps, 1) if gap <= timedelta(0)]
    if not all(gaps[row - 1] == step - _HOUR and may_change(dates[row]) for row in backs):
        return None
    if len({(dates[row].year, dates[row].month) for row in backs}) < len(backs):
        return None  # clocks are put back once
    seasons = {_SEASONS[dates[row].month] for row in backs}
    shift, shifts = timedelta(0), [timedelta(0)]
    for row, gap in enumerate(gaps, 1):
        if gap <= timedelta(0):
            shift -= _HOUR
        elif gap == step + _HOUR and _is_put_forward(dates[row], seasons):
            shift += _HOUR
        shifts.append(shift)
    return [one - shift for one in shifts]


def local_midnights(utc: Sequence[datetime]) -> list[datetime] | None:
    """The local midnights that these instants are, where their times of day differ by one hour.

    So programs write the days of a place in UTC: 22:00 in summer and 23:00 in winter are midnights
    in Berlin. None if they are no midnights of one place.
    """
    if len({date.time() for date in utc}) != len(("summer", "winter")):
        return None
    midnights = [_nearest_midnight(date) for date in utc]
    offsets = [day - date for day, date in zip(midnights, utc, strict=True)]
    is_place = max(offsets) - min(offsets) == _HOUR and len(set(midnights)) == len(set(utc))
    return midnights if is_place else None


def may_change(date: datetime) -> bool:
    """Whether clocks of some place may be put back or forward around this date."""
    return date.month in _SEASONS and date.weekday() >= _FRIDAY and date.hour in _NIGHT


def _is_put_forward(date: datetime, seasons: set[str]) -> bool:
    """Whether clocks may have been put forward before this date: in the other season."""
    before = date - _HOUR
    return may_change(before) and _SEASONS[before.month] not in seasons


def _nearest_midnight(date: datetime) -> datetime:
    day = date.replace(hour=0, minute=0, second=0, microsecond=0)
    return day if date - day < _DAY / 2 else day + _DAY
