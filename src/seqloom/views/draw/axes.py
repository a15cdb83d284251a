"""Axes: line charts with a logarithmic y-axis, and round tick values for linear axes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .colours import GRID, INK, MUTED
from .svg import Box, Picture, Point, TextStyle

_TICK_STYLE, _LABEL_GAP = TextStyle(11, MUTED, "middle"), 14
_LOWEST_POWER, _HIGHEST_POWER = -9, 9  # powers of ten beyond which nothing is drawn


@dataclass(frozen=True)
class Curve:
    """A line of a chart: values at x = 0, 1, 2, …, with a name, a colour, solid or dashed."""

    name: str
    values: Sequence[float]
    colour: str
    dashed: bool = False


@dataclass(frozen=True)
class LogChart:
    """A line chart with a logarithmic y-axis.

    `box` is left, top, width, height; `last` is the largest x; `low` and `high` are powers of ten.
    """

    box: Box
    last: int
    low: int
    high: int

    @classmethod
    def of(cls, box: Box, curves: Sequence[Curve]) -> "LogChart":
        """Axes that contain the curves, within the powers of ten that can be drawn."""
        positive = [v for curve in curves for v in curve.values if v > 0 and math.isfinite(v)]
        powers = [math.log10(value) for value in positive] or [0.0]
        low = max(_LOWEST_POWER, math.floor(min(powers)))
        high = min(_HIGHEST_POWER, max(math.ceil(max(powers)), low + 1))
        return cls(box, max([1, *(len(curve.values) - 1 for curve in curves)]), low, high)

    def draw(self, picture: Picture, curves: Sequence[Curve], title: str, x_label: str) -> None:
        """Draw the title, the axes and the curves, each named at its right end."""
        left, top, width, height = self.box
        picture.text(title, (left, top - 8), TextStyle(12, INK))
        self._draw_axes(picture)
        picture.text(x_label, (left + width / 2, top + height + 32), _TICK_STYLE)
        ends: list[tuple[float, Curve]] = []
        for curve in curves:
            points = self._points(curve.values)
            if points:
                picture.curve(points, curve.colour, dashed=curve.dashed, title=curve.name)
                ends.append((points[-1][1], curve))
        self._draw_names(picture, ends)

    def _draw_axes(self, picture: Picture) -> None:
        left, top, width, height = self.box
        every = max(1, math.ceil((self.high - self.low) / 6))
        for power in range(self.low, self.high + 1, every):
            y = self._y(power)
            picture.line((left, y), (left + width, y), GRID)
            picture.text(f"{10.0**power:g}", (left - 6, y + 4), TextStyle(11, MUTED, "end"))
        for number in _ticks(self.last):
            x = self._x(number)
            picture.line((x, top + height), (x, top + height + 4), MUTED)
            picture.text(str(number), (x, top + height + 17), _TICK_STYLE)

    def _draw_names(self, picture: Picture, ends: list[tuple[float, Curve]]) -> None:
        """Write the names at the ends of the curves, moved apart so that they do not overlap."""
        left, top, width, height = self.box
        lowest = top + height
        placed: list[tuple[float, Curve]] = []
        # From the bottom up: each name is pushed up until it clears the one below it.
        for y, curve in sorted(ends, key=lambda end: -end[0]):
            lowest = min(y, lowest)
            placed.append((lowest, curve))
            lowest -= _LABEL_GAP
        for y, curve in placed:
            style = TextStyle(11, curve.colour)
            picture.text(curve.name, (left + width + 6, y + 4), style)

    def _points(self, values: Sequence[float]) -> list[Point]:
        """The points of a curve, up to the first value outside the axes."""
        points: list[Point] = []
        for number, value in enumerate(values):
            if not math.isfinite(value) or not 10.0**self.low <= value <= 10.0**self.high:
                break
            points.append((self._x(number), self._y(math.log10(value))))
        return points

    def _x(self, number: float) -> float:
        return self.box[0] + self.box[2] * number / self.last

    def _y(self, power: float) -> float:
        fraction = (power - self.low) / (self.high - self.low)
        return self.box[1] + self.box[3] * (1 - fraction)


def _ticks(last: int) -> range:
    """At most a dozen round whole numbers from 0 to `last`."""
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500):
        if last / step <= 11:
            return range(0, last + 1, step)
    return range(0, last + 1, 1000 * math.ceil(last / 11000))


def round_ticks(values: Sequence[float]) -> tuple[float, ...]:
    """Tick values of a linear axis: four to nine round numbers whose range contains all values."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    # A constant has no range of its own: an axis of its own size is drawn around it.
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(power * part for part in (1, 2, 5, 10) if span / (power * part) <= 6)
    first, last = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 1)
    # Rounding removes what binary fractions add: 3 * 0.1 is 0.30000000000000004.
    return tuple(round(step * number, 10) for number in range(first, last + 1))
