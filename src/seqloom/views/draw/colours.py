"""Colours and colour maps: sequential (viridis, shades of blue), diverging, and categorical.

Each colour map turns a number into a colour such as "#1f988b". Values from 0 to 1 are never
rescaled: the same value has the same colour in every picture.
"""

from dataclasses import dataclass


class ThemedColour(str):
    """A colour of the light theme with its counterpart in the dark theme as `dark`.

    It is a string of the light colour, so that code that knows no themes can use it; `str(colour)`
    drops the dark one.
    """

    __slots__ = ("dark",)
    dark: str

    def __new__(cls, light: str, dark: str) -> "ThemedColour":
        """From two colours such as "#1f988b"."""
        colour = super().__new__(cls, light)
        colour.dark = dark
        return colour


DARK_PAGE, DARK_CARD = "#111418", "#1a1f26"
PAGE, CARD = ThemedColour("#ffffff", DARK_PAGE), ThemedColour("#f6f8fa", DARK_CARD)
INK, MUTED = ThemedColour("#1b1f24", "#e6edf3"), ThemedColour("#57606a", "#9aa4ae")
ON_SHADE = ThemedColour("#1b1f24", "#ffffff")  # text over the colours of a colour map
GRID = ThemedColour("#d0d7de", "#30363d")
BLUE, ORANGE = ThemedColour("#0072b2", "#56b4e9"), ThemedColour("#d55e00", "#e69f00")
# Categorical palette (Okabe & Ito, 2008), without the yellow, which cannot be seen on white.
CATEGORIES = (
    BLUE,
    ORANGE,
    "#009e73",
    "#cc79a7",
    ThemedColour("#56b4e9", "#f0e442"),
    ThemedColour("#e69f00", "#d55e00"),
)


@dataclass(frozen=True)
class Theme:
    """The colours of a page: background, text, muted text, grid lines, and two accents."""

    page: str
    ink: str
    muted: str
    grid: str
    accent: str
    warm: str


LIGHT = Theme(PAGE, INK, MUTED, GRID, BLUE, ORANGE)  # themed: dark where the page is dark
DARK = Theme(DARK_PAGE, "#e6edf3", "#9aa4ae", "#30363d", "#56b4e9", "#e69f00")


def viridis(value: float) -> str:
    """The viridis colour map, from 0 (dark violet) to 1 (yellow); for cells without text."""
    index = _clamp(value) * (len(_VIRIDIS) - 1)
    below = min(int(index), len(_VIRIDIS) - 2)
    return mix(_VIRIDIS[below], _VIRIDIS[below + 1], index - below)


def shade(value: float, *, dark: bool = False) -> str:
    """A sequential colour map from 0 (the page) to 1 (blue), for backgrounds of text.

    Even the darkest shade is pale enough for text in one colour over all of them.
    """
    on_dark = mix(DARK_PAGE, str(BLUE), _clamp(value))
    return (
        on_dark if dark else ThemedColour(mix(str(PAGE), str(BLUE), 0.80 * _clamp(value)), on_dark)
    )


def signed(value: float, *, behind_text: bool = False, dark: bool = False) -> str:
    """A diverging colour map: -1 is orange, 0 the colour of the background, 1 blue.

    Args:
        value: from -1 to 1; what lies beyond is clipped.
        behind_text: stay pale enough for text over it.
        dark: the colour of the dark theme alone.
    """
    on_light, on_dark = (_signed(value, behind_text, is_dark) for is_dark in (False, True))
    return on_dark if dark else ThemedColour(on_light, on_dark)


def mix(first: str, second: str, fraction: float) -> str:
    """Linear interpolation in sRGB: the colour at `fraction` of the way from first to second."""
    light = _mix(str(first), str(second), fraction)
    if not isinstance(first, ThemedColour) and not isinstance(second, ThemedColour):
        return light
    return ThemedColour(light, _mix(on_dark(first), on_dark(second), fraction))


def on_dark(colour: str) -> str:
    """The colour in the dark theme."""
    return colour.dark if isinstance(colour, ThemedColour) else colour


def _mix(first: str, second: str, fraction: float) -> str:
    pairs = zip(_channels(first), _channels(second), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * fraction):02x}" for a, b in pairs)


def _signed(value: float, behind_text: bool, dark: bool) -> str:
    end = str(ORANGE if value < 0 else BLUE)
    cap = _TEXT_CAPS[dark, end] if behind_text else 1.0
    return _mix(_signed_neutral(behind_text, dark), end, cap * _clamp(abs(value)))


def _signed_neutral(behind_text: bool, dark: bool) -> str:
    if not dark:
        return str(CARD)
    # White text is readable on every shade only if the ramp starts from the darker page.
    return DARK_PAGE if behind_text else DARK_CARD


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _clamp(value: float) -> float:
    return min(1.0, max(0.0, float(value)))


_VIRIDIS = (
    "#440154", "#481a6c", "#472f7d", "#414487", "#39568c", "#31688e", "#2a788e", "#23888e",
    "#1f988b", "#22a884", "#35b779", "#54c568", "#7ad151", "#a5db36", "#d2e21b", "#fde725",
)  # fmt: skip
# How far towards its end a ramp goes behind text: a contrast of 4.5 (WCAG 2.1 AA) must remain.
_TEXT_CAPS: dict[tuple[bool, str], float] = {
    (False, BLUE): 0.79,  # 0.80 is enough over the white page, not over the card
    (False, ORANGE): 0.96,
    (True, BLUE): 1.0,
    (True, ORANGE): 0.90,
}
