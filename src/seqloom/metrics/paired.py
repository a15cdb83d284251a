"""How far two models differ that were asked the same."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from .ratio import Measured, Ratio


def difference(
    first: Sequence[Ratio],
    second: Sequence[Ratio],
    transform: Callable[[float], float] = float,
    repeats: int = 1000,
) -> Measured:
    """The second's metric minus the first's, drawing the same examples again for both.

    Hard examples are hard for both, so this is narrower than the two intervals suggest.
    """
    pairs = [np.array(ratios, dtype=np.float64).reshape(-1, 2) for ratios in (first, second)]
    chance, size = np.random.default_rng(1), len(pairs[0])

    def value(rows: np.ndarray) -> float:
        top, bottom = rows.sum(0)
        return transform(float(top / max(bottom, 1e-12)))

    draws = []
    for _ in range(repeats):
        which = chance.integers(size, size=size)
        draws.append(_apart(value(pairs[0][which]), value(pairs[1][which])))
    # Between a number and infinity there is nothing to interpolate.
    way: Literal["linear", "nearest"] = "linear" if np.isfinite(draws).all() else "nearest"
    low, high = np.quantile(draws, [0.025, 0.975], method=way)
    return Measured(_apart(value(pairs[0]), value(pairs[1])), float(low), float(high))


def _apart(first: float, second: float) -> float:
    """How far the second is above the first; two that are both without bound are equal."""
    return 0.0 if first == second else second - first
