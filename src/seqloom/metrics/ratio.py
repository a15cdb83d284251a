"""A ratio of sums, and how far chance could have moved it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np


class Ratio(NamedTuple):
    """What one example adds above and below the line."""

    top: float
    bottom: float


@dataclass(frozen=True)
class Measured:
    """A metric with its 95 % bootstrap interval over examples."""

    value: float
    low: float
    high: float


def measure(
    ratios: Sequence[Ratio],
    transform: Callable[[float], float] = float,
    repeats: int = 1000,
    seed: int = 1,
) -> Measured:
    """The ratio of sums, and the middle 95 % of it over examples drawn again with repetition."""
    pairs = np.array(ratios, dtype=np.float64).reshape(-1, 2)
    chance = np.random.default_rng(seed)
    draws = np.empty((repeats, 2))
    for place in range(repeats):
        draws[place] = pairs[chance.integers(len(pairs), size=len(pairs))].sum(0)
    shares = draws[:, 0] / np.maximum(draws[:, 1], 1e-12)
    # Between a number and infinity there is nothing to interpolate.
    way: Literal["linear", "nearest"] = "linear" if np.isfinite(shares).all() else "nearest"
    low, high = np.quantile(shares, [0.025, 0.975], method=way)
    top, bottom = pairs.sum(0)
    value = top / max(bottom, 1e-12)
    return Measured(transform(float(value)), transform(float(low)), transform(float(high)))
