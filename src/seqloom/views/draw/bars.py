"""Bars from left to right, each with its name before it and its number behind it."""

from collections.abc import Sequence
from dataclasses import dataclass

from .colours import BLUE, INK, MUTED, PAGE, mix
from .heatmap import MARGIN, Wording
from .svg import Lettering, Picture
from .text import column_width, shorten, to_ascii, visible

_ROW, _BAR, _LONGEST, _WIDE, _COLUMNS = 22.0, 14.0, 300.0, 720.0, 28
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_NAME, _SMALL = Lettering(13, INK, "end", monospace=True), Lettering(11, MUTED)


@dataclass(frozen=True)
class Bar:
    """One bar: its share of the whole length, how strongly it is drawn, and what is said of it."""

    name: str
    share: float
    told: str
    strong: bool = True
    behind: float | None = None  # a second share, drawn as an outline
    title: str = ""


def bars_picture(bars: Sequence[Bar], words: Wording) -> Picture:
    """The bars one below the other, the words around them."""
    names = [shorten(visible(bar.name), _COLUMNS) for bar in bars]
    left = MARGIN + max([_NAME.length(name) for name in names] or [0.0]) + 8
    width = max(words.width(), left + _LONGEST + 200, _explained(words))
    top = words.head_height() + 4
    foot = top + _ROW * len(bars) + 12
    picture = Picture(width, foot + words.foot_height(width), PAGE, words.caption)
    for number, (bar, name) in enumerate(zip(bars, names, strict=True)):
        y = top + number * _ROW
        picture.text(name, (left - 8, y + _BAR * 0.85), _NAME)
        colour = BLUE if bar.strong else mix(PAGE, MUTED, 0.35)
        title = bar.title or f"{name}: {bar.told}"
        picture.rectangle((left, y, max(1.0, bar.share * _LONGEST), _BAR), colour, title=title)
        if bar.behind is not None:
            box = (left, y, max(1.0, bar.behind * _LONGEST), _BAR)
            picture.rectangle(box, outline=INK, thickness=1)
        reach = max(bar.share, bar.behind or 0.0) * _LONGEST
        picture.text(bar.told, (left + reach + 8, y + _BAR * 0.85), _SMALL)
    words.draw(picture, foot)
    return picture


def bars_text(bars: Sequence[Bar], width: int, ascii: bool) -> list[str]:
    """The same for a terminal."""
    names = [shorten(visible(bar.name), _COLUMNS) for bar in bars]
    names = [to_ascii(name) for name in names] if ascii else names
    told = [to_ascii(bar.told) if ascii else bar.told for bar in bars]
    indent = max([column_width(name) for name in names] or [0])
    behind = max([column_width(one) for one in told] or [0])
    room = max(4, min(40, width - indent - behind - 4))
    lines = []
    for bar, name, one in zip(bars, names, told, strict=True):
        drawn = _drawn(bar.share, room, ascii)
        label = " " * (indent - column_width(name)) + name
        lines.append(f"{label}  {drawn}{' ' * (room - column_width(drawn))}  {one}".rstrip())
    return lines


def percent(share: float) -> str:
    """A probability as people read it: never 0 where there is any."""
    if 0 < share < 1e-4:
        return "<0.01 %"
    if 0.9999 < share < 1:
        return ">99.99 %"
    return f"{100 * share:.2f} %" if share < 0.1 or share > 0.99 else f"{100 * share:.1f} %"


def _drawn(share: float, room: int, ascii: bool) -> str:
    if ascii:
        return "#" * max(1 if share > 0 else 0, round(share * room))
    eighths = round(share * room * 8)
    whole, part = divmod(max(1 if share > 0 else 0, eighths), 8)
    return "█" * whole + (_EIGHTHS[part] if part else "")


def _explained(words: Wording) -> float:
    """Pixels that keep the explanation on one line."""
    return min(_WIDE, Lettering(12).length(words.explanation) + 2 * MARGIN)
