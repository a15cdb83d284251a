"""Numbers as files write them, and what stands for one that is missing."""

import math
import re

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
_DECIMAL = re.compile(r"[+-]?\d+,\d+")


def number_of(text: str, *, comma: bool = False) -> float | None:
    """A cell as a number, NaN where it is missing; None where it is text.

    With `comma`, a number may be written as 1,5.
    """
    try:
        return float(text) if "_" not in text else None  # Python would read 1_000
    except ValueError:
        written = text.strip()
    if written.casefold() in MISSING:
        return math.nan
    return float(written.replace(",", ".")) if comma and _DECIMAL.fullmatch(written) else None
