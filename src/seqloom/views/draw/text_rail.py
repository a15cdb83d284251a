"""Symbols in lines, as a text is read, each on a ground that says how much it counts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .colours import MUTED, ON_SHADE, shade, signed
from .svg import Lettering, Picture, Point
from .text import shorten

WIDEST = 760.0  # pixels of a line
MOST_NUMBERS = 80  # symbols that have their number below them
_COLUMNS, _GAP, _BOX, _BELOW = 32, 3.0, 24.0, 13.0


@dataclass(frozen=True)
class Rail:
    """Symbols, the number below each, and where each stands: left, top, width."""

    symbols: tuple[str, ...]
    numbers: tuple[str, ...]
    places: tuple[tuple[float, float, float], ...]

    letters: ClassVar[Lettering] = Lettering(13, ON_SHADE, "middle", monospace=True)
    small: ClassVar[Lettering] = Lettering(9, MUTED, "middle")

    @classmethod
    def of(cls, symbols: Sequence[str], numbers: Sequence[str]) -> "Rail":
        """The symbols from left to right, in as many lines as they need."""
        words = tuple(shorten(symbol, _COLUMNS) for symbol in symbols)
        few = len(words) <= MOST_NUMBERS
        below = tuple(numbers) if few else ("",) * len(words)
        places, left, top = [], 0.0, 0.0
        for word, number in zip(words, below, strict=True):
            width = max(cls.letters.length(word) + 8, cls.small.length(number) + 4)
            if left and left + width > WIDEST:
                left, top = 0.0, top + _BOX + _GAP + (_BELOW if few else 0)
            places.append((left, top, width))
            left += width + _GAP
        return cls(words, below, tuple(places))

    def width(self) -> float:
        """Pixels of the longest line."""
        return max((left + width for left, _, width in self.places), default=0.0)

    def height(self) -> float:
        """Pixels of all lines."""
        return (self.places[-1][1] if self.places else 0.0) + _BOX + _BELOW

    def draw(
        self,
        picture: Picture,
        corner: Point,
        levels: NDArray[np.float64],
        title: Callable[[int], str],
        colour: Callable[[float], str] = lambda level: signed(level, behind_text=True),
    ) -> None:
        """Each symbol on the colour of its level, from -1 to 1 unless another colour is given."""
        drawn = zip(self.symbols, self.numbers, self.places, levels, strict=True)
        for number, (word, told, (left, top, width), level) in enumerate(drawn):
            x, y = corner[0] + left, corner[1] + top
            picture.rectangle((x, y, width, _BOX), colour(float(level)), title=title(number))
            picture.text(word, (x + width / 2, y + _BOX * 0.7), self.letters)
            if told:
                picture.text(told, (x + width / 2, y + _BOX + _BELOW - 3), self.small)


def draw_signed_legend(
    picture: Picture, corner: Point, ends: tuple[str, str], words: str, *, behind_text: bool
) -> None:
    """A bar of the colours with what its ends and its middle stand for; from 0 if the first is."""
    (left, top), steps, width = corner, 64, 2.5
    picture.text(words, (left, top + 11), Lettering(11, MUTED))
    from_zero = ends[0] == "0"
    left += Lettering(11).length(ends[0]) / 2
    for step in range(steps):
        share = step / (steps - 1)
        box = left + step * width, top + 18, width + (step < steps - 1), 10
        level = share if from_zero else 2 * share - 1
        picture.rectangle(box, signed(level, behind_text=behind_text))
    anchors = [(ends[0], 0.0), (ends[1], 1.0)] + ([] if from_zero else [("0", 0.5)])
    for number, share in anchors:
        x = left + share * steps * width
        picture.line((x, top + 28), (x, top + 31), MUTED)
        picture.text(number, (x, top + 42), Lettering(11, MUTED, "middle"))


def draw_shade_legend(picture: Picture, corner: Point, ends: tuple[str, str], words: str) -> None:
    """A bar of the shades from the page to blue, with what its ends stand for."""
    (left, top), steps, width = corner, 64, 2.5
    picture.text(words, (left, top + 11), Lettering(11, MUTED))
    for step in range(steps):
        box = left + step * width, top + 18, width + (step < steps - 1), 10
        picture.rectangle(box, shade(step / (steps - 1)))
    for number, share in ((ends[0], 0.0), (ends[1], 1.0)):
        x = left + share * steps * width
        picture.line((x, top + 28), (x, top + 31), MUTED)
        picture.text(number, (x, top + 42), Lettering(11, MUTED, "middle" if share else "start"))
