"""How things look in a terminal: marks, colours, tables, and numbers as people read them.

Results go to stdout with `show`, everything else to stderr with `say`.
"""

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

MARKS: Final[Mapping[str, tuple[str, str]]] = {  # the sign, and the one every terminal can show
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
_ESCAPES = re.compile(r"\033\[[0-9;]*m")


@runtime_checkable
class Stream(Protocol):
    """What is asked of stdout and stderr here."""

    def isatty(self) -> bool:
        """Whether a person may be looking."""
        ...


def show(text: str = "") -> None:
    """Print a result."""
    print(text)


def say(text: str = "") -> None:
    """Print anything that is not a result; a stderr that was closed is no reason to stop."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return


def is_live(stream: Stream) -> bool:
    """Whether a bar may be drawn and drawn again: a person is looking at a real terminal."""
    is_plain = os.environ.get("TERM") == "dumb" or bool(os.environ.get("CI"))
    return _is_terminal(stream) and not is_plain


def wants_colour(stream: Stream) -> bool:
    """Whether colour is welcome."""
    return is_live(stream) and not os.environ.get("NO_COLOR")


def coloured(text: str, colour: str, stream: Stream) -> str:
    """The text in a colour, where colour is welcome."""
    return f"\033[{COLOURS[colour]}m{text}\033[0m" if wants_colour(stream) else text


def can_show(text: str, stream: Stream) -> bool:
    """Whether the encoding of a stream has all these characters."""
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return False
    return True


def mark(name: str, stream: Stream) -> str:
    """A sign such as ✔, in its colour, or what stands for it in ASCII."""
    sign, plain = MARKS[name]
    found = sign if can_show(sign, stream) else plain
    return coloured(found, _MARK_COLOURS[name], stream) if name in _MARK_COLOURS else found


def heading(text: str, stream: Stream) -> str:
    """A line that opens a part: ── text ──────."""
    rule = MARKS["rule"][0 if can_show(MARKS["rule"][0], stream) else 1]
    room = min(width(), 72) - columns(text) - 4
    return f"{rule} {text} {rule[0] * max(2, room)}"


def width() -> int:
    """How many columns the terminal has; 80 where there is none."""
    return shutil.get_terminal_size((80, 24)).columns


def columns(text: str) -> int:
    """How many columns a text takes: wide characters two, accents and colours none."""
    bare = _ESCAPES.sub("", text)
    joined = sum(unicodedata.category(character) in {"Mn", "Me", "Cf"} for character in bare)
    wide = sum(unicodedata.east_asian_width(character) in {"W", "F"} for character in bare)
    return len(bare) - joined + wide


def table(rows: Sequence[Sequence[str]], align: str = "", room: int | None = None) -> list[str]:
    """Rows as aligned lines, two spaces between columns.

    `align` has l or r for each column, the last letter standing for those after it; left where it
    is empty. Where a line would be wider than the terminal, the widest left column is shortened.
    """
    if not rows:
        return []
    count = max(len(row) for row in rows)
    sides = (align or "l").ljust(count, (align or "l")[-1])
    cells = [[*row, *[""] * (count - len(row))] for row in rows]
    widths = [max(columns(row[place]) for row in cells) for place in range(count)]
    _shrink(widths, sides, width() if room is None else room)
    return [
        "  ".join(
            _padded(_shortened(cell, widths[place]), widths[place], sides[place])
            for place, cell in enumerate(row)
        ).rstrip()
        for row in cells
    ]


def duration(seconds: float) -> str:
    """A time span: 3.1 s, 42 s, 2 min 4 s, 1 h 5 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def clock(seconds: float) -> str:
    """A time span as a clock shows it: 0:13, 12:04, 1:02:09."""
    whole = max(0, int(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours}:{minutes:02}:{whole % 60:02}"
    return f"{minutes}:{whole % 60:02}"


def count(number: float) -> str:
    """A count in three digits or so: 950, 19.1 k, 1.2 M."""
    for limit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit * 0.9995:
            return f"{number / limit:.3g} {name}"
    return f"{number:.0f}"


def several(number: int, what: str) -> str:
    """A number with its noun: 1 step, 2,000 steps."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def sparkline(values: Iterable[float], stream: Stream) -> str:
    """A curve in one line, a character for each value; blank where it is not a number."""
    from ..views.draw.sparkline import BARS
    from ..views.draw.sparkline import sparkline as drawn_sparkline

    return drawn_sparkline(values, ascii=not can_show(BARS, stream))


def visible(text: str) -> str:
    """Without the characters that steer a terminal: the words are from a file."""
    return "".join(character if character.isprintable() else "·" for character in text)


def _is_terminal(stream: Stream) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # it was closed
        return False


def _shrink(widths: list[int], sides: str, room: int) -> None:
    """Take from the widest left column until a line fits, but leave it some characters."""
    left = [place for place in range(len(widths)) if sides[place] == "l"]
    while left and sum(widths) + 2 * (len(widths) - 1) > room:
        widest = max(left, key=lambda place: widths[place])
        if widths[widest] <= 8:
            return
        widths[widest] -= 1


def _shortened(text: str, room: int) -> str:
    if columns(text) <= room:
        return text
    kept = ""
    for character in text:
        if columns(kept + character) >= room:
            break
        kept += character
    return kept + "…"


def _padded(text: str, room: int, side: str) -> str:
    blank = " " * max(0, room - columns(text))
    return text + blank if side == "l" else blank + text
