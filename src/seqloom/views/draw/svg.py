"""Vector graphics: a picture is a list of shapes that is written as SVG or as PNG.

Both forms are made from the same shapes (rectangle, line, polyline, polygon, circle, text), so they
agree.
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

from .colours import INK, PAGE, ThemedColour
from .text import column_width

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont


Point = tuple[float, float]
Box = tuple[float, float, float, float]
Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class TextStyle:
    """How text is set.

    Args:
        size: in pixels.
        colour: of the text.
        anchor: which end of the text is at its position.
        monospace: use a monospaced font.
        rotation: in degrees, clockwise, about the position.
    """

    size: float = 12
    colour: str = INK
    anchor: Anchor = "start"
    monospace: bool = False
    rotation: float = 0

    def length(self, text: str) -> float:
        """About how many pixels the text takes; exact enough to leave room for it."""
        # No font is loaded for SVG: about the advance of common fonts, in em, is taken instead.
        return column_width(text) * self.size * (0.61 if self.monospace else 0.56)


class Picture:
    """A drawing area with shapes; later shapes are drawn over earlier ones.

    Args:
        width: in pixels.
        height: in pixels.
        background: its colour.
        label: a description of the picture for screen readers.
    """

    def __init__(
        self, width: float, height: float, background: str = PAGE, label: str = ""
    ) -> None:
        self.width, self.height = round(width), round(height)
        self.background, self.label = background, label
        self.shapes: list[Drawable] = []

    def rectangle(
        self,
        box: Box,
        fill: str | None = None,
        *,
        outline: str | None = None,
        thickness: float = 1,
        title: str = "",
    ) -> None:
        """Add a rectangle (left, top, width, height); an outline is centred on its edge."""
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
        """Add a polyline through several points."""
        self.shapes.append(Polyline(tuple(points), colour, dashed, thickness, title))

    def add(self, shape: "Drawable") -> None:
        """Add a shape, such as a polygon or a circle."""
        self.shapes.append(shape)

    def text(
        self, text: str, position: Point, style: TextStyle | None = None, title: str = ""
    ) -> None:
        """Add a line of text whose baseline is at the position."""
        self.shapes.append(TextLine(_one_line(text), position, style or TextStyle(), title))

    def to_svg(self) -> str:
        """The picture as one self-contained SVG element."""
        size = f'width="{self.width}" height="{self.height}"'
        page = f"<rect {size}{colour_attributes(fill=self.background)}/>"
        shapes = "\n".join([page, *(shape.svg() for shape in self.shapes)])
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
            f'viewBox="0 0 {self.width} {self.height}" role="img" '
            f'aria-label="{escape(_one_line(self.label))}" style="max-width:100%;height:auto">'
        )
        return "\n".join([head, *_style_element(shapes), shapes, "</svg>"])

    def to_png(self, path: str | Path, scale: int = 2) -> None:
        """Write the picture as PNG, with `scale` dots per pixel."""
        # Pillow takes long to import and only PNG needs it.
        from PIL import Image, ImageDraw  # noqa: PLC0415

        size = self.width * scale, self.height * scale
        image = Image.new("RGB", size, self.background)
        text = "".join(shape.text for shape in self.shapes if isinstance(shape, TextLine))
        canvas = Canvas(image, ImageDraw.Draw(image), scale, frozenset(_composed(text)))
        for shape in self.shapes:
            shape.paint(canvas)
        image.save(path, format="PNG")


@dataclass(frozen=True)
class Canvas:
    """A raster image that shapes are painted on.

    Args:
        image: the image.
        draw: Pillow's drawing interface of it.
        scale: dots per pixel.
        characters: all characters of the picture, for which a font is chosen.
    """

    image: "Image"
    draw: "ImageDraw"
    scale: int
    characters: frozenset[str]


class Drawable(ABC):
    """A graphical element that writes itself as SVG and paints itself on a raster image."""

    @abstractmethod
    def svg(self) -> str: ...

    @abstractmethod
    def paint(self, canvas: Canvas) -> None: ...


@dataclass(frozen=True)
class Rectangle(Drawable):
    """A filled or outlined rectangle: left, top, width, height."""

    box: Box
    fill: str | None
    outline: str | None
    thickness: float
    title: str

    def svg(self) -> str:
        left, top, width, height = map(pixels, self.box)
        attributes = f'x="{left}" y="{top}" width="{width}" height="{height}"'
        attributes += colour_attributes(fill=self.fill or "none", stroke=self.outline)
        if self.outline:
            attributes += f' stroke-width="{pixels(self.thickness)}"'
        return element("rect", attributes, title=self.title)

    def paint(self, canvas: Canvas) -> None:
        left, top, width, height = (round(part * canvas.scale) for part in self.box)
        # Pillow includes the last row and column of dots, SVG does not.
        right, bottom = left + max(1, width) - 1, top + max(1, height) - 1
        if self.fill:
            canvas.draw.rectangle((left, top, right, bottom), fill=self.fill)
        if self.outline:
            dots = max(1, round(self.thickness * canvas.scale))
            half = dots // 2
            around = left - half, top - half, right + half, bottom + half
            canvas.draw.rectangle(around, outline=self.outline, width=dots)


@dataclass(frozen=True)
class Line(Drawable):
    """A straight line between two points."""

    start: Point
    end: Point
    colour: str
    thickness: float
    title: str

    def svg(self) -> str:
        (x1, y1), (x2, y2) = (map(pixels, point) for point in (self.start, self.end))
        attributes = f'x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"'
        attributes += colour_attributes(stroke=self.colour)
        attributes += f' stroke-width="{pixels(self.thickness)}"'
        return element("line", attributes, title=self.title)

    def paint(self, canvas: Canvas) -> None:
        ends = [part * canvas.scale for part in (*self.start, *self.end)]
        dots = max(1, round(self.thickness * canvas.scale))
        canvas.draw.line(ends, fill=self.colour, width=dots)


@dataclass(frozen=True)
class Polyline(Drawable):
    """A line through several points, solid or dashed."""

    points: tuple[Point, ...]
    colour: str
    dashed: bool
    thickness: float
    title: str

    def svg(self) -> str:
        points = " ".join(f"{pixels(x)},{pixels(y)}" for x, y in self.points)
        attributes = f'points="{points}"' + colour_attributes(fill="none", stroke=self.colour)
        attributes += f' stroke-width="{pixels(self.thickness)}" stroke-linejoin="round"'
        attributes += f' stroke-dasharray="{_DASH} {_DASH}"' if self.dashed else ""
        return element("polyline", attributes, title=self.title)

    def paint(self, canvas: Canvas) -> None:
        lines = _dashes(self.points) if self.dashed else [self.points]
        for line in lines:
            ends = [part * canvas.scale for point in line for part in point]
            dots = max(1, round(self.thickness * canvas.scale))
            canvas.draw.line(ends, fill=self.colour, width=dots, joint="curve")


def _dashes(points: Sequence[Point]) -> list[tuple[Point, ...]]:
    """The dashes of a dashed line: Pillow has none of its own.

    The pattern runs on over the corners: `done` is the length from the start of the line, and every
    second stretch of the length of a dash is drawn.
    """
    dashes: list[tuple[Point, ...]] = []
    done = 0.0
    for (x1, y1), (x2, y2) in pairwise(points):
        length, along = hypot(x2 - x1, y2 - y1), 0.0
        while along < length:
            step = min(length - along, _DASH - done % _DASH)
            if int(done / _DASH) % 2 == 0:
                ends = [(x1 + (x2 - x1) * p / length, y1 + (y2 - y1) * p / length)
                        for p in (along, along + step)]  # fmt: skip
                dashes.append(tuple(ends))
            # A step of almost nothing, left by rounding, must still make `done` grow.
            along, done = along + step, done + max(step, 1e-6)
    return dashes


@dataclass(frozen=True)
class Polygon(Drawable):
    """A filled polygon."""

    points: tuple[Point, ...]
    fill: str
    title: str = ""

    def svg(self) -> str:
        points = " ".join(f"{pixels(x)},{pixels(y)}" for x, y in self.points)
        attributes = f'points="{points}"' + colour_attributes(fill=self.fill)
        return element("polygon", attributes, title=self.title)

    def paint(self, canvas: Canvas) -> None:
        corners = [part * canvas.scale for point in self.points for part in point]
        canvas.draw.polygon(corners, fill=self.fill)


@dataclass(frozen=True)
class Circle(Drawable):
    """A filled circle with a thin rim that sets it off from what is below it."""

    centre: Point
    radius: float
    fill: str
    rim: str
    title: str = ""

    def svg(self) -> str:
        x, y = map(pixels, self.centre)
        attributes = f'cx="{x}" cy="{y}" r="{pixels(self.radius)}"'
        attributes += colour_attributes(fill=self.fill, stroke=self.rim) + ' stroke-width="1"'
        return element("circle", attributes, title=self.title)

    def paint(self, canvas: Canvas) -> None:
        (x, y), scale = self.centre, canvas.scale
        for reach, colour in ((self.radius + 0.5, self.rim), (self.radius - 0.5, self.fill)):
            box = x - reach, y - reach, x + reach, y + reach
            canvas.draw.ellipse([part * scale for part in box], fill=colour)


@dataclass(frozen=True)
class TextLine(Drawable):
    """A line of text with its baseline at a position, rotated about that position."""

    text: str
    position: Point
    style: TextStyle
    title: str

    def svg(self) -> str:
        style, (x, y) = self.style, map(pixels, self.position)
        family = _MONOSPACE if style.monospace else _SANS
        attributes = f'x="{x}" y="{y}" font-family="{family}" font-size="{pixels(style.size)}"'
        attributes += colour_attributes(fill=style.colour) + ' xml:space="preserve"'
        if style.anchor != "start":
            attributes += f' text-anchor="{style.anchor}"'
        if style.rotation:
            attributes += f' transform="rotate({pixels(style.rotation)} {x} {y})"'
        return element("text", attributes, escape(self.text), self.title)

    def paint(self, canvas: Canvas) -> None:
        from PIL import Image, ImageDraw  # noqa: PLC0415

        text, style, scale = _composed(self.text), self.style, canvas.scale
        font = _font_for(text, style, canvas)
        x, y = round(self.position[0] * scale), round(self.position[1] * scale)
        anchor = {"start": "ls", "middle": "ms", "end": "rs"}[style.anchor]
        if not style.rotation:
            canvas.draw.text((x, y), text, fill=style.colour, font=font, anchor=anchor)
            return
        # Pillow cannot rotate text: its colour is pasted through a mask that is rotated.
        reach = round(font.getlength(text) + 2 * font.size)
        mask = Image.new("L", (2 * reach, 2 * reach))
        middle = reach, reach
        ImageDraw.Draw(mask).text(middle, text, fill=255, font=font, anchor=anchor)
        rotated = mask.rotate(-style.rotation, Image.Resampling.BICUBIC, center=middle)
        canvas.image.paste(style.colour, (x - reach, y - reach), rotated)


def element(name: str, attributes: str, content: str = "", title: str = "") -> str:
    """An SVG element; its title is shown as a tooltip."""
    tooltip = f"<title>{escape(_one_line(title))}</title>" if title else ""
    inside = tooltip + content
    return f"<{name} {attributes}>{inside}</{name}>" if inside else f"<{name} {attributes}/>"


def colour_attributes(fill: str | None = None, stroke: str | None = None) -> str:
    """The attributes `fill` and `stroke`, and a class for each colour that has a dark counterpart.

    A picture by itself, or in a program without style sheets, thus has the colours of the light
    theme; where CSS works, the rules of `_style_element` override the attributes.
    """
    colours = {name: colour for name, colour in (("fill", fill), ("stroke", stroke)) if colour}
    attributes = "".join(f' {name}="{escape(str(colour))}"' for name, colour in colours.items())
    classes = [
        f"sq-{name}-{colour[1:]}-{colour.dark[1:]}"
        for name, colour in colours.items()
        if isinstance(colour, ThemedColour)
    ]
    return attributes + (f' class="{" ".join(classes)}"' if classes else "")


def _style_element(shapes: str) -> list[str]:
    """The style sheet of the colour classes: light or dark, as the page around the picture is."""
    used = sorted(set(_COLOUR_CLASS.findall(shapes)))
    rules = [
        f".sq-{name}-{light}-{dark}{{{name}:light-dark(#{light},#{dark})}}"
        for name, light, dark in used
    ]
    return [f"<style>{''.join(rules)}</style>"] if rules else []


def pixels(value: float) -> str:
    """A length or coordinate in pixels, with at most two decimals."""
    return f"{round(value, 2):g}"


def _one_line(text: str) -> str:
    """The text without line breaks and without characters that XML forbids."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", re.sub(r"[\t\n\r]", " ", text))


