"""What examples add up to, the metric of the sums, and how far chance could have moved it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

Tally = tuple[float, ...]  # what one example adds to each of the sums of a metric
Value = Callable[[Sequence[float]], float]  # the metric, from the sums over examples


class Ratio(NamedTuple):
    """The tally of most metrics: what one example adds above and below the line."""

    top: float
    bottom: float


@dataclass(frozen=True)
class Measured:
    """A metric with its 95 % bootstrap interval over examples."""

    value: float
    low: float
    high: float


def share(sums: Sequence[float]) -> float:
    """The value of most metrics: a ratio of two sums."""
    top, bottom = sums
    return top / max(bottom, 1e-12)


def measure(
    tallies: Sequence[Tally], value: Value = share, repeats: int = 1000, seed: int = 1
) -> Measured:
    """The metric, and the middle 95 % of it over examples drawn again with repetition."""
    rows = as_rows(tallies)
    chance = np.random.default_rng(seed)
    draws = [
        value(rows[chance.integers(len(rows), size=len(rows))].sum(0).tolist())
        for _ in range(repeats)
    ]
    return Measured(value(rows.sum(0).tolist()), *middle(draws))


def as_rows(tallies: Sequence[Tally]) -> Float[np.ndarray, "examples sums"]:
    """A row for each example."""
    return np.array(tallies, dtype=np.float64)


def middle(draws: Sequence[float]) -> tuple[float, float]:
    """Where the middle 95 % begin and end."""
    # Between a number and infinity there is nothing to interpolate.
    way: Literal["linear", "nearest"] = "linear" if np.isfinite(draws).all() else "nearest"
    low, high = np.quantile(draws, [0.025, 0.975], method=way)
    return float(low), float(high)
