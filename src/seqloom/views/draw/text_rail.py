"""Token strip: tokens in lines as a text is read, each on a background that shows a value."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .colours import MUTED, ON_SHADE, shade, signed
from .svg import Picture, Point, TextStyle
from .text import shorten

MAX_WIDTH = 760.0  # pixels of a line
MAX_LABELS = 80  # tokens up to which each has its label below it
_COLUMNS, _GAP, _BOX, _BELOW = 32, 3.0, 24.0, 13.0


@dataclass(frozen=True)
class TokenStrip:
    """Tokens with a label below each, laid out in lines.

    Args:
        tokens: as they are shown.
        labels: of each token; empty ones where there are too many tokens.
        boxes: of each token: left, top, width, in pixels from the corner of the strip.
    """

    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    boxes: tuple[tuple[float, float, float], ...]

    token_style: ClassVar[TextStyle] = TextStyle(13, ON_SHADE, "middle", monospace=True)
    label_style: ClassVar[TextStyle] = TextStyle(9, MUTED, "middle")

    @classmethod
    def of(cls, tokens: Sequence[str], labels: Sequence[str]) -> "TokenStrip":
        """Lay the tokens out from left to right, in as many lines as they need."""
        shown = tuple(shorten(token, _COLUMNS) for token in tokens)
        few = len(shown) <= MAX_LABELS
        below = tuple(labels) if few else ("",) * len(shown)
        boxes, left, top = [], 0.0, 0.0
        for token, label in zip(shown, below, strict=True):
            width = max(cls.token_style.length(token) + 8, cls.label_style.length(label) + 4)
            if left and left + width > MAX_WIDTH:
                left, top = 0.0, top + _BOX + _GAP + (_BELOW if few else 0)
            boxes.append((left, top, width))
            left += width + _GAP
        return cls(shown, below, tuple(boxes))

    def width(self) -> float:
        """Pixels of the longest line."""
        return max((left + width for left, _, width in self.boxes), default=0.0)

    def height(self) -> float:
        """Pixels of all lines."""
        return (self.boxes[-1][1] if self.boxes else 0.0) + _BOX + _BELOW

    def draw(
        self,
        picture: Picture,
        corner: Point,
        levels: NDArray[np.float64],
        title: Callable[[int], str],
        colour: Callable[[float], str] = lambda level: signed(level, behind_text=True),
    ) -> None:
        """Draw each token on the colour of its level; by default a level is from -1 to 1.

        Args:
            picture: what to draw on.
            corner: left and top of the strip.
            levels: one for each token.
            title: the tooltip of a token, by its position.
            colour: the colour map.
        """
        rows = zip(self.tokens, self.labels, self.boxes, levels, strict=True)
        for position, (token, label, (left, top, width), level) in enumerate(rows):
            x, y = corner[0] + left, corner[1] + top
            picture.rectangle((x, y, width, _BOX), colour(float(level)), title=title(position))
            picture.text(token, (x + width / 2, y + _BOX * 0.7), self.token_style)
            if label:
                picture.text(label, (x + width / 2, y + _BOX + _BELOW - 3), self.label_style)


def draw_signed_legend(
    picture: Picture, corner: Point, ends: tuple[str, str], label: str, *, behind_text: bool
) -> None:
    """A colour bar of the diverging map; of its upper half alone if the first end is "0"."""
    (left, top), steps, width = corner, 64, 2.5
    picture.text(label, (left, top + 11), TextStyle(11, MUTED))
    from_zero = ends[0] == "0"
    left += TextStyle(11).length(ends[0]) / 2
    for step in range(steps):
        fraction = step / (steps - 1)
        box = left + step * width, top + 18, width + (step < steps - 1), 10
        level = fraction if from_zero else 2 * fraction - 1
        picture.rectangle(box, signed(level, behind_text=behind_text))
    ticks = [(ends[0], 0.0), (ends[1], 1.0)] + ([] if from_zero else [("0", 0.5)])
    for name, fraction in ticks:
        x = left + fraction * steps * width
        picture.line((x, top + 28), (x, top + 31), MUTED)
        picture.text(name, (x, top + 42), TextStyle(11, MUTED, "middle"))


def draw_shade_legend(picture: Picture, corner: Point, ends: tuple[str, str], label: str) -> None:
    """A colour bar of the sequential map from the page to blue, with the values of its ends."""
    (left, top), steps, width = corner, 64, 2.5
    picture.text(label, (left, top + 11), TextStyle(11, MUTED))
    for step in range(steps):
        box = left + step * width, top + 18, width + (step < steps - 1), 10
        picture.rectangle(box, shade(step / (steps - 1)))
    for name, fraction in ((ends[0], 0.0), (ends[1], 1.0)):
        x = left + fraction * steps * width
        picture.line((x, top + 28), (x, top + 31), MUTED)
        picture.text(name, (x, top + 42), TextStyle(11, MUTED, "middle" if fraction else "start"))
