"""A chart over time: lines with gaps where numbers are missing, bands, dots, and a rule.

Which steps of a series are named below a picture, and by what words.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from .axes import round_ticks
from .colours import LIGHT, Theme
from .svg import Anchor, Area, Box, Dot, Lettering, Picture, Point
from .text import shorten

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


BELOW = 22.0  # pixels under the box that the names of times take
_PER_NAME, _LEAST_PITCH = 74.0, 15.0  # pixels for the name of a time, and of a number
_OVERHANG = 24.0  # pixels that the name of a time may reach beyond the chart


@dataclass(frozen=True)
class TimeChart:
    """Steps to the right, numbers upwards, in a box: left, top, width, height."""

    box: Box
    times: tuple[str, ...]
    ticks: tuple[float, ...]
    theme: Theme = LIGHT

    @classmethod
    def of(
        cls, box: Box, times: Sequence[str], values: Sequence[float], theme: Theme = LIGHT
    ) -> "TimeChart":
        """A chart that holds all values that are numbers."""
        known = [float(value) for value in values if math.isfinite(value)]
        return cls(box, tuple(times), round_ticks(known or [0.0, 1.0]), theme)

    def place(self, step: float, value: float) -> Point:
        """Where a number at a step stands."""
        left, top, width, height = self.box
        up = (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return left + width * step / max(1, len(self.times) - 1), top + height * (1 - up)

    def draw_axes(self, picture: Picture, *, name_times: bool = True) -> None:
        """Rules with their numbers at the left, and the names of times below."""
        left, top, width, height = self.box
        crowded = height / max(1, len(self.ticks) - 1) < _LEAST_PITCH
        for number, value in enumerate(self.ticks):
            _, y = self.place(0, value)
            picture.line((left, y), (left + width, y), self.theme.grid)
            if not crowded or number % 2 == 0:
                style = Lettering(11, self.theme.muted, "end")
                picture.text(shown_tick(value), (left - 6, y + 4), style)
        if not name_times:
            return
        for step, name in time_ticks(self.times, int(width / _PER_NAME)):
            x, _ = self.place(step, self.ticks[0])
            picture.line((x, top + height), (x, top + height + 4), self.theme.muted)
            style = Lettering(11, self.theme.muted, self._anchor(x, name))
            picture.text(name, (x, top + height + 17), style)

    def _anchor(self, x: float, name: str) -> Anchor:
        """In the middle below its step, unless a long name would leave the chart."""
        left, _, width, _ = self.box
        half = Lettering(11).length(name) / 2
        if x - half < left - _OVERHANG:
            return "start"
        return "end" if x + half > left + width + _OVERHANG else "middle"

    def draw_now(self, picture: Picture, step: float, title: str = "") -> None:
        """The upright rule after which nothing was known, named beside the title or under it."""
        left, top, width, height = self.box
        x, _ = self.place(step, self.ticks[0])
        picture.line((x, top - 4), (x, top + height), self.theme.muted, 1, "now")
        style = Lettering(11, self.theme.muted, "end" if x > left + width - 30 else "middle")
        is_free = x - 16 > left + Lettering(12).length(title)
        picture.text("now", (x, top - 8) if is_free else (x + 16, top + 13), style)

    def draw_line(  # noqa: PLR0913, PLR0917 - a line, where it begins and how it looks
        self,
        picture: Picture,
        first: int,
        values: Sequence[float],
        colour: str,
        thickness: float = 1.6,
        title: str = "",
    ) -> None:
        """A line from a step on; what stands alone between missing numbers is a dot."""
        for start, run in known_runs(values):
            points = [self.place(first + start + n, values[start + n]) for n in range(run)]
            if run == 1:
                picture.add(Dot(points[0], max(1.5, thickness), colour, colour, title))
            else:
                picture.curve(points, colour, thickness=thickness, title=title)

    def draw_band(  # noqa: PLR0913, PLR0917 - two lines, where they begin and how they look
        self,
        picture: Picture,
        first: int,
        low: Sequence[float],
        high: Sequence[float],
        fill: str,
        title: str = "",
    ) -> None:
        """What lies between two lines from a step on."""
        for start, run in known_runs([b - a for a, b in zip(low, high, strict=True)]):
            steps = range(start, start + run)
            above = [self.place(first + n, high[n]) for n in steps]
            below = [self.place(first + n, low[n]) for n in reversed(steps)]
            picture.add(Area((*above, *below), fill, title))


def known_runs(values: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Where numbers that are not missing begin, and how many follow without a gap."""
    start = None
    for place, value in enumerate([*values, math.nan]):
        if math.isfinite(value):
            start = place if start is None else start
        elif start is not None:
            yield start, place - start
            start = None


def shown_tick(value: float) -> str:
    """A round number beside an axis."""
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.3g}"
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def spoken_number(value: float) -> str:
    """A number in a sentence: three digits are enough where it is below a thousand."""
    if not math.isfinite(value):
        return "?"
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.2e}"
    rounded = float(f"{value:.3g}")
    return f"{value:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"


def places_of(values: Sequence[float]) -> int:
    """How many digits behind the point leave the largest number four digits, or all of its own."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    return max(0, min(9, 3 - math.floor(math.log10(largest)))) if largest else 0
