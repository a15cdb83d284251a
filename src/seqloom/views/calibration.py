"""How far confidence can be trusted: how often answers are right that are about equally sure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from .base import View
from .draw.colours import BLUE, GRID, MUTED, ORANGE, PAGE
from .draw.heatmap import MARGIN, Wording
from .draw.svg import Lettering, Picture, Point
from .draw.text import fold

_SIDE, _LEFT, _BELOW = 300.0, 40.0, 48.0
_GRID, _TICKS = GRID, Lettering(11, MUTED, "middle")
_BAR = 20


@dataclass(frozen=True)
class Bin:
    """The answers of about the same confidence.

    Args:
        low: the least confidence.
        high: the most.
        count: of answers.
        confidence: their mean.
        accuracy: how many of them are right.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@final
class ReliabilityView(View):
    """Accuracy by confidence, beside the diagonal on which both are the same.

    Args:
        bins: from unsure to sure; those without answers may be left out.
        error: the expected calibration error.
        model: name of the model.
        notes: what a reader must know.
    """

    kind: ClassVar[str] = "reliability"

    def __init__(
        self, bins: Sequence[Bin], error: float, model: str, notes: Sequence[str] = ()
    ) -> None:
        self.bins, self.error = [one for one in bins if one.count], error
        if not self.bins:
            raise ValueError("expected at least one answer")
        data = {"bins": self.bins, "error": error}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        return {"error": self.error, "bins": [vars(one) for one in self.bins]}

    def to_table(self) -> list[list[str]]:
        head = ["confidence from", "to", "answers", "mean confidence", "accuracy"]
        return [head, *(self._cells(one) for one in self.bins)]

    def grid_lines(self, width: int, ascii: bool) -> list[str]:
        """A bar for each bin as long as its accuracy, a sign where its confidence is."""
        lines = fold("accuracy by confidence; the mark is where the confidence lies", width)
        full, mark = ("#", "|") if ascii else ("█", "┃")
        for one in self.bins:
            bar = list((full * round(_BAR * one.accuracy)).ljust(_BAR))
            bar[min(int(_BAR * one.confidence), _BAR - 1)] = mark
            words = f"{100 * one.accuracy:.0f} % right of {one.count:,}"
            title = f"{100 * one.low:.0f}-{100 * one.high:.0f} %"
            lines += fold(f"{title:<9}  {''.join(bar)}  {words}", width)
        return lines

    def to_picture(self) -> Picture:
        words = Wording(
            f"How far {self.model} can be trusted",
            "blue: how often right; orange: how sure; figures: answers",
            self.caption,
            self.notes,
        )
        left, top = MARGIN + _LEFT, words.head_height() + 8
        width = max(words.width(), left + _SIDE + 2 * MARGIN)
        foot = top + _SIDE + _BELOW
        picture = Picture(width, foot + words.foot_height(width), PAGE, self.caption)
        self._draw_axes(picture, left, top)
        self._draw_bins(picture, left, top)
        words.draw(picture, foot)
        return picture

    def _draw_axes(self, picture: Picture, left: float, top: float) -> None:
        for step in range(0, 11, 2):
            x, y = _place(left, top, step / 10, step / 10)
            picture.line((left, y), (left + _SIDE, y), _GRID)
            picture.text(f"{10 * step} %", (left - 6, y + 4), Lettering(11, MUTED, "end"))
            picture.text(f"{10 * step} %", (x, top + _SIDE + 16), _TICKS)
        picture.text("confidence", (left + _SIDE / 2, top + _SIDE + 34), _TICKS)

    def _draw_bins(self, picture: Picture, left: float, top: float) -> None:
        """A bar up to the accuracy, a line at the confidence, and the number of answers."""
        for one in self.bins:
            x, y = _place(left, top, one.low, one.accuracy)
            width = (one.high - one.low) * _SIDE - 1
            title = (
                f"{100 * one.low:.0f} to {100 * one.high:.0f} % sure: {one.count:,} answers,"
                f" {100 * one.accuracy:.1f} % right"
            )
            bottom = top + _SIDE
            picture.rectangle((x, y, width, bottom - y), BLUE, title=title)
            sure = _place(left, top, one.low, one.confidence)
            picture.line(sure, (sure[0] + width, sure[1]), ORANGE, 2, title)
            count = Lettering(9, MUTED, "middle")
            picture.text(f"{one.count:,}", (x + width / 2, min(y, sure[1]) - 4), count)
        low, high = _place(left, top, 0, 0), _place(left, top, 1, 1)
        picture.curve([low, high], MUTED, dashed=True, title="accuracy = confidence")

    def _cells(self, one: Bin) -> list[str]:
        ends = [f"{100 * one.low:.0f} %", f"{100 * one.high:.0f} %", f"{one.count:,}"]
        return [*ends, f"{100 * one.confidence:.1f} %", f"{100 * one.accuracy:.1f} %"]

    def _caption(self) -> str:
        """Whether the model is too sure of itself, and where most."""
        total = sum(one.count for one in self.bins)
        sure = sum(one.count * one.confidence for one in self.bins) / total
        right = sum(one.count * one.accuracy for one in self.bins) / total
        apart = 100 * (sure - right)
        told = f"Expected calibration error {100 * self.error:.1f} %."
        if abs(apart) < 1:
            return f"{told} On the whole it is as sure as it is right ({100 * right:.1f} %)."
        way = "surer than it is right" if apart > 0 else "less sure than it is right"
        return f"{told} It is {way}: {100 * sure:.1f} % sure, {100 * right:.1f} % right."


def _place(left: float, top: float, across: float, up: float) -> Point:
    return left + across * _SIDE, top + _SIDE * (1 - up)
