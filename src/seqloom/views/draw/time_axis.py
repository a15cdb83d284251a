"""Charts over time: a time axis with readable ticks, lines with gaps, and bands.

Also how numbers and times are written beside an axis and in a sentence.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from .axes import round_ticks
from .colours import LIGHT, Theme
from .svg import Anchor, Box, Circle, Picture, Point, Polygon, TextStyle
from .text import shorten

Tick = tuple[int, str]  # a step, and its label
LONGEST = 12  # columns of a tick label that is not a date
BELOW = 22.0  # pixels that the tick labels take below the box
_PER_TICK, _MIN_PITCH = 74.0, 15.0  # pixels of a tick label on the x-axis, and on the y-axis
_OVERHANG = 24.0  # pixels that a tick label may extend beyond the chart
_ORDER = "[0-9]{1,6}"  # numbers of steps, or years


def time_ticks(times: Sequence[str], most: int) -> list[Tick]:
    """At most `most` ticks with short labels: round numbers, or the starts of years, days, hours.

    Times that are neither numbers nor dates are labelled as they are, at equal distances.
    """
    most = max(2, most)
    if len(times) > 1 and all(re.fullmatch(_ORDER, time) for time in times):
        ticks = _of_numbers([int(time) for time in times], most)
    else:
        dates = [date for time in times if (date := parse_time(time))]
        ticks = _of_dates(dates, most) if len(dates) == len(times) else []
    return ticks if len(ticks) > 1 else _evenly(times, most)


def short_times(times: Sequence[str]) -> list[str]:
    """The times without seconds, or without hours, where these are 0 in all of them."""
    for pattern in (r"[T ]00:00(:00(\.0+)?)?", r"(?<=\d\d:\d\d):00(\.0+)?"):
        if all(re.search(f"{pattern}$", time) for time in times):
            return [re.sub(f"{pattern}$", "", time) for time in times]
    return list(times)


def parse_time(time: str) -> datetime | None:
    """A time in ISO 8601, such as 2016-07-01 12:00 or 2016-07; None if it is none."""
    text = f"{time}-01" if re.fullmatch(r"\d{4}-\d{2}", time) else time
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


def _of_numbers(numbers: Sequence[int], most: int) -> list[Tick]:
    for power in range(7):
        for step in (10**power, 2 * 10**power, 5 * 10**power):
            ticks = [(index, str(n)) for index, n in enumerate(numbers) if n % step == 0]
            if len(ticks) <= most:
                return ticks
    return []


def _of_dates(dates: Sequence[datetime], most: int) -> list[Tick]:
    """The starts of periods, of the shortest period that gives no more than `most` ticks."""
    for period_of, label in _PERIODS:
        periods = [period_of(date) for date in dates]
        # The first date is a tick only where a period starts exactly there.
        before = [period_of(dates[0] - _INSTANT), *periods] if dates else []
        starts = [index for index, period in enumerate(periods) if period != before[index]]
        if len(starts) <= most:
            return [(index, label(dates[index])) for index in starts]
    return []


def _evenly(times: Sequence[str], most: int) -> list[Tick]:
    most = min(most, max(2, most * 8 // LONGEST)) if any(len(time) > 8 for time in times) else most
    every = max(1, -(-(len(times) - 1) // (most - 1)))
    return [(index, shorten(times[index], LONGEST)) for index in range(0, len(times), every)]


def _minutes(count: int) -> Callable[[datetime], int]:
    return lambda m: (m.toordinal() * 1440 + m.hour * 60 + m.minute) // count


def _days(count: int) -> Callable[[datetime], int]:
    return lambda m: (m.toordinal() - 1) // count  # seven of them begin on a Monday


def _months(count: int) -> Callable[[datetime], int]:
    return lambda m: (m.year * 12 + m.month - 1) // count


def _hour(date: datetime) -> str:
    is_midnight = date.hour == date.minute == 0
    return f"{date:%m-%d}" if is_midnight else f"{date:%H:%M}"


def _day(date: datetime) -> str:
    return f"{date:%m-%d}"


def _month(date: datetime) -> str:
    return f"{date.year:04}" if date.month == 1 else f"{date.year:04}-{date.month:02}"


def _year(date: datetime) -> str:
    return f"{date.year:04}"


_INSTANT = timedelta(microseconds=1)
# From the shortest period to the longest: its number at a date, and the label of its start.
_PERIODS: list[tuple[Callable[[datetime], int], Callable[[datetime], str]]] = [
    *((_minutes(count), _hour) for count in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)),
    *((_days(count), _day) for count in (1, 2, 4, 7, 14)),
    *((_months(count), _month) for count in (1, 2, 3, 6)),
    *((_months(12 * count), _year) for count in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
]


@dataclass(frozen=True)
class TimeChart:
    """A chart with steps on the x-axis and numbers on the y-axis.

    Args:
        box: left, top, width, height.
        times: of the steps.
        ticks: values on the y-axis; the first and the last are its ends.
        theme: colours of the page.
    """

    box: Box
    times: tuple[str, ...]
    ticks: tuple[float, ...]
    theme: Theme = LIGHT

    @classmethod
    def of(
        cls, box: Box, times: Sequence[str], values: Sequence[float], theme: Theme = LIGHT
    ) -> "TimeChart":
        """A chart whose y-axis contains all finite values."""
        known = [float(value) for value in values if math.isfinite(value)]
        return cls(box, tuple(times), round_ticks(known or [0.0, 1.0]), theme)

    def point(self, step: float, value: float) -> Point:
        """The position of a value at a step, in pixels."""
        left, top, width, height = self.box
        up = (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return left + width * step / max(1, len(self.times) - 1), top + height * (1 - up)

    def draw_axes(self, picture: Picture, *, name_times: bool = True) -> None:
        """Draw grid lines with their values at the left, and tick labels of times below."""
        left, top, width, height = self.box
        crowded = height / max(1, len(self.ticks) - 1) < _MIN_PITCH
        for number, value in enumerate(self.ticks):
            _, y = self.point(0, value)
            picture.line((left, y), (left + width, y), self.theme.grid)
            if not crowded or number % 2 == 0:
                style = TextStyle(11, self.theme.muted, "end")
                picture.text(format_tick(value), (left - 6, y + 4), style)
        if not name_times:
            return
        for step, label in time_ticks(self.times, int(width / _PER_TICK)):
            x, _ = self.point(step, self.ticks[0])
            picture.line((x, top + height), (x, top + height + 4), self.theme.muted)
            style = TextStyle(11, self.theme.muted, self._anchor(x, label))
            picture.text(label, (x, top + height + 17), style)

    def _anchor(self, x: float, label: str) -> Anchor:
        """Centred below its step, unless a long label would leave the chart."""
        left, _, width, _ = self.box
        half = TextStyle(11).length(label) / 2
        if x - half < left - _OVERHANG:
            return "start"
        return "end" if x + half > left + width + _OVERHANG else "middle"

    def draw_now(self, picture: Picture, step: float, title: str = "") -> None:
        """Draw a vertical line at the forecast origin, labelled beside the title or below it."""
        left, top, width, height = self.box
        x, _ = self.point(step, self.ticks[0])
        picture.line((x, top - 4), (x, top + height), self.theme.muted, 1, "now")
        style = TextStyle(11, self.theme.muted, "end" if x > left + width - 30 else "middle")
        is_free = x - 16 > left + TextStyle(12).length(title)
        picture.text("now", (x, top - 8) if is_free else (x + 16, top + 13), style)

    def draw_line(  # noqa: PLR0913, PLR0917 - a line, where it begins and its style
        self,
        picture: Picture,
        first: int,
        values: Sequence[float],
        colour: str,
        thickness: float = 1.6,
        title: str = "",
    ) -> None:
        """Draw a line from step `first` on, with gaps at NaN; a single value is a dot."""
        for start, run in finite_runs(values):
            points = [self.point(first + start + n, values[start + n]) for n in range(run)]
            if run == 1:
                picture.add(Circle(points[0], max(1.5, thickness), colour, colour, title))
            else:
                picture.curve(points, colour, thickness=thickness, title=title)

    def draw_band(  # noqa: PLR0913, PLR0917 - two lines, where they begin and their style
        self,
        picture: Picture,
        first: int,
        low: Sequence[float],
        high: Sequence[float],
        fill: str,
        title: str = "",
    ) -> None:
        """Fill the area between two lines from step `first` on, with gaps at NaN."""
        for start, run in finite_runs([b - a for a, b in zip(low, high, strict=True)]):
            steps = range(start, start + run)
            above = [self.point(first + n, high[n]) for n in steps]
            below = [self.point(first + n, low[n]) for n in reversed(steps)]
            picture.add(Polygon((*above, *below), fill, title))


def finite_runs(values: Sequence[float]) -> Iterator[tuple[int, int]]:
    """The runs of finite values between missing ones: the start and the length of each."""
    start = None
    for index, value in enumerate([*values, math.nan]):
        if math.isfinite(value):
            start = index if start is None else start
        elif start is not None:
            yield start, index - start
            start = None


def format_tick(value: float) -> str:
    """The label of a tick value on an axis."""
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.3g}"
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def format_number(value: float) -> str:
    """A number in a sentence, with three significant digits below a thousand."""
    if not math.isfinite(value):
        return "?"
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.2e}"
    value += 0.0  # zero has no sign
    rounded = float(f"{value:.3g}")
    return f"{value:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"


def decimals_for(values: Sequence[float]) -> int:
    """How many decimals give the largest value four significant digits; 0 from a thousand on."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    return max(0, min(9, 3 - math.floor(math.log10(largest)))) if largest else 0
