"""The loops of densities, for Numba."""

import math
from typing import Any, no_type_check

from ..compiled import compiled

Array = Any  # inside compiled functions shapes are what `diagonal` and `counted` say


@compiled
@no_type_check
def add_number(x: float, mean: Array, half: Array, height: Array, here: Array) -> None:
    """Add height - half (x - mean)² of each state."""
    for s in range(len(here)):
        apart = x - mean[s]
        here[s] += height[s] - half[s] * apart * apart


@compiled
@no_type_check
def diagonal(rows: Array, means: Array, halves: Array, heights: Array, into: Array) -> None:
    """Σ_d heights_d - halves_d (x_d - mean_d)² of each state, over observed numbers.

    The arrays of states have a row for each number, so that all states are added to at once.
    """
    for t in range(len(rows)):
        here = into[t]
        here[:] = 0.0
        for d in range(len(means)):
            x = rows[t, d]
            if x == x:  # not NaN
                add_number(x, means[d], halves[d], heights[d], here)


@compiled
@no_type_check
def log_factorials(rows: Array, into: Array) -> None:
    """Σ_d log x_d! of each row, over observed counts."""
    for t in range(len(rows)):
        total = 0.0
        for d in range(rows.shape[1]):
            if rows[t, d] == rows[t, d]:
                total += math.lgamma(rows[t, d] + 1.0)
        into[t] = total
