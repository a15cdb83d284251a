"""Numbers as files write them, and what stands for one that is missing."""

import math
import re

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


def number_of(text: str, *, comma: bool = False) -> float | None:
    """A cell as a number, NaN where it is missing; None where it is text.

    With `comma`, a number may be written as 1,5.
    """
    written = text.strip()
    if written.casefold() in MISSING:
        return math.nan
    if comma and _DECIMAL_COMMA.fullmatch(written):
        written = written.replace(",", ".")
    if "_" in written:  # Python would read 1_000
        return None
    try:
        return float(written)
    except ValueError:
        return None
