"""A metric by source length, or by the step of the forecast horizon, with 95 % intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from .base import View
from .draw.axes import round_ticks
from .draw.colours import CATEGORIES, GRID, MUTED, PAGE
from .draw.heatmap import MARGIN, FigureText
from .draw.svg import Box, Picture, Point, TextStyle
from .draw.text import column_width, fold, to_ascii

_PLOT = (460.0, 260.0)  # width and height
_LEFT, _BELOW, _NAMES = 52.0, 42.0, 110.0
_TICKS = TextStyle(11, MUTED, "middle")
_BAR = 24


@dataclass(frozen=True)
class LengthBucket:
    """The metric of the examples whose length is in one range.

    Args:
        first: the smallest length, in tokens of the source.
        last: the largest length; None for no limit.
        count: number of examples.
        value: of the metric.
        low: lower end of its 95 % confidence interval.
        high: upper end of it.
    """

    first: int
    last: int | None
    count: int
    value: float
    low: float
    high: float

    @property
    def has_interval(self) -> bool:
        """Whether there are enough examples for an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def title(self) -> str:
        """The range of lengths as text: 5, 6-10 or 11+."""
        if self.last is None:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True)
class LengthCurve:
    """The buckets of one model, from short to long."""

    name: str
    buckets: tuple[LengthBucket, ...]


class LengthView(View):
    """Metric by length: a line for each model, with a confidence interval at each length.

    Args:
        curves: of the models; buckets with the same title are drawn at the same x.
        metric: name of the metric.
        notes: what was left out.
    """

    kind: ClassVar[str] = "by-length"
    what: ClassVar[str] = "length"
    axis: ClassVar[str] = "tokens of the source"

    def __init__(
        self, curves: Sequence[LengthCurve], metric: str, notes: Sequence[str] = ()
    ) -> None:
        if not any(curve.buckets for curve in curves):
            raise ValueError("expected at least one bucket")
        self.curves, self.metric = list(curves), metric
        starts = {(b.first, b.title) for curve in curves for b in curve.buckets}
        self.titles = [title for _, title in sorted(starts)]
        names = ", ".join(curve.name for curve in curves)
        super().__init__(names, self._caption(), {"curves": self.curves}, notes)

    def beside(self, *others: "LengthView") -> "LengthView":
        """This view and others as one."""
        views = [self, *others]
        notes = list(dict.fromkeys(note for view in views for note in view.notes))
        return type(self)([curve for view in views for curve in view.curves], self.metric, notes)

    @staticmethod
    def shown(value: float) -> str:
        """A value of the metric as text."""
        return f"{value:.2f}"

    def content(self) -> dict[str, Any]:
        curves = [{"name": c.name, "buckets": [vars(b) for b in c.buckets]} for c in self.curves]
        return {"metric": self.metric, "models": curves}

    def to_table(self) -> list[list[str]]:
        rows = [[self.axis, "model", "examples", self.metric, "from", "to"]]
        for title in self.titles:
            for curve in self.curves:
                rows += [
                    [title, curve.name, f"{b.count:,}", self.shown(b.value), *self._ends(b)]
                    for b in curve.buckets
                    if b.title == title
                ]
        return rows

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        """A bar for each length and model, proportional to the value."""
        most = max(abs(b.value) for curve in self.curves for b in curve.buckets) or 1.0
        lines = fold(f"{self.metric} by {self.axis}", width)
        room = max(map(column_width, self.titles))
        for curve in self.curves:
            lines += ["", *fold(to_ascii(curve.name) if ascii else curve.name, width)]
            for b in curve.buckets:
                bar = ("#" if ascii else "█") * max(1, round(_BAR * abs(b.value) / most))
                label = f"{self.with_interval(b)}, {b.count:,} examples"
                lines += fold(f"{b.title:>{room}}  {bar} {label}", width)
        return lines

    def to_picture(self) -> Picture:
        text = FigureText(
            f"{self.metric} by {self.what}",
            f"by {self.axis}; vertical lines: 95 % confidence intervals",
            self.caption,
            self.notes,
        )
        top = text.head_height() + 10
        width = max(text.width(), MARGIN + _LEFT + _PLOT[0] + _NAMES + MARGIN)
        foot = top + _PLOT[1] + _BELOW
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        axes = _LengthAxes.of((MARGIN + _LEFT, top, *_PLOT), self)
        axes.draw(picture)
        for number, curve in enumerate(self.curves):
            axes.draw_curve(picture, curve, CATEGORIES[number % len(CATEGORIES)], number)
        text.draw(picture, foot)
        return picture

    def with_interval(self, bucket: LengthBucket) -> str:
        """A value with its confidence interval, if it has one."""
        value, low, high = map(self.shown, (bucket.value, bucket.low, bucket.high))
        return f"{value} ({low} to {high})" if bucket.has_interval else value

    def _ends(self, bucket: LengthBucket) -> list[str]:
        """The ends of its interval, if it has one."""
        return [self.shown(v) if bucket.has_interval else "" for v in (bucket.low, bucket.high)]

    def _caption(self) -> str:
        """The metric of each model at the shortest and at the longest length."""
        clauses = []
        for curve in self.curves:
            first, last = curve.buckets[0], curve.buckets[-1]
            ends = [f"{self.shown(bucket.value)} at {bucket.title}" for bucket in (first, last)]
            clauses.append(f"{curve.name}: {', '.join(ends)}")
        return f"{self.metric} by {self.axis}. {'; '.join(clauses)}."


