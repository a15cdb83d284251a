"""Horizontal bar charts, as a picture and as text: a name, a bar and a number in each row."""

from collections.abc import Sequence
from dataclasses import dataclass

from .colours import BLUE, INK, MUTED, PAGE, mix
from .heatmap import MARGIN, FigureText
from .svg import Picture, TextStyle
from .text import column_width, shorten, to_ascii, visible

_ROW, _BAR, _LONGEST, _MAX_WIDTH, _NAME_COLUMNS = 22.0, 14.0, 300.0, 720.0, 28
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_NAME, _SMALL = TextStyle(13, INK, "end", monospace=True), TextStyle(11, MUTED)


@dataclass(frozen=True)
class Bar:
    """One bar.

    Args:
        name: in front of it.
        fraction: its length, from 0 to 1 of the longest possible bar.
        label: behind it.
        strong: blue rather than grey.
        outline: a second fraction, drawn as an outline over the bar.
        title: tooltip; name and label if empty.
    """

    name: str
    fraction: float
    label: str
    strong: bool = True
    outline: float | None = None
    title: str = ""


def bars_picture(bars: Sequence[Bar], text: FigureText) -> Picture:
    """The bars below each other, with title, caption and notes around them."""
    names = [shorten(visible(bar.name), _NAME_COLUMNS) for bar in bars]
    left = MARGIN + max([_NAME.length(name) for name in names] or [0.0]) + 8
    width = max(text.width(), left + _LONGEST + 200, _subtitle_width(text))
    top = text.head_height() + 4
    foot = top + _ROW * len(bars) + 12
    picture = Picture(width, foot + text.foot_height(width), PAGE, text.caption)
    for number, (bar, name) in enumerate(zip(bars, names, strict=True)):
        y = top + number * _ROW
        picture.text(name, (left - 8, y + _BAR * 0.85), _NAME)
        colour = BLUE if bar.strong else mix(PAGE, MUTED, 0.35)
        title = bar.title or f"{name}: {bar.label}"
        picture.rectangle((left, y, max(1.0, bar.fraction * _LONGEST), _BAR), colour, title=title)
        if bar.outline is not None:
            box = (left, y, max(1.0, bar.outline * _LONGEST), _BAR)
            picture.rectangle(box, outline=INK, thickness=1)
        reach = max(bar.fraction, bar.outline or 0.0) * _LONGEST
        picture.text(bar.label, (left + reach + 8, y + _BAR * 0.85), _SMALL)
    text.draw(picture, foot)
    return picture


def bars_text(bars: Sequence[Bar], width: int, ascii: bool) -> list[str]:
    """The bars as lines for a terminal."""
    names = [shorten(visible(bar.name), _NAME_COLUMNS) for bar in bars]
    names = [to_ascii(name) for name in names] if ascii else names
    labels = [to_ascii(bar.label) if ascii else bar.label for bar in bars]
    indent = max([column_width(name) for name in names] or [0])
    behind = max([column_width(label) for label in labels] or [0])
    room = max(4, min(40, width - indent - behind - 4))
    lines = []
    for bar, name, label in zip(bars, names, labels, strict=True):
        drawn = _bar_text(bar.fraction, room, ascii)
        head = " " * (indent - column_width(name)) + name
        lines.append(f"{head}  {drawn}{' ' * (room - column_width(drawn))}  {label}".rstrip())
    return lines


def percent(fraction: float) -> str:
    """A probability in percent; never shown as 0 or 100 unless it is exactly that."""
    if 0 < fraction < 1e-4:
        return "<0.01 %"
    if 0.9999 < fraction < 1:
        return ">99.99 %"
    near_an_end = fraction < 0.1 or fraction > 0.99
    return f"{100 * fraction:.2f} %" if near_an_end else f"{100 * fraction:.1f} %"


def _bar_text(fraction: float, room: int, ascii: bool) -> str:
    """A bar of eighths of a character; at least one of them where there is any probability."""
    if ascii:
        return "#" * max(1 if fraction > 0 else 0, round(fraction * room))
    eighths = round(fraction * room * 8)
    whole, part = divmod(max(1 if fraction > 0 else 0, eighths), 8)
    return "█" * whole + (_EIGHTHS[part] if part else "")


def _subtitle_width(text: FigureText) -> float:
    """Pixels that keep the subtitle on one line, within limits."""
    return min(_MAX_WIDTH, TextStyle(12).length(text.subtitle) + 2 * MARGIN)
