"""The colours of numbers: each function turns a value into a colour such as "#1f988b".

Quantities from 0 to 1 are never stretched: the same value has the same colour in every picture.
"""

from dataclasses import dataclass


class Tone(str):
    """A colour on a light page that knows what it is on a dark one; `str(tone)` is light alone."""

    __slots__ = ("dark",)
    dark: str

    def __new__(cls, light: str, dark: str) -> "Tone":
        """Of two colours such as "#1f988b"."""
        found = super().__new__(cls, light)
        found.dark = dark
        return found


DARK_PAGE, DARK_CARD = "#111418", "#1a1f26"
PAGE, CARD = Tone("#ffffff", DARK_PAGE), Tone("#f6f8fa", DARK_CARD)
INK, MUTED = Tone("#1b1f24", "#e6edf3"), Tone("#57606a", "#9aa4ae")
ON_SHADE = Tone("#1b1f24", "#ffffff")  # words over colours that tell a number
GRID = Tone("#d0d7de", "#30363d")
BLUE, ORANGE = Tone("#0072b2", "#56b4e9"), Tone("#d55e00", "#e69f00")
# For things that have no order (Okabe & Ito, 2008), without the yellow, which is no line on white.
CATEGORIES = (
    BLUE,
    ORANGE,
    "#009e73",
    "#cc79a7",
    Tone("#56b4e9", "#f0e442"),
    Tone("#e69f00", "#d55e00"),
)


@dataclass(frozen=True)
class Theme:
    """The colours of a page: its ground, its words, its rules, and what is drawn on it."""

    page: str
    ink: str
    muted: str
    grid: str
    accent: str
    warm: str


LIGHT = Theme(PAGE, INK, MUTED, GRID, BLUE, ORANGE)  # and on a dark page its twin
DARK = Theme(DARK_PAGE, "#e6edf3", "#9aa4ae", "#30363d", "#56b4e9", "#e69f00")


def viridis(value: float) -> str:
    """A magnitude from 0 (dark violet) to 1 (yellow), for cells without text on them."""
    place = _clamp(value) * (len(_VIRIDIS) - 1)
    below = min(int(place), len(_VIRIDIS) - 2)
    return mix(_VIRIDIS[below], _VIRIDIS[below + 1], place - below)


def shade(value: float, *, dark: bool = False) -> str:
    """A magnitude from 0 (the page) to 1 (blue), pale enough for one ink over every shade."""
    on_dark = mix(DARK_PAGE, str(BLUE), _clamp(value))
    return on_dark if dark else Tone(mix(str(PAGE), str(BLUE), 0.80 * _clamp(value)), on_dark)


def signed(value: float, *, behind_text: bool = False, dark: bool = False) -> str:
    """A value from -1 (orange) through 0 (the card, so it disappears) to 1 (blue)."""
    on_light, on_dark = (_signed(value, behind_text, is_dark) for is_dark in (False, True))
    return on_dark if dark else Tone(on_light, on_dark)


def mix(first: str, second: str, share: float) -> str:
    """The colour `share` of the way from the first colour to the second."""
    light = _mixed(str(first), str(second), share)
    if not isinstance(first, Tone) and not isinstance(second, Tone):
        return light
    return Tone(light, _mixed(on_dark(first), on_dark(second), share))


def on_dark(colour: str) -> str:
    """What a colour is on a dark page."""
    return colour.dark if isinstance(colour, Tone) else colour


def _mixed(first: str, second: str, share: float) -> str:
    pairs = zip(_channels(first), _channels(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _signed(value: float, behind_text: bool, dark: bool) -> str:
    end = str(ORANGE if value < 0 else BLUE)
    cap = _TEXT_CAPS[dark, end] if behind_text else 1.0
    return _mixed(_signed_neutral(behind_text, dark), end, cap * _clamp(abs(value)))


def _signed_neutral(behind_text: bool, dark: bool) -> str:
    if not dark:
        return str(CARD)
    # White ink is only readable on every shade when the ramp starts from the darker page.
    return DARK_PAGE if behind_text else DARK_CARD


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, float(value)))


_VIRIDIS = (
    "#440154", "#481a6c", "#472f7d", "#414487", "#39568c", "#31688e", "#2a788e", "#23888e",
    "#1f988b", "#22a884", "#35b779", "#54c568", "#7ad151", "#a5db36", "#d2e21b", "#fde725",
)  # fmt: skip
_TEXT_CAPS: dict[tuple[bool, str], float] = {
    (False, BLUE): 0.79,  # a hundredth less than over the page, for a contrast of 4.5
    (False, ORANGE): 0.96,
    (True, BLUE): 1.0,
    (True, ORANGE): 0.90,
}
