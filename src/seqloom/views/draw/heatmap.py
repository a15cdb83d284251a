"""Parts of a heat map: labels of columns and rows, a colour bar, and the text around it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, cos, radians, sin

from .colours import INK, LIGHT, MUTED, Theme, viridis
from .svg import Picture, TextStyle
from .text import fold, shorten, visible

MARGIN = 16
LEGEND_HEIGHT = 58
_LABEL_COLUMNS, _LEAST_PITCH, _LINE = 24, 10, 17
_TITLE, _BODY = TextStyle(14), TextStyle(12)


@dataclass(frozen=True)
class AxisLabels:
    """The labels along one side of a heat map, one every `pitch` pixels."""

    texts: tuple[str, ...]
    pitch: float
    style: TextStyle

    @classmethod
    def of(cls, tokens: Sequence[str], pitch: float) -> "AxisLabels":
        """A label for each token, in a font size that fits the pitch."""
        texts = tuple(shorten(visible(token), _LABEL_COLUMNS) for token in tokens)
        size = min(13, max(9, pitch * 0.75))
        return cls(texts, pitch, TextStyle(size, INK, monospace=True))

    def length(self) -> float:
        """Pixels of the longest label."""
        return max(map(self.style.length, self.texts), default=0.0)

    def is_slanted(self) -> bool:
        """Whether labels above columns must slant because they are wider than a column."""
        return self.length() > self.pitch + 1

    def height(self) -> float:
        """Pixels that the labels take above the columns."""
        up = self.length() * sin(radians(self._slant())) if self.is_slanted() else 0
        return up + self.style.size + 4

    def overhang(self) -> float:
        """Pixels that slanted labels extend beyond the last column."""
        return self.length() * cos(radians(self._slant())) if self.is_slanted() else 0

    def draw_above(self, picture: Picture, left: float, bottom: float) -> None:
        """Write the labels above columns; every second or third where columns are too thin."""
        size = self.style.size
        style = TextStyle(size, INK, "middle", monospace=True)
        if self.is_slanted():
            style = TextStyle(size, INK, "start", monospace=True, rotation=-self._slant())
        shift = size * 0.3 if self.is_slanted() else 0
        for number in range(0, len(self.texts), self._every()):
            x = left + (number + 0.5) * self.pitch + shift
            picture.text(self.texts[number], (x, bottom - 5), style)

    def draw_beside(self, picture: Picture, right: float, top: float) -> None:
        """Write the labels to the left of rows."""
        style = TextStyle(self.style.size, INK, "end", monospace=True)
        for number in range(0, len(self.texts), self._every()):
            y = top + (number + 0.5) * self.pitch + style.size * 0.35
            picture.text(self.texts[number], (right - 6, y), style)

    def _slant(self) -> float:
        """The angle of slanted labels in degrees; steeper above thin columns, or they touch."""
        return 45 if self.pitch >= 18 else 70

    def _every(self) -> int:
        return ceil(_LEAST_PITCH / self.pitch)


@dataclass(frozen=True)
class FigureText:
    """The text of a picture: title and subtitle above it, caption and notes below."""

    title: str
    subtitle: str
    caption: str
    notes: tuple[str, ...]
    theme: Theme = LIGHT

    def head_height(self) -> float:
        """Pixels from the top of the picture to the end of the subtitle."""
        return MARGIN + 42

    def width(self) -> float:
        """Pixels that keep the title on one line."""
        return max(380.0, _TITLE.length(self.title) + 2 * MARGIN)

    def foot_height(self, width: float) -> float:
        """Pixels that caption and notes take in a picture of this width."""
        return len(self._foot(width)) * _LINE + MARGIN

    def draw(self, picture: Picture, foot: float) -> None:
        """Write the title at the top, and caption and notes from `foot` down."""
        title = TextStyle(_TITLE.size, self.theme.ink)
        picture.text(self.title, (MARGIN, MARGIN + 12), title)
        picture.text(self.subtitle, (MARGIN, MARGIN + 30), TextStyle(12, self.theme.muted))
        for number, (line, colour) in enumerate(self._foot(picture.width)):
            position = MARGIN, foot + number * _LINE + 12
            picture.text(line, position, TextStyle(_BODY.size, colour))

    def _foot(self, width: float) -> list[tuple[str, str]]:
        columns = int((width - 2 * MARGIN) / _BODY.length("x"))
        ink, muted = self.theme.ink, self.theme.muted
        caption = [(line, ink) for line in fold(self.caption, columns)]
        return caption + [(line, muted) for note in self.notes for line in fold(note, columns)]


def draw_legend(picture: Picture, left: float, top: float, label: str) -> None:
    """A colour bar of viridis from 0 to 1, with ticks below and its label above."""
    picture.text(label, (left, top + 11), TextStyle(11, MUTED))
    steps, width = 64, 2.5
    for step in range(steps):
        # One pixel wider than the step: neighbours overlap, so no page shows between them.
        box = left + step * width, top + 18, width + (step < steps - 1), 10
        picture.rectangle(box, viridis(step / (steps - 1)))
    ticks: tuple[tuple[str, float], ...] = (("0", 0.0), ("0.5", 0.5), ("1", 1.0))
    for name, fraction in ticks:
        x = left + fraction * steps * width
        picture.line((x, top + 28), (x, top + 31), MUTED)
        picture.text(name, (x, top + 42), TextStyle(11, MUTED, "middle"))
