"""Calendar features (cyclical encoding): hour, weekday, month, … as sine and cosine.

sin(2π p / n), cos(2π p / n)     p: the hour of the day with n = 24, the month with n = 12, ...

So December lies beside January.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from jaxtyping import Float

from ...errors import UsageError, nearest
from .date_styles import DateParseError, read_dates
from .schema import TimeSeries

CALENDAR_FEATURES: dict[str, tuple[int, Callable[[datetime], float]]] = {
    "minute": (60, lambda date: date.minute),
    "hour": (24, lambda date: date.hour + date.minute / 60),
    "weekday": (7, lambda date: date.weekday()),
    "day": (31, lambda date: date.day - 1),
    "week": (53, lambda date: date.isocalendar().week - 1),
    "month": (12, lambda date: date.month - 1),
    "quarter": (4, lambda date: (date.month - 1) // 3),
    "year-day": (366, lambda date: date.timetuple().tm_yday - 1),
}


def calendar_features(names: Sequence[str]) -> list[str]:
    """The checked names of calendar features, such as ["hour", "weekday"]."""
    for name in names:
        if name not in CALENDAR_FEATURES:
            near = nearest(name, CALENDAR_FEATURES)
            raise UsageError(
                "U302",
                f"calendar = {list(names)}: there is no calendar feature {name!r}",
                help=[f"did you mean {near!r}?"] * (near is not None)
                + [f"choose from {', '.join(CALENDAR_FEATURES)}"],
            )
    return list(names)


def add_calendar_features(series: TimeSeries, names: Sequence[str]) -> TimeSeries:
    """A series with calendar features after its other known inputs."""
    if not names:
        return series
    known = np.concatenate([series.known, cyclic_features(series, names)], axis=1)
    return replace(series, known=known)


def cyclic_features(series: TimeSeries, names: Sequence[str]) -> Float[np.ndarray, "time features"]:
    """A sine and a cosine for each calendar feature, at each step."""
    try:
        dates = read_dates(series.times).local if series.times else []
    except DateParseError:
        dates = []
    if not dates:
        raise UsageError(
            "U303",
            "calendar features need dates, and the series has none",
            help=["--columns time=COLUMN   if the file has dates", "--set task.calendar="],
        )
    found = []
    for name in names:
        period, value = CALENDAR_FEATURES[name]
        angle = 2 * np.pi * np.array([value(date) for date in dates]) / period
        found += [np.sin(angle), np.cos(angle)]
    return np.stack(found, axis=1)
