"""A small picture made of shapes, written as SVG or PNG from the same list, so both agree.

Shapes that fill a part of a picture: an area within a line, and a dot.
"""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .colours import INK, PAGE, Tone
from .text import column_width

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont


Point = tuple[float, float]
Box = tuple[float, float, float, float]
Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Lettering:
    """How words are set: size in pixels, colour, the point they hang on, degrees clockwise."""

    size: float = 12
    colour: str = INK
    anchor: Anchor = "start"
    monospace: bool = False
    rotation: float = 0

    def length(self, words: str) -> float:
        """About how many pixels the words take; exact enough to leave room for them."""
        return column_width(words) * self.size * (0.61 if self.monospace else 0.56)


class Picture:
    """A page of a given size with shapes on it, the first added lowest.

    Args:
        width: of the page, in pixels.
        height: of the page, in pixels.
        background: colour of the page.
        label: what the picture shows, for those who cannot see it.
    """

    def __init__(
        self, width: float, height: float, background: str = PAGE, label: str = ""
    ) -> None:
        self.width, self.height = round(width), round(height)
        self.background, self.label = background, label
        self.shapes: list[Shape] = []

    def rectangle(
        self,
        box: Box,
        fill: str | None = None,
        *,
        outline: str | None = None,
        thickness: float = 1,
        title: str = "",
    ) -> None:
        """Add a rectangle: left, top, width, height. An outline is centred on the edge."""
        self.shapes.append(Rectangle(box, fill, outline, thickness, title))

    def line(
        self, start: Point, end: Point, colour: str, thickness: float = 1, title: str = ""
    ) -> None:
        """Add a straight line."""
        self.shapes.append(Line(start, end, colour, thickness, title))

    def curve(
        self,
        points: Sequence[Point],
        colour: str,
        *,
        dashed: bool = False,
        thickness: float = 2,
        title: str = "",
    ) -> None:
        """Add a line through several points."""
        self.shapes.append(Curve(tuple(points), colour, dashed, thickness, title))

    def add(self, shape: "Shape") -> None:
        """Add a shape of another kind."""
        self.shapes.append(shape)

    def text(
        self, words: str, place: Point, lettering: Lettering | None = None, title: str = ""
    ) -> None:
        """Add words that hang with their baseline on a point."""
        self.shapes.append(Text(_one_line(words), place, lettering or Lettering(), title))

    def to_svg(self) -> str:
        """The picture as one SVG element that needs nothing from outside."""
        size = f'width="{self.width}" height="{self.height}"'
        page = f"<rect {size}{coloured(fill=self.background)}/>"
        shapes = "\n".join([page, *(shape.svg() for shape in self.shapes)])
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
            f'viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escape(_one_line(self.label))}" style="max-width:100%;height:auto">'
        )
        return "\n".join([head, *_tones(shapes), shapes, "</svg>"])

    def to_png(self, path: str | Path, scale: int = 2) -> None:
        """Write the picture as PNG, `scale` dots for each pixel."""
        # Pillow takes long to load and only PNG needs it.
        from PIL import Image, ImageDraw  # noqa: PLC0415

        size = self.width * scale, self.height * scale
        image = Image.new("RGB", size, self.background)
        words = "".join(shape.words for shape in self.shapes if isinstance(shape, Text))
        canvas = Canvas(image, ImageDraw.Draw(image), scale, frozenset(_composed(words)))
        for shape in self.shapes:
            shape.paint(canvas)
        image.save(path, format="PNG")


@dataclass(frozen=True)
class Canvas:
    """What shapes paint on for PNG: an image, its brush, dots for each pixel, all its letters."""

    image: "Image"
    brush: "ImageDraw"
    scale: int
    letters: frozenset[str]


class Shape(ABC):
    """One thing in a picture, which can write itself as SVG and paint itself for PNG."""

    @abstractmethod
    def svg(self) -> str: ...

    @abstractmethod
    def paint(self, canvas: Canvas) -> None: ...


@dataclass(frozen=True)
class Rectangle(Shape):
    """A filled or outlined box: left, top, width, height."""

    box: Box
    fill: str | None
    outline: str | None
    thickness: float
    title: str

    def svg(self) -> str:
        left, top, width, height = map(number, self.box)
        marks = f'x="{left}" y="{top}" width="{width}" height="{height}"'
        marks += coloured(fill=self.fill or "none", stroke=self.outline)
        if self.outline:
            marks += f' stroke-width="{number(self.thickness)}"'
        return element("rect", marks, title=self.title)

    def paint(self, canvas: Canvas) -> None:
        left, top, width, height = (round(part * canvas.scale) for part in self.box)
        # Pillow counts the last dot as inside, SVG does not.
        right, bottom = left + max(1, width) - 1, top + max(1, height) - 1
        if self.fill:
            canvas.brush.rectangle((left, top, right, bottom), fill=self.fill)
        if self.outline:
            dots = max(1, round(self.thickness * canvas.scale))
            half = dots // 2
            around = left - half, top - half, right + half, bottom + half
            canvas.brush.rectangle(around, outline=self.outline, width=dots)


