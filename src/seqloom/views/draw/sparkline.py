"""Sparklines (Tufte, 2006): a curve in one line of text, one block character per value."""

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
    """The values as block characters, the smallest as the lowest block.

    `low` and `high` are the values of the lowest and the highest block, so that several lines can
    share one scale; values beyond are clipped to it. Missing values (NaN) are blanks.
    """
    values = list(values)
    known = [value for value in values if math.isfinite(value)]
    low = min(known, default=0.0) if low is None else low
    high = max(known, default=0.0) if high is None else high
    bars = ASCII_BARS if ascii else BARS
    scale = (len(bars) - 1) / (high - low) if high > low else 0.0

    def bar(value: float) -> str:
        if not math.isfinite(value):
            return GAP
        return bars[round((min(max(value, low), high) - low) * scale)]

    return "".join(map(bar, values))


def downsample(values: Sequence[float], count: int) -> list[float]:
    """At most `count` values: the means of equally long sections, without missing values."""
    if len(values) <= count:
        return list(values)
    cuts = [round(number * len(values) / count) for number in range(count + 1)]
    means = []
    for first, last in zip(cuts, cuts[1:], strict=False):
        known = [value for value in values[first:last] if math.isfinite(value)]
        means.append(sum(known) / len(known) if known else math.nan)
    return means
