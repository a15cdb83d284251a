"""Text for terminals and pictures: display width in columns, wrapping, visible white space."""

import unicodedata


def visible(token: str) -> str:
    """A token with visible white space: space is ·, newline ↵, tab ⇥, other controls �."""
    shown = "".join(_shown(character) for character in token)
    if not shown:
        return "∅"
    # A combining accent alone needs a base, or it would be drawn over its neighbour.
    return "◌" + shown if column_width(shown[0]) == 0 else shown


def to_ascii(text: str) -> str:
    """The text in ASCII: symbols are replaced by similar ones, other characters escaped."""
    return text.translate(_PLAIN).encode("ascii", "backslashreplace").decode("ascii")


def column_width(text: str) -> int:
    """The display width in terminal columns: wide characters take two, accents none."""
    return sum(_columns(character) for character in text)


def cut(text: str, width: int) -> list[str]:
    """Wrap after `width` columns, anywhere in a word; accents stay with their letters."""
    lines = [""]
    for character in text:
        if lines[-1] and column_width(lines[-1] + character) > width:
            lines.append("")
        lines[-1] += character
    return lines


def fold(text: str, width: int) -> list[str]:
    """Wrap into lines of at most `width` columns, at spaces where possible."""
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if column_width(joined) <= width:
            lines[-1] = joined
        else:
            lines[-1:] = [*filter(None, lines[-1:]), *cut(word, width)]
    return lines


def shorten(text: str, width: int) -> str:
    """The text, or its beginning and end around … if it is wider than `width` columns."""
    if column_width(text) <= width:
        return text
    head = cut(text, (width - 1) // 2)[0]
    tail = cut(text[::-1], (width - 1) // 2)[0][::-1]
    return f"{head}…{tail}"


def centre(text: str, width: int) -> str:
    """The text centred in `width` columns."""
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
    # Hangul vowels and finals join the syllable before them and take no column of their own.
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