@dataclass(frozen=True)
class Line(Shape):
    """A straight line between two points."""

    start: Point
    end: Point
    colour: str
    thickness: float
    title: str

    def svg(self) -> str:
        (x1, y1), (x2, y2) = (map(number, point) for point in (self.start, self.end))
        marks = f'x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"' + coloured(stroke=self.colour)
        marks += f' stroke-width="{number(self.thickness)}"'
        return element("line", marks, title=self.title)

    def paint(self, canvas: Canvas) -> None:
        ends = [part * canvas.scale for part in (*self.start, *self.end)]
        dots = max(1, round(self.thickness * canvas.scale))
        canvas.brush.line(ends, fill=self.colour, width=dots)


@dataclass(frozen=True)
class Curve(Shape):
    """A line through several points, whole or dashed."""

    points: tuple[Point, ...]
    colour: str
    dashed: bool
    thickness: float
    title: str

    def svg(self) -> str:
        points = " ".join(f"{number(x)},{number(y)}" for x, y in self.points)
        marks = f'points="{points}"' + coloured(fill="none", stroke=self.colour)
        marks += f' stroke-width="{number(self.thickness)}" stroke-linejoin="round"'
        marks += f' stroke-dasharray="{_DASH} {_DASH}"' if self.dashed else ""
        return element("polyline", marks, title=self.title)

    def paint(self, canvas: Canvas) -> None:
        pieces = _dashes(self.points) if self.dashed else [self.points]
        for piece in pieces:
            ends = [part * canvas.scale for point in piece for part in point]
            dots = max(1, round(self.thickness * canvas.scale))
            canvas.brush.line(ends, fill=self.colour, width=dots, joint="curve")


def _dashes(points: Sequence[Point]) -> list[tuple[Point, ...]]:
    """Every second piece of a line, each as long as a dash: Pillow draws no dashes itself."""
    pieces: list[tuple[Point, ...]] = []
    done = 0.0
    for (x1, y1), (x2, y2) in pairwise(points):
        length, place = hypot(x2 - x1, y2 - y1), 0.0
        while place < length:
            step = min(length - place, _DASH - done % _DASH)
            if int(done / _DASH) % 2 == 0:
                ends = [(x1 + (x2 - x1) * p / length, y1 + (y2 - y1) * p / length)
                        for p in (place, place + step)]  # fmt: skip
                pieces.append(tuple(ends))
            place, done = place + step, done + max(step, 1e-6)
    return pieces


@dataclass(frozen=True)
class Text(Shape):
    """Words whose baseline hangs on a point, turned about that point."""

    words: str
    place: Point
    lettering: Lettering
    title: str

    def svg(self) -> str:
        style, (x, y) = self.lettering, map(number, self.place)
        family = _MONOSPACE if style.monospace else _SANS
        marks = f'x="{x}" y="{y}" font-family="{family}" font-size="{number(style.size)}"'
        marks += coloured(fill=style.colour) + ' xml:space="preserve"'
        if style.anchor != "start":
            marks += f' text-anchor="{style.anchor}"'
        if style.rotation:
            marks += f' transform="rotate({number(style.rotation)} {x} {y})"'
        return element("text", marks, escape(self.words), self.title)

    def paint(self, canvas: Canvas) -> None:
        from PIL import Image, ImageDraw  # noqa: PLC0415

        words, style, scale = _composed(self.words), self.lettering, canvas.scale
        font = _font_for(words, style, canvas)
        x, y = round(self.place[0] * scale), round(self.place[1] * scale)
        anchor = {"start": "ls", "middle": "ms", "end": "rs"}[style.anchor]
        if not style.rotation:
            canvas.brush.text((x, y), words, fill=style.colour, font=font, anchor=anchor)
            return
        reach = round(font.getlength(words) + 2 * font.size)
        stencil = Image.new("L", (2 * reach, 2 * reach))
        middle = reach, reach
        ImageDraw.Draw(stencil).text(middle, words, fill=255, font=font, anchor=anchor)
        turned = stencil.rotate(-style.rotation, Image.Resampling.BICUBIC, center=middle)
        canvas.image.paste(style.colour, (x - reach, y - reach), turned)


def element(name: str, marks: str, content: str = "", title: str = "") -> str:
    """One element of SVG, with words that show where the pointer rests."""
    hover = f"<title>{escape(_one_line(title))}</title>" if title else ""
    inside = hover + content
    return f"<{name} {marks}>{inside}</{name}>" if inside else f"<{name} {marks}/>"


