"""Ladder of models (a benchmark of baselines): test metric against training time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from .base import View
from .draw.axes import round_ticks
from .draw.colours import CATEGORIES, GRID, MUTED, PAGE
from .draw.heatmap import MARGIN, FigureText
from .draw.svg import Box, Picture, Point, TextStyle
from .draw.text import column_width, fold, to_ascii

_PLOT = (460.0, 280.0)  # width and height
_LEFT, _BELOW, _NAMES = 58.0, 40.0, 90.0
_SHIFTS = (0, -14, 14, -28, 28, -42, 42, -56, 56)  # of a name, away from its point
_TICKS = TextStyle(11, MUTED, "middle")
_LEAST_SECONDS = 1e-3
_BAR = 24


@dataclass(frozen=True)
class RungPoint:
    """The result of one rung of a ladder, which is one trained model.

    Args:
        name: of the rung.
        seconds: training time.
        value: of the metric, on the test set.
        low: lower end of its 95 % confidence interval.
        high: upper end of it.
        curve: learning curve: seconds of training, and the metric on the validation set.
    """

    name: str
    seconds: float
    value: float
    low: float
    high: float
    curve: tuple[tuple[float, float], ...] = ()

    @property
    def has_interval(self) -> bool:
        """Whether there were enough examples for an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@final
class LadderView(View):
    """Ladder of models: test metric with its interval by training time, and learning curves.

    Args:
        rungs: from simple to large models.
        metric: name of the metric.
        lower_is_better: whether smaller values of the metric are better.
        name: of the ladder.
        notes: what was left out.
    """

    kind: ClassVar[str] = "ladder"

    def __init__(
        self,
        rungs: Sequence[RungPoint],
        metric: str,
        lower_is_better: bool,
        name: str,
        notes: Sequence[str] = (),
    ) -> None:
        if not rungs:
            raise ValueError("expected at least one rung")
        self.rungs, self.metric, self.lower_is_better = list(rungs), metric, lower_is_better
        super().__init__(name, self._caption(), {"rungs": self.rungs}, notes)

    def content(self) -> dict[str, Any]:
        return {"metric": self.metric, "rungs": [vars(rung) for rung in self.rungs]}

    def to_table(self) -> list[list[str]]:
        rows = [
            [rung.name, f"{rung.value:.4g}", *_ends(rung), f"{rung.seconds:.3g}"]
            for rung in self.rungs
        ]
        return [["rung", self.metric, "from", "to", "seconds"], *rows]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        """A bar for each rung, proportional to its value."""
        most = max(abs(rung.value) for rung in self.rungs) or 1.0
        names = [to_ascii(rung.name) if ascii else rung.name for rung in self.rungs]
        room = max(map(column_width, names))
        lines = []
        for name, rung in zip(names, self.rungs, strict=True):
            bar = ("#" if ascii else "█") * max(1, round(_BAR * abs(rung.value) / most))
            blank = " " * (room - column_width(name))
            label = f"{rung.value:.4g}, {rung.seconds:.3g} s"
            lines += fold(f"{name}{blank}  {bar} {label}", width)
        return [*fold(f"{self.metric}, seconds of training", width), "", *lines]

    def to_picture(self) -> Picture:
        text = FigureText(
            f"Ladder {self.model}",
            f"{self.metric} on the test set; dashed: on the validation set during training",
            self.caption,
            self.notes,
        )
        top = text.head_height() + 10
        width = max(text.width(), MARGIN + _LEFT + _PLOT[0] + _NAMES + MARGIN)
        foot = top + _PLOT[1] + _BELOW
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        axes = _TimeAxes.of((MARGIN + _LEFT, top, *_PLOT), self.rungs)
        axes.draw(picture, "seconds of training")
        ends: list[tuple[Point, str, str]] = []
        for number, rung in enumerate(self.rungs):
            colour = CATEGORIES[number % len(CATEGORIES)]
            _draw_rung(picture, axes, rung, colour)
            ends.append((axes.point(rung.seconds, rung.value), rung.name, colour))
        _draw_names(picture, ends)
        text.draw(picture, foot)
        return picture

    def _caption(self) -> str:
        """Which rung is best."""
        sign = 1 if self.lower_is_better else -1
        known = [rung for rung in self.rungs if not math.isnan(rung.value)]
        if not known:
            return f"No rung has a {self.metric}."
        best = min(known, key=lambda rung: sign * rung.value)
        return f"Best: {best.name} with {best.value:.4g} {self.metric}, after {best.seconds:.3g} s."


