"""The mean of a metric over several runs, and how far chance could have moved it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Mean:
    """The mean of several values, its 95 % interval, and the standard deviation of the values.

    Of one value there is no interval.
    """

    value: float
    low: float
    high: float
    deviation: float


def mean_of(values: Sequence[float], shared: float = 0.0) -> Mean:
    """The mean of runs with its 95 % interval, by Student's t:

    m ± t(n - 1) s √(1/n + r)        s² = Σ (v - m)² / (n - 1)

    `shared` is r, the size of the test part over that of the training part, where runs were trained
    on overlapping parts of one file: folds are no independent samples, and without r repeating
    them would narrow the interval without end (Nadeau and Bengio, 2003). Where only seeds differ
    it is 0, and the interval speaks of seeds alone.
    """
    found, size = np.array(values, dtype=np.float64), len(values)
    middle = float(found.mean())
    if size < 2 or not np.isfinite(found).all():
        return Mean(middle, math.nan, math.nan, math.nan)
    deviation = float(found.std(ddof=1))
    reach = quantile(size - 1) * deviation * math.sqrt(1 / size + shared)
    return Mean(middle, middle - reach, middle + reach, deviation)


def quantile(freedom: int, share: float = 0.95) -> float:
    """Where Student's distribution holds so much of itself between -t and t."""
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        angle = (low + high) / 2
        low, high = (angle, high) if _within(angle, freedom) < share else (low, angle)
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """The share of Student's distribution between -t and t, where t = √n tan θ.

    n odd   2/π (θ + sin θ (cos θ + 2/3 cos³θ + … + (2·4…(n-3)) / (3·5…(n-2)) cosⁿ⁻²θ))
    n even  sin θ (1 + 1/2 cos²θ + … + (1·3…(n-3)) / (2·4…(n-2)) cosⁿ⁻²θ)

    (Abramowitz and Stegun, 1964, 26.7.3 and 26.7.4)
    """
    is_odd, square = freedom % 2, math.cos(angle) ** 2
    term, total = (math.cos(angle) if is_odd else 1.0), 0.0
    for power in range(is_odd, freedom - 1, 2):
        total += term
        term *= square * (power + 1) / (power + 2)
    if is_odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total
