"""The parts heat maps share: labels of columns and rows, a legend with numbers, the words below."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, cos, radians, sin

from .colours import INK, LIGHT, MUTED, Theme, viridis
from .svg import Lettering, Picture
from .text import fold, shorten, visible

MARGIN = 16
LEGEND_HEIGHT = 58
_LABEL_COLUMNS, _LEAST_PITCH, _LINE = 24, 10, 17
_TITLE, _WORDS = Lettering(14), Lettering(12)


@dataclass(frozen=True)
class Labels:
    """The labels along one side of a heat map, one each `pitch` pixels."""

    words: tuple[str, ...]
    pitch: float
    lettering: Lettering

    @classmethod
    def of(cls, symbols: Sequence[str], pitch: float) -> "Labels":
        """Labels for symbols, in letters that fit the pitch."""
        words = tuple(shorten(visible(symbol), _LABEL_COLUMNS) for symbol in symbols)
        size = min(13, max(9, pitch * 0.75))
        return cls(words, pitch, Lettering(size, INK, monospace=True))

    def length(self) -> float:
        """Pixels that the longest label takes."""
        return max(map(self.lettering.length, self.words), default=0.0)

    def is_slanted(self) -> bool:
        """Whether labels above columns must slant because they are wider than a column."""
        return self.length() > self.pitch + 1

    def height(self) -> float:
        """Pixels above the columns that the labels take."""
        up = self.length() * sin(radians(self._slant())) if self.is_slanted() else 0
        return up + self.lettering.size + 4

    def overhang(self) -> float:
        """Pixels that slanted labels reach beyond the last column."""
        return self.length() * cos(radians(self._slant())) if self.is_slanted() else 0

    def draw_above(self, picture: Picture, left: float, bottom: float) -> None:
        """Write the labels above columns; every second or third where columns are too thin."""
        style = self.lettering
        place = Lettering(style.size, INK, "middle", monospace=True)
        if self.is_slanted():
            place = Lettering(style.size, INK, "start", monospace=True, rotation=-self._slant())
        shift = style.size * 0.3 if self.is_slanted() else 0
        for number in range(0, len(self.words), self._every()):
            x = left + (number + 0.5) * self.pitch + shift
            picture.text(self.words[number], (x, bottom - 5), place)

    def draw_beside(self, picture: Picture, right: float, top: float) -> None:
        """Write the labels to the left of rows."""
        style = Lettering(self.lettering.size, INK, "end", monospace=True)
        for number in range(0, len(self.words), self._every()):
            y = top + (number + 0.5) * self.pitch + style.size * 0.35
            picture.text(self.words[number], (right - 6, y), style)

    def _slant(self) -> float:
        """Degrees that labels rise: steeper above thin columns, where they would touch."""
        return 45 if self.pitch >= 18 else 70

    def _every(self) -> int:
        return ceil(_LEAST_PITCH / self.pitch)


@dataclass(frozen=True)
class Wording:
    """The words around a picture: a title above, a caption and notes below."""

    title: str
    explanation: str
    caption: str
    notes: tuple[str, ...]
    theme: Theme = LIGHT

    def head_height(self) -> float:
        """Pixels from the top of the picture to where labels may begin."""
        return MARGIN + 42

    def width(self) -> float:
        """Pixels that keep the title on one line."""
        return max(380.0, _TITLE.length(self.title) + 2 * MARGIN)

    def foot_height(self, width: float) -> float:
        """Pixels below the legend that caption and notes take."""
        return len(self._foot(width)) * _LINE + MARGIN

    def draw(self, picture: Picture, foot: float) -> None:
        """Write the title at the top, and caption and notes from `foot` down."""
        title = Lettering(_TITLE.size, self.theme.ink)
        picture.text(self.title, (MARGIN, MARGIN + 12), title)
        picture.text(self.explanation, (MARGIN, MARGIN + 30), Lettering(12, self.theme.muted))
        for number, (line, colour) in enumerate(self._foot(picture.width)):
            place = MARGIN, foot + number * _LINE + 12
            picture.text(line, place, Lettering(_WORDS.size, colour))

    def _foot(self, width: float) -> list[tuple[str, str]]:
        columns = int((width - 2 * MARGIN) / _WORDS.length("x"))
        ink, muted = self.theme.ink, self.theme.muted
        caption = [(line, ink) for line in fold(self.caption, columns)]
        return caption + [(line, muted) for note in self.notes for line in fold(note, columns)]


def draw_legend(picture: Picture, left: float, top: float, words: str) -> None:
    """A bar of the colours from 0 to 1 with numbers under it and what they mean above."""
    picture.text(words, (left, top + 11), Lettering(11, MUTED))
    steps, width = 64, 2.5
    for step in range(steps):
        # A shade wider than the step: neighbours overlap, so no page shines through between them.
        box = left + step * width, top + 18, width + (step < steps - 1), 10
        picture.rectangle(box, viridis(step / (steps - 1)))
    anchors: tuple[tuple[str, float], ...] = (("0", 0.0), ("0.5", 0.5), ("1", 1.0))
    for number, share in anchors:
        x = left + share * steps * width
        picture.line((x, top + 28), (x, top + 31), MUTED)
        picture.text(number, (x, top + 42), Lettering(11, MUTED, "middle"))
