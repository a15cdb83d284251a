"""How symbols are written: blanks made visible, and how many columns of a terminal they take."""

import unicodedata


def visible(symbol: str) -> str:
    """A symbol as it is shown: space as ·, newline as ↵, tab as ⇥, other controls as �."""
    shown = "".join(_shown(character) for character in symbol)
    if not shown:
        return "∅"
    # A lone accent needs something to sit on, or it would land on its neighbour.
    return "◌" + shown if column_width(shown[0]) == 0 else shown


def to_ascii(text: str) -> str:
    """The same text for a terminal that knows only ASCII: signs replaced, the rest escaped."""
    return text.translate(_PLAIN).encode("ascii", "backslashreplace").decode("ascii")


def column_width(text: str) -> int:
    """How many columns of a terminal the text takes: wide characters two, accents none."""
    return sum(_columns(character) for character in text)


def cut(text: str, width: int) -> list[str]:
    """The text in pieces of at most `width` columns; accents stay with their letters."""
    pieces = [""]
    for character in text:
        if pieces[-1] and column_width(pieces[-1] + character) > width:
            pieces.append("")
        pieces[-1] += character
    return pieces


def fold(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken at spaces where that can be."""
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if column_width(joined) <= width:
            lines[-1] = joined
        else:
            lines[-1:] = [*filter(None, lines[-1:]), *cut(word, width)]
    return lines


def shorten(text: str, width: int) -> str:
    """The text itself, or its beginning and end around … when it is wider than `width`."""
    if column_width(text) <= width:
        return text
    head = cut(text, (width - 1) // 2)[0]
    tail = cut(text[::-1], (width - 1) // 2)[0][::-1]
    return f"{head}…{tail}"


def centre(text: str, width: int) -> str:
    """The text in the middle of `width` columns."""
    room = max(0, width - column_width(text))
    return " " * (room // 2) + text + " " * (room - room // 2)


def _shown(character: str) -> str:
    if character in _SIGNS:
        return _SIGNS[character]
    if unicodedata.category(character) == "Zs":
        return "␣"
    is_shown = character.isprintable() or character in _JOINERS
    return character if is_shown else "\N{REPLACEMENT CHARACTER}"


def _columns(character: str) -> int:
    is_joined_vowel = "\u1160" <= character <= "\u11ff"
    if unicodedata.category(character) in {"Mn", "Me", "Cf"} or is_joined_vowel:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


_SIGNS = {" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍", "\0": "␀"}
_JOINERS = {"\N{ZERO WIDTH JOINER}", "\N{ZERO WIDTH NON-JOINER}"}
_PLAIN = str.maketrans({
    "·": "_", "↵": "\\n", "⇥": "\\t", "␍": "\\r", "␀": "\\0", "␣": "_", "∅": '""', "…": "...",
    "◌": "", "\N{REPLACEMENT CHARACTER}": "?",
})  # fmt: skip
