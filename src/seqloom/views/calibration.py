"""Reliability diagram: accuracy against confidence (DeGroot & Fienberg, 1983)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from .base import View
from .draw.colours import BLUE, GRID, MUTED, ORANGE, PAGE
from .draw.heatmap import MARGIN, FigureText
from .draw.svg import Picture, Point, TextStyle
from .draw.text import fold

_SIDE, _LEFT, _BELOW = 300.0, 40.0, 48.0
_TICKS = TextStyle(11, MUTED, "middle")
_BAR = 20


@dataclass(frozen=True)
class CalibrationBin:
    """The predictions whose confidence is in one interval.

    Args:
        low: lower end of the interval.
        high: upper end of the interval.
        count: number of predictions.
        confidence: their mean confidence.
        accuracy: the fraction of them that is correct.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@final
class ReliabilityView(View):
    """Reliability diagram: accuracy by confidence, with the diagonal of perfect calibration.

    Args:
        bins: in order of confidence; those without predictions may be left out.
        error: the expected calibration error, Σ_b n_b/n |accuracy_b - confidence_b|, without bias.
        model: name of the model.
        notes: what was left out.
    """

    kind: ClassVar[str] = "reliability"

    def __init__(
        self, bins: Sequence[CalibrationBin], error: float, model: str, notes: Sequence[str] = ()
    ) -> None:
        self.bins, self.error = [one for one in bins if one.count], error
        if not self.bins:
            raise ValueError("expected at least one prediction")
        data = {"bins": self.bins, "error": error}
        super().__init__(model, self._caption(), data, notes)

    def content(self) -> dict[str, Any]:
        return {"error": self.error, "bins": [vars(one) for one in self.bins]}

    def to_table(self) -> list[list[str]]:
        head = ["confidence from", "to", "predictions", "mean confidence", "accuracy"]
        return [head, *(self._cells(one) for one in self.bins)]

    def text_lines(self, width: int, ascii: bool) -> list[str]:
        """A bar for each bin as long as its accuracy, with a mark at its mean confidence."""
        lines = fold("accuracy by confidence; the mark is the mean confidence", width)
        full, mark = ("#", "|") if ascii else ("█", "┃")
        for one in self.bins:
            bar = list((full * round(_BAR * one.accuracy)).ljust(_BAR))
            bar[min(int(_BAR * one.confidence), _BAR - 1)] = mark
            label = f"{100 * one.accuracy:.0f} % correct of {one.count:,}"
            title = f"{100 * one.low:.0f}-{100 * one.high:.0f} %"
            lines += fold(f"{title:<9}  {''.join(bar)}  {label}", width)
        return lines

    def to_picture(self) -> Picture:
        text = FigureText(
            f"Reliability diagram of {self.model}",
            "blue: accuracy; orange: confidence; numbers: counts",
            self.caption,
            self.notes,
        )
        left, top = MARGIN + _LEFT, text.head_height() + 8
        width = max(text.width(), left + _SIDE + 2 * MARGIN)
        foot = top + _SIDE + _BELOW
        picture = Picture(width, foot + text.foot_height(width), PAGE, self.caption)
        self._draw_axes(picture, left, top)
        self._draw_bins(picture, left, top)
        text.draw(picture, foot)
        return picture

    def _draw_axes(self, picture: Picture, left: float, top: float) -> None:
        for step in range(0, 11, 2):
            x, y = _point(left, top, step / 10, step / 10)
            picture.line((left, y), (left + _SIDE, y), GRID)
            picture.text(f"{10 * step} %", (left - 6, y + 4), TextStyle(11, MUTED, "end"))
            picture.text(f"{10 * step} %", (x, top + _SIDE + 16), _TICKS)
        picture.text("confidence", (left + _SIDE / 2, top + _SIDE + 34), _TICKS)

    def _draw_bins(self, picture: Picture, left: float, top: float) -> None:
        """A bar up to the accuracy, a line at the mean confidence, and the count."""
        for one in self.bins:
            x, y = _point(left, top, one.low, one.accuracy)
            width = (one.high - one.low) * _SIDE - 1
            title = (
                f"confidence {100 * one.low:.0f} to {100 * one.high:.0f} %: {one.count:,}"
                f" predictions, {100 * one.accuracy:.1f} % correct"
            )
            bottom = top + _SIDE
            picture.rectangle((x, y, width, bottom - y), BLUE, title=title)
            mean = _point(left, top, one.low, one.confidence)
            picture.line(mean, (mean[0] + width, mean[1]), ORANGE, 2, title)
            count = TextStyle(9, MUTED, "middle")
            picture.text(f"{one.count:,}", (x + width / 2, min(y, mean[1]) - 4), count)
        low, high = _point(left, top, 0, 0), _point(left, top, 1, 1)
        picture.curve([low, high], MUTED, dashed=True, title="accuracy = confidence")

    def _cells(self, one: CalibrationBin) -> list[str]:
        ends = [f"{100 * one.low:.0f} %", f"{100 * one.high:.0f} %", f"{one.count:,}"]
        return [*ends, f"{100 * one.confidence:.1f} %", f"{100 * one.accuracy:.1f} %"]

    def _caption(self) -> str:
        """The calibration error, and whether the model is over- or underconfident."""
        total = sum(one.count for one in self.bins)
        confidence = sum(one.count * one.confidence for one in self.bins) / total
        accuracy = sum(one.count * one.accuracy for one in self.bins) / total
        excess = 100 * (confidence - accuracy)
        error = f"Expected calibration error {100 * self.error:.1f} %."
        if abs(excess) < 1:
            return (
                f"{error} Mean confidence, {100 * confidence:.1f} %, is within a point of the"
                f" accuracy, {100 * accuracy:.1f} %."
            )
        kind = "Overconfident" if excess > 0 else "Underconfident"
        return (
            f"{error} {kind}: mean confidence {100 * confidence:.1f} %,"
            f" accuracy {100 * accuracy:.1f} %."
        )


def _point(left: float, top: float, across: float, up: float) -> Point:
    return left + across * _SIDE, top + _SIDE * (1 - up)
