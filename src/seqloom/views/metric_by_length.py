"""A metric by the length of what was read, or by how far ahead: where it becomes harder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from .base import View
from .draw.axes import round_ticks
from .draw.colours import CATEGORIES, GRID, MUTED, PAGE
from .draw.heatmap import MARGIN, Wording
from .draw.svg import Box, Lettering, Picture, Point
from .draw.text import column_width, fold, to_ascii

_PLOT = (460.0, 260.0)  # width and height
_LEFT, _BELOW, _NAMES = 52.0, 42.0, 110.0
_GRID, _TICKS = GRID, Lettering(11, MUTED, "middle")
_BAR = 24


@dataclass(frozen=True)
class LengthBucket:
    """The examples of some lengths.

    Args:
        first: the fewest symbols of a source.
        last: the most; None where there is no end.
        count: of examples.
        value: of the metric.
        low: where its 95 % interval begins.
        high: where it ends.
    """

    first: int
    last: int | None
    count: int
    value: float
    low: float
    high: float

    @property
    def title(self) -> str:
        """The lengths in words."""
        if self.last is None:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True)
class LengthCurve:
    """The buckets of one model, from short to long."""

    name: str
    buckets: tuple[LengthBucket, ...]


class LengthView(View):
    """A line for each model, with an interval at each length.

    Args:
        curves: of the models; where they have a bucket in common it has the same title.
        metric: what they are measured by.
        notes: what a reader must know.
    """

    kind: ClassVar[str] = "by-length"
    what: ClassVar[str] = "length"
    axis: ClassVar[str] = "symbols of the source"

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
        """A value as people read it."""
        return f"{value:.2f}"

    def content(self) -> dict[str, Any]:
        curves = [{"name": c.name, "buckets": [vars(b) for b in c.buckets]} for c in self.curves]
        return {"metric": self.metric, "models": curves}

    def to_table(self) -> list[list[str]]:
        rows = [[self.axis, "model", "examples", self.metric, "from", "to"]]
        for title in self.titles:
            for curve in self.curves:
                rows += [
                    [title, curve.name, f"{b.count:,}", *map(self.shown, (b.value, b.low, b.high))]
                    for b in curve.buckets if b.title == title
                ]  # fmt: skip
        return rows

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        """A bar for each length and model, as long as its value is large."""
        most = max(abs(b.value) for curve in self.curves for b in curve.buckets) or 1.0
        lines = fold(f"{self.metric} by {self.axis}", width)
        room = max(map(column_width, self.titles))
        for curve in self.curves:
            lines += ["", *fold(to_ascii(curve.name) if ascii else curve.name, width)]
            for b in curve.buckets:
                bar = ("#" if ascii else "█") * max(1, round(_BAR * abs(b.value) / most))
                words = f"{self.told(b)}, {b.count:,} examples"
                lines += fold(f"{b.title:>{room}}  {bar} {words}", width)
        return lines

    def to_picture(self) -> Picture:
        words = Wording(
            f"{self.metric} by {self.what}",
            f"by {self.axis}; lines upright: 95 % intervals",
            self.caption,
            self.notes,
        )
        top = words.head_height() + 10
        width = max(words.width(), MARGIN + _LEFT + _PLOT[0] + _NAMES + MARGIN)
        foot = top + _PLOT[1] + _BELOW
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        axes = _Axes.of((MARGIN + _LEFT, top, *_PLOT), self)
        axes.draw(picture)
        for number, curve in enumerate(self.curves):
            axes.draw_curve(picture, curve, CATEGORIES[number % len(CATEGORIES)], number)
        words.draw(picture, foot)
        return picture

    def told(self, bucket: LengthBucket) -> str:
        """A value with its interval."""
        value, low, high = map(self.shown, (bucket.value, bucket.low, bucket.high))
        return f"{value} ({low} to {high})"

    def _caption(self) -> str:
        """How far each falls, or rises, from the shortest to the longest."""
        told = []
        for curve in self.curves:
            first, last = curve.buckets[0], curve.buckets[-1]
            ends = [f"{self.shown(bucket.value)} at {bucket.title}" for bucket in (first, last)]
            told.append(f"{curve.name}: {', '.join(ends)}")
        return f"{self.metric} by {self.axis}. {'; '.join(told)}."


@final
class HorizonView(LengthView):
    """A line for each model, with an interval at each number of steps ahead."""

    kind: ClassVar[str] = "by-horizon"
    what: ClassVar[str] = "horizon"
    axis: ClassVar[str] = "steps ahead"

    @staticmethod
    def shown(value: float) -> str:
        """A value of any size, in four digits."""
        return f"{value:.4g}"


@dataclass(frozen=True)
class _Axes:
    """Lengths to the right, one place each; values upwards."""

    box: Box
    titles: tuple[str, ...]
    ticks: tuple[float, ...]
    below: str
    told: Callable[[LengthBucket], str]

    @classmethod
    def of(cls, box: Box, view: LengthView) -> "_Axes":
        found = [v for c in view.curves for b in c.buckets for v in (b.value, b.low, b.high)]
        return cls(box, tuple(view.titles), round_ticks(found), view.axis, view.told)

    def place(self, title: str, value: float) -> Point:
        left, top, width, height = self.box
        across = (self.titles.index(title) + 0.5) / len(self.titles)
        up = (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return left + width * across, top + height * (1 - up)

    def draw(self, picture: Picture) -> None:
        left, top, width, height = self.box
        for value in self.ticks:
            _, y = self.place(self.titles[0], value)
            picture.line((left, y), (left + width, y), _GRID)
            picture.text(f"{value:g}", (left - 6, y + 4), Lettering(11, MUTED, "end"))
        for title in self.titles:
            x, _ = self.place(title, self.ticks[0])
            picture.text(title, (x, top + height + 17), _TICKS)
        picture.text(self.below, (left + width / 2, top + height + 35), _TICKS)

    def draw_curve(self, picture: Picture, curve: LengthCurve, colour: str, number: int) -> None:
        """The line, an interval and a square at each length; names do not hide one another."""
        places = [self.place(b.title, b.value) for b in curve.buckets]
        if len(places) > 1:
            picture.curve(places, colour, title=curve.name)
        for bucket, (x, y) in zip(curve.buckets, places, strict=True):
            title = f"{curve.name}, {bucket.title}: {self.told(bucket)}, {bucket.count:,} examples"
            low, high = (self.place(bucket.title, v)[1] for v in (bucket.low, bucket.high))
            picture.line((x, low), (x, high), colour, 2, title)
            picture.rectangle((x - 3, y - 3, 6, 6), colour, title=title)
        left, top, width, _ = self.box
        picture.text(curve.name, (left + width + 8, top + 12 + 16 * number), Lettering(11, colour))
