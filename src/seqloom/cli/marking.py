"""Questions with their labels in them: in colour where it is welcome, readable without."""

from typing import Final

from ..task import Marked
from .terminal import Stream, visible, wants_colour

# Categories of Okabe and Ito (2008), as the nearest of a terminal's 256 colours; with each the ink
# that is readable on it, whatever the colours of the terminal.
_BLACK, _WHITE = 16, 231
PAPERS: Final = (
    (214, _BLACK),
    (74, _BLACK),
    (36, _BLACK),
    (227, _BLACK),
    (25, _WHITE),
    (166, _BLACK),
    (175, _BLACK),
)
_STYLES = ("", ";4", ";3", ";3;4")  # the same colour again is underlined, then italic, then both


def drawn(marked: Marked, stream: Stream) -> str:
    """One line: [Ada Lovelace person] wrote, or the/DET cat/NOUN."""
    is_welcome = wants_colour(stream)
    places = {label: place for place, label in enumerate(marked.labels)}
    told = []
    for text, label in marked.pieces:
        shown = visible(text) if is_welcome else text
        if label:
            shown = f"{shown}/{label}" if marked.between else f"[{shown} {label}]"
            shown = _painted(shown, places.get(label, 0)) if is_welcome else shown
        told.append(shown)
    return marked.between.join(told)


def _painted(text: str, place: int) -> str:
    paper, ink = PAPERS[place % len(PAPERS)]
    style = _STYLES[place // len(PAPERS) % len(_STYLES)]
    return f"\033[48;5;{paper};38;5;{ink}{style}m{text}\033[0m"