def _composed(text: str) -> str:
    """The text in Unicode NFC: an accented letter is one character, which more fonts can draw."""
    return unicodedata.normalize("NFC", text)


def _font_for(text: str, style: TextStyle, canvas: Canvas) -> "FreeTypeFont":
    """A font that has the characters, no wider than the room the layout left for the text."""
    size = style.size * canvas.scale
    fonts = [font for name in _FONTS if (font := _font(name, size))]

    def fitness(font: "FreeTypeFont") -> tuple[int, int]:
        # First the characters of this text; then those of the picture, so that it has one font.
        own = sum(_has_glyph(font, character) for character in set(text))
        return own, sum(_has_glyph(font, character) for character in canvas.characters)

    font = max(fonts, key=fitness)
    # The layout assumes equal widths; half an em of slack keeps a single W as tall as an I.
    room = style.length(text) * canvas.scale + size / 2
    if style.monospace and font.getlength(text) > room > 0:
        return font.font_variant(size=size * room / font.getlength(text))
    return font


@lru_cache
def _font(name: str, size: float) -> "FreeTypeFont | None":
    """Pillow's own font for "", otherwise a font of this computer, or None if it is missing."""
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
        raise TypeError("Pillow was built without FreeType: it cannot draw text in a given size")
    return font


@lru_cache(maxsize=16384)
def _has_glyph(font: "FreeTypeFont", character: str) -> bool:
    """Whether the font has the character, rather than drawing the box for a missing glyph."""
    if character.isspace() or unicodedata.category(character) == "Cf":
        return True
    return bytes(font.getmask(character)) != _missing_box(font)


@lru_cache
def _missing_box(font: "FreeTypeFont") -> bytes:
    return bytes(font.getmask("\U0010ffff"))


_DASH = 5
_COLOUR_CLASS = re.compile(r"\bsq-(fill|stroke)-([0-9a-f]{6})-([0-9a-f]{6})\b")
_SANS = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
_MONOSPACE = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# Pillow's own font has only Latin letters: fonts of this computer are tried for others.
_FONTS = ("", "DejaVuSans.ttf", "Arial Unicode.ttf", "arial.ttf", "NotoSansCJK-Regular.ttc",
          "wqy-microhei.ttc", "msyh.ttc", "YuGothM.ttc", "NotoSans-Regular.ttf")  # fmt: skip
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