@final
class HorizonView(LengthView):
    """Metric by forecast horizon: a line for each model, with an interval at each step."""

    kind: ClassVar[str] = "by-horizon"
    what: ClassVar[str] = "horizon"
    axis: ClassVar[str] = "forecast horizon"

    @staticmethod
    def shown(value: float) -> str:
        """A value of any size, with four significant digits."""
        return f"{value:.4g}"


@dataclass(frozen=True)
class _LengthAxes:
    """Axes with a categorical x-axis of lengths, and a linear y-axis."""

    box: Box
    titles: tuple[str, ...]
    ticks: tuple[float, ...]
    x_label: str
    with_interval: Callable[[LengthBucket], str]

    @classmethod
    def of(cls, box: Box, view: LengthView) -> "_LengthAxes":
        each = [v for c in view.curves for b in c.buckets for v in (b.value, b.low, b.high)]
        values = [value for value in each if math.isfinite(value)]
        return cls(box, tuple(view.titles), round_ticks(values), view.axis, view.with_interval)

    def point(self, title: str, value: float) -> Point:
        left, top, width, height = self.box
        across = (self.titles.index(title) + 0.5) / len(self.titles)
        up = (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return left + width * across, top + height * (1 - up)

    def draw(self, picture: Picture) -> None:
        left, top, width, height = self.box
        for value in self.ticks:
            _, y = self.point(self.titles[0], value)
            picture.line((left, y), (left + width, y), GRID)
            picture.text(f"{value:g}", (left - 6, y + 4), TextStyle(11, MUTED, "end"))
        for title in self.titles:
            x, _ = self.point(title, self.ticks[0])
            picture.text(title, (x, top + height + 17), _TICKS)
        picture.text(self.x_label, (left + width / 2, top + height + 35), _TICKS)

    def draw_curve(self, picture: Picture, curve: LengthCurve, colour: str, number: int) -> None:
        """The line, with an interval and a square at each length; the name in a list beside it."""
        points = [self.point(b.title, b.value) for b in curve.buckets]
        if len(points) > 1:
            picture.curve(points, colour, title=curve.name)
        for bucket, (x, y) in zip(curve.buckets, points, strict=True):
            value = self.with_interval(bucket)
            title = f"{curve.name}, {bucket.title}: {value}, {bucket.count:,} examples"
            if bucket.has_interval:
                low, high = (self.point(bucket.title, v)[1] for v in (bucket.low, bucket.high))
                picture.line((x, low), (x, high), colour, 2, title)
            picture.rectangle((x - 3, y - 3, 6, 6), colour, title=title)
        left, top, width, _ = self.box
        picture.text(curve.name, (left + width + 8, top + 12 + 16 * number), TextStyle(11, colour))
