"""A curve in one line of text: a character for each number, a blank where there is none."""

import math
from collections.abc import Iterable, Sequence

BARS = "▁▂▃▄▅▆▇█"
ASCII_BARS = "_.-=+*%#"
GAP = " "


def sparkline(
    values: Iterable[float],
    *,
    ascii: bool = False,
    low: float | None = None,
    high: float | None = None,
) -> str:
    """The values as bars, the least of them lowest.

    `low` and `high` are where the lowest and the highest bar stand, so that several lines can have
    one scale; what lies beyond them is drawn as they are. What is not a number is a gap.
    """
    given = list(values)
    known = [value for value in given if math.isfinite(value)]
    low = min(known, default=0.0) if low is None else low
    high = max(known, default=0.0) if high is None else high
    bars = ASCII_BARS if ascii else BARS
    scale = (len(bars) - 1) / (high - low) if high > low else 0.0

    def bar(value: float) -> str:
        if not math.isfinite(value):
            return GAP
        return bars[round((min(max(value, low), high) - low) * scale)]

    return "".join(map(bar, given))


def condensed(values: Sequence[float], room: int) -> list[float]:
    """At most so many numbers: each the mean of the known ones of a stretch, in order."""
    if len(values) <= room:
        return list(values)
    cuts = [round(number * len(values) / room) for number in range(room + 1)]
    found = []
    for first, last in zip(cuts, cuts[1:], strict=False):
        known = [value for value in values[first:last] if math.isfinite(value)]
        found.append(sum(known) / len(known) if known else math.nan)
    return found