def coloured(fill: str | None = None, stroke: str | None = None) -> str:
    """The attributes of colours; one that is another on a dark page has a class beside it.

    So a picture by itself, or in a program that knows no style sheets, has the light colours.
    """
    given = {name: colour for name, colour in (("fill", fill), ("stroke", stroke)) if colour}
    marks = "".join(f' {name}="{escape(str(colour))}"' for name, colour in given.items())
    tones = [
        f"sq-{name}-{colour[1:]}-{colour.dark[1:]}"
        for name, colour in given.items()
        if isinstance(colour, Tone)
    ]
    return marks + (f' class="{" ".join(tones)}"' if tones else "")


def _tones(shapes: str) -> list[str]:
    """The style of all classes of colours: light or dark, as the page around the picture is."""
    found = sorted(set(_TONES.findall(shapes)))
    rules = [
        f".sq-{name}-{light}-{dark}{{{name}:light-dark(#{light},#{dark})}}"
        for name, light, dark in found
    ]
    return [f"<style>{''.join(rules)}</style>"] if rules else []


def number(value: float) -> str:
    """A measure in pixels."""
    return f"{round(value, 2):g}"


def _one_line(text: str) -> str:
    """The text without line breaks and without characters that XML forbids."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", re.sub(r"[\t\n\r]", " ", text))


def _composed(words: str) -> str:
    """Letters and their accents as one character each, which more fonts can draw."""
    return unicodedata.normalize("NFC", words)


def _font_for(words: str, style: Lettering, canvas: Canvas) -> "FreeTypeFont":
    """A font that has the characters, no wider than the room the layout left for the words."""
    size = style.size * canvas.scale
    fonts = [font for name in _FONTS if (font := _font(name, size))]

    def fitness(font: "FreeTypeFont") -> tuple[int, int]:
        # The words themselves come first; then one font for the whole picture looks calmer.
        has_words = sum(_has(font, letter) for letter in set(words))
        return has_words, sum(_has(font, letter) for letter in canvas.letters)

    font = max(fonts, key=fitness)
    # The layout counts in even widths; half a letter of slack keeps a lone W as tall as an I.
    room = style.length(words) * canvas.scale + size / 2
    if style.monospace and font.getlength(words) > room > 0:
        return font.font_variant(size=size * room / font.getlength(words))
    return font


@lru_cache
def _font(name: str, size: float) -> "FreeTypeFont | None":
    """Pillow's own font for "", else a font of this computer, if it is there."""
    from PIL import ImageFont  # noqa: PLC0415

    if not name:
        return _default_font(size)
    try:
        return ImageFont.truetype(name, size)
    except OSError:
        return None


@lru_cache
def _default_font(size: float) -> "FreeTypeFont":
    from PIL import ImageFont  # noqa: PLC0415

    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise TypeError("Pillow was built without FreeType: it cannot draw words in a given size")
    return font


@lru_cache(maxsize=16384)
def _has(font: "FreeTypeFont", character: str) -> bool:
    """Whether the font draws the character, and not the box that stands for a missing one."""
    if character.isspace() or unicodedata.category(character) == "Cf":
        return True
    return bytes(font.getmask(character)) != _missing_box(font)


@lru_cache
def _missing_box(font: "FreeTypeFont") -> bytes:
    return bytes(font.getmask("\U0010ffff"))


_DASH = 5
_TONES = re.compile(r"\bsq-(fill|stroke)-([0-9a-f]{6})-([0-9a-f]{6})\b")
_SANS = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
_MONOSPACE = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# Pillow's own font knows only Latin letters: others are looked for on this computer.
_FONTS = ("", "DejaVuSans.ttf", "Arial Unicode.ttf", "arial.ttf", "NotoSansCJK-Regular.ttc",
          "wqy-microhei.ttc", "msyh.ttc", "YuGothM.ttc", "NotoSans-Regular.ttf")  # fmt: skip
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Area(Shape):
    """What lies within a line through several points, and from the last back to the first."""

    points: tuple[Point, ...]
    fill: str
    title: str = ""

    def svg(self) -> str:
        points = " ".join(f"{number(x)},{number(y)}" for x, y in self.points)
        marks = f'points="{points}"' + coloured(fill=self.fill)
        return element("polygon", marks, title=self.title)

    def paint(self, canvas: Canvas) -> None:
        corners = [part * canvas.scale for point in self.points for part in point]
        canvas.brush.polygon(corners, fill=self.fill)


@dataclass(frozen=True)
class Dot(Shape):
    """A disc around a point, with a thin rim that sets it off from what lies below."""

    place: Point
    radius: float
    fill: str
    rim: str
    title: str = ""

    def svg(self) -> str:
        x, y = map(number, self.place)
        marks = f'cx="{x}" cy="{y}" r="{number(self.radius)}"'
        marks += coloured(fill=self.fill, stroke=self.rim) + ' stroke-width="1"'
        return element("circle", marks, title=self.title)

    def paint(self, canvas: Canvas) -> None:
        (x, y), scale = self.place, canvas.scale
        for reach, colour in ((self.radius + 0.5, self.rim), (self.radius - 0.5, self.fill)):
            box = x - reach, y - reach, x + reach, y + reach
            canvas.brush.ellipse([part * scale for part in box], fill=colour)
