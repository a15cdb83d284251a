"""Numbers as files write them, and what stands for one that is missing."""

import math
import re

import numpy as np
from jaxtyping import Float

from ..errors import DataError

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


def typed(text: str) -> list[float]:
    """Numbers as people type them, with blanks or commas between them; NaN where one is missing."""
    found = []
    for part in re.split(r"\s*,\s*|\s+", text.strip()) if text.strip() else []:
        number = number_of(part)
        if number is None or math.isinf(number):
            raise DataError(
                "D224",
                f"{part!r} is not a number",
                help=["type numbers with blanks between them; nan stands for a missing one"],
            )
        found.append(number)
    return found


def typed_rows(text: str, width: int) -> Float[np.ndarray, "time {width}"]:
    """Steps as people type them: with a ; between them where a step has several numbers."""
    rows = [typed(step) for step in text.split(";") if step.strip()]
    if width == 1:
        rows = [[number] for row in rows for number in row]
    for row in rows:
        if len(row) != width:
            raise DataError(
                "D224",
                f"a step has {len(row)} numbers; a step of this model has {width}",
                help=["write steps with ; between them, as 1 2; 3 4"],
            )
    return np.array(rows, dtype=np.float64).reshape(-1, width)


def shown_rows(values: Float[np.ndarray, "time width"]) -> list[tuple[str, bool]]:
    """Steps in short, as people read them, each with whether none of its numbers is missing."""
    return [(" ".join(f"{one:.6g}" for one in row), not np.isnan(row).any()) for row in values]
