"""Places in the calendar as inputs: each a point on a circle, so that December lies beside January.

sin(2π p / n), cos(2π p / n)     p: the hour of the day of n = 24, the month of n = 12, ...
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from jaxtyping import Float

from ...errors import UsageError, nearest
from .dates import NotDatesError, read_dates
from .schema import Recorded

PLACES: dict[str, tuple[int, Callable[[datetime], float]]] = {
    "minute": (60, lambda date: date.minute),
    "hour": (24, lambda date: date.hour + date.minute / 60),
    "weekday": (7, lambda date: date.weekday()),
    "day": (31, lambda date: date.day - 1),
    "week": (53, lambda date: date.isocalendar().week - 1),
    "month": (12, lambda date: date.month - 1),
    "quarter": (4, lambda date: (date.month - 1) // 3),
    "year-day": (366, lambda date: date.timetuple().tm_yday - 1),
}


def places_named(text: str) -> list[str]:
    """The places of a setting such as hour+weekday."""
    names = [name.strip() for name in text.split("+") if name.strip()]
    for name in names:
        if name not in PLACES:
            near = nearest(name, PLACES)
            raise UsageError(
                "U302",
                f"calendar = {text!r}: there is no place {name!r} in the calendar",
                help=[f"did you mean {near!r}?"] * (near is not None)
                + [f"choose from {', '.join(PLACES)}, with + between several"],
            )
    return names


def with_seasons(series: Recorded, names: Sequence[str]) -> Recorded:
    """A series with places in the calendar behind its other inputs."""
    if not names:
        return series
    return replace(series, known=np.concatenate([series.known, circles(series, names)], axis=1))


def circles(series: Recorded, names: Sequence[str]) -> Float[np.ndarray, "time circles"]:
    """A sine and a cosine for each place, at each step."""
    try:
        dates = read_dates(series.times).values if series.times else []
    except NotDatesError:
        dates = []
    if not dates:
        raise UsageError(
            "U303",
            "the series has no dates, and its place in the calendar is asked for",
            help=["--columns time=COLUMN   if the file has dates", "--set task.calendar="],
        )
    found = []
    for name in names:
        size, place = PLACES[name]
        angle = 2 * np.pi * np.array([place(date) for date in dates]) / size
        found += [np.sin(angle), np.cos(angle)]
    return np.stack(found, axis=1)
