"""Terminal output: marks, colours, aligned tables, and numbers formatted for people.

Results go to stdout with `show`, everything else to stderr with `say`.
"""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from ..errors import visible_controls

MARKS: Final[Mapping[str, tuple[str, str]]] = {  # the Unicode character, and its ASCII fallback
    "good": ("✔", "+"),
    "warning": ("⚠", "!"),
    "bad": ("✘", "x"),
    "best": ("★", "*"),
    "to": ("→", "->"),
    "rule": ("──", "--"),
    "dash": ("–", "-"),
}
COLOURS: Final[Mapping[str, str]] = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
    "bold": "1",
    "faint": "2",
}
_MARK_COLOURS = {"good": "green", "warning": "yellow", "bad": "red", "best": "yellow"}
# Colours are marked by a noncharacter until they are printed: an escape is then one of the input.
_COLOUR = "\ufdd0"
_COLOURED = re.compile(rf"{_COLOUR}(\[[0-9;]*m)")
_ANY_COLOUR = re.compile(rf"(?:{_COLOUR}|\033)\[[0-9;]*m")


@runtime_checkable
class Stream(Protocol):
    """The one method of stdout and stderr that is needed here."""

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        ...


def show(text: str = "") -> None:
    """Print a result to stdout; nothing in it steers a terminal, and files get it as it is."""
    print(printable(text, sys.stdout))


def say(text: str = "") -> None:
    """Print anything that is not a result to stderr; a closed stderr is ignored."""
    try:
        print(printable(visible_controls(text), sys.stderr), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return


def is_interactive(stream: Stream) -> bool:
    """Whether it is a terminal on which a progress bar can be redrawn."""
    is_plain = os.environ.get("TERM") == "dumb" or bool(os.environ.get("CI"))
    return _is_terminal(stream) and not is_plain


def wants_colour(stream: Stream) -> bool:
    """Whether to print in colour: on a terminal, unless NO_COLOR is set."""
    return is_interactive(stream) and not os.environ.get("NO_COLOR")


def coloured(text: str, colour: str, stream: Stream) -> str:
    """The text in a colour, where `wants_colour`."""
    return styled(text, COLOURS[colour]) if wants_colour(stream) else text


def styled(text: str, style: str) -> str:
    """The text in a style of ANSI (SGR), such as 1;31; `printable` turns it into escapes."""
    return f"{_COLOUR}[{style}m{text}{_COLOUR}[0m"


def printable(text: str, stream: Stream) -> str:
    """The text as it is written to a stream: with colours, and on a terminal no other escapes."""
    safe = visible_controls(text) if _is_terminal(stream) else text
    return _COLOURED.sub("\033\\1", safe)


def can_show(text: str, stream: Stream) -> bool:
    """Whether the encoding of a stream can represent all these characters."""
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True


def mark(name: str, stream: Stream) -> str:
    """A mark such as ✔ in its colour, or its ASCII fallback."""
    sign, plain = MARKS[name]
    shown = sign if can_show(sign, stream) else plain
    return coloured(shown, _MARK_COLOURS[name], stream) if name in _MARK_COLOURS else shown


def heading(text: str, stream: Stream) -> str:
    """A section heading: ── text ──────."""
    rule = MARKS["rule"][0 if can_show(MARKS["rule"][0], stream) else 1]
    room = min(width(), 72) - display_width(text) - 4
    return f"{rule} {text} {rule[0] * max(2, room)}"


def width() -> int:
    """The number of columns of the terminal; 80 without one."""
    return shutil.get_terminal_size((80, 24)).columns


def display_width(text: str) -> int:
    """Columns that a text takes: wide characters two, accents and colour codes none."""
    bare = _ANY_COLOUR.sub("", text)
    combining = sum(unicodedata.category(character) in {"Mn", "Me", "Cf"} for character in bare)
    wide = sum(unicodedata.east_asian_width(character) in {"W", "F"} for character in bare)
    return len(bare) - combining + wide


def table(rows: Sequence[Sequence[str]], align: str = "", room: int | None = None) -> list[str]:
    """Rows as aligned lines, two spaces between columns.

    `align` has l or r for each column; its last letter applies to all further columns, and an empty
    string aligns left. If a line is wider than the terminal, the widest left column is cut, but
    none of L, which is left and is to be copied.
    """
    if not rows:
        return []
    count = max(len(row) for row in rows)
    sides = (align or "l").ljust(count, (align or "l")[-1])
    cells = [[*map(visible_controls, row), *[""] * (count - len(row))] for row in rows]
    widths = [max(display_width(row[column]) for row in cells) for column in range(count)]
    _shrink(widths, sides, width() if room is None else room)
    return [
        "  ".join(
            _padded(_shortened(cell, widths[column]), widths[column], sides[column])
            for column, cell in enumerate(row)
        ).rstrip()
        for row in cells
    ]


def duration(seconds: float) -> str:
    """A duration in words: 3.1 s, 42 s, 2 min 4 s, 1 h 5 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def clock(seconds: float) -> str:
    """A duration as on a clock: 0:13, 12:04, 1:02:09."""
    whole = max(0, int(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours}:{minutes:02}:{whole % 60:02}"
    return f"{minutes}:{whole % 60:02}"


def count(number: float) -> str:
    """A count with three significant digits: 950, 19.1 k, 1.2 M."""
    for limit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit * 0.9995:
            return f"{number / limit:.3g} {name}"
    return f"{number:.0f}"


def plural(number: int, what: str) -> str:
    """A count with its noun: 1 step, 2,000 steps."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def sparkline(values: Iterable[float], stream: Stream) -> str:
    """A curve in one line, one character for each value; a blank for NaN."""
    from ..views.draw.sparkline import BARS
    from ..views.draw.sparkline import sparkline as drawn_sparkline

    return drawn_sparkline(values, ascii=not can_show(BARS, stream))


def visible(text: str) -> str:
    """The text without control characters: text of a file must not steer the terminal."""
    return "".join(character if character.isprintable() else "·" for character in text)


def _is_terminal(stream: Stream) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # the stream is closed
        return False


def _shrink(widths: list[int], sides: str, room: int) -> None:
    """Narrow the widest left-aligned column until a line fits, down to 8 columns."""
    left = [column for column in range(len(widths)) if sides[column] == "l"]
    while left and sum(widths) + 2 * (len(widths) - 1) > room:
        widest = max(left, key=lambda column: widths[column])
        if widths[widest] <= 8:
            return
        widths[widest] -= 1


def _shortened(text: str, room: int) -> str:
    if display_width(text) <= room:
        return text
    kept = ""
    for character in text:
        if display_width(kept + character) >= room:
            break
        kept += character
    return kept + "…"


def _padded(text: str, room: int, side: str) -> str:
    blank = " " * max(0, room - display_width(text))
    return blank + text if side == "r" else text + blank