@dataclass(frozen=True)
class _TimeAxes:
    """Axes with a logarithmic x-axis of seconds, and a linear y-axis."""

    box: Box
    first: int
    last: int
    ticks: tuple[float, ...]

    @classmethod
    def of(cls, box: Box, rungs: Sequence[RungPoint]) -> "_TimeAxes":
        curves = [point for rung in rungs for point in rung.curve]
        seconds = [rung.seconds for rung in rungs] + [second for second, _ in curves]
        powers = [math.log10(max(second, _LEAST_SECONDS)) for second in seconds]
        first = math.floor(min(powers))
        # The start of a learning curve may be far off and must not compress the results.
        known = [v for rung in rungs for v in (rung.value, rung.low, rung.high) if math.isfinite(v)]
        return cls(box, first, max(math.ceil(max(powers)), first + 1), round_ticks(known))

    def point(self, seconds: float, value: float) -> Point:
        left, top, width, height = self.box
        power = math.log10(max(seconds, _LEAST_SECONDS))
        across = (power - self.first) / (self.last - self.first)
        low, high = self.ticks[0], self.ticks[-1]
        up = (min(max(value, low), high) - low) / (high - low)
        return left + width * across, top + height * (1 - up)

    def has(self, value: float) -> bool:
        return self.ticks[0] <= value <= self.ticks[-1]

    def draw(self, picture: Picture, x_label: str) -> None:
        left, top, width, height = self.box
        for value in self.ticks:
            _, y = self.point(1.0, value)
            picture.line((left, y), (left + width, y), GRID)
            picture.text(f"{value:g}", (left - 6, y + 4), TextStyle(11, MUTED, "end"))
        for power in range(self.first, self.last + 1):
            x, _ = self.point(10.0**power, self.ticks[0])
            picture.line((x, top + height), (x, top + height + 4), MUTED)
            picture.text(f"{10.0**power:g}", (x, top + height + 17), _TICKS)
        picture.text(x_label, (left + width / 2, top + height + 34), _TICKS)


def _ends(rung: RungPoint) -> list[str]:
    """The ends of the interval, if there is one."""
    return [f"{end:.4g}" if rung.has_interval else "" for end in (rung.low, rung.high)]


def _draw_rung(picture: Picture, axes: _TimeAxes, rung: RungPoint, colour: str) -> None:
    """The learning curve, the interval, and a square at the result."""
    interval = f" ({' to '.join(_ends(rung))})" if rung.has_interval else ""
    title = f"{rung.name}: {rung.value:.4g}{interval}, {rung.seconds:.3g} s"
    curve = [axes.point(second, value) for second, value in rung.curve if axes.has(value)]
    if len(curve) > 1:
        picture.curve(curve, colour, dashed=True, title=f"{rung.name} on the validation set")
    x, y = axes.point(rung.seconds, rung.value)
    if rung.has_interval:
        low, high = (axes.point(rung.seconds, value)[1] for value in (rung.low, rung.high))
        picture.line((x, low), (x, high), colour, 2, title)
    picture.rectangle((x - 4, y - 4, 8, 8), colour, title=title)


def _draw_names(picture: Picture, ends: list[tuple[Point, str, str]]) -> None:
    """The names beside the points, moved up or down so that they do not overlap."""
    taken: list[Box] = [(x - 5, y - 5, 10, 10) for (x, y), _, _ in ends]
    for (x, y), name, colour in ends:
        long = TextStyle(11).length(name)
        boxes = [(x + 8, y + shift - 6, long, 12.0) for shift in _SHIFTS]
        free = next((box for box in boxes if not any(_overlap(box, t) for t in taken)), boxes[0])
        taken.append(free)
        picture.text(name, (free[0], free[1] + 10), TextStyle(11, colour))


def _overlap(one: Box, other: Box) -> bool:
    """Whether two boxes overlap."""
    return all(
        one[side] < other[side] + other[side + 2] and other[side] < one[side] + one[side + 2]
        for side in (0, 1)
    )
