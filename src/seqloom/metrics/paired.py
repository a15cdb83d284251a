"""How far two models differ that were asked the same."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .tally import Measured, Tally, Value, as_rows, middle, share

FEWEST = 6  # five that differ all fall to one side by chance in 2 of 2⁵ cases, which is over 5 %


@dataclass(frozen=True)
class Difference(Measured):
    """How far a metric of one model lies above that of another, with its 95 % interval.

    Args:
        differing: how many examples the two were not equally good at.
    """

    differing: int = 0

    @property
    def is_certain(self) -> bool:
        """Whether it is more than chance: 0 lies outside, and more than a few examples say so.

        Of a few examples, drawing them again tells too little.
        """
        return self.differing >= FEWEST and not self.low <= 0 <= self.high


def difference(
    first: Sequence[Tally], second: Sequence[Tally], value: Value = share, repeats: int = 1000
) -> Difference:
    """The second's metric minus the first's, drawing the same examples again for both.

    d = v(Σᵢ bᵢ) - v(Σᵢ aᵢ)       a, b: tallies;  v: the metric, a function of their sums

    The interval is the middle 95 % of d over samples of the examples with repetition, the same
    for both (Efron, 1979; Koehn, 2004). Hard examples are hard for both, so this is narrower than
    the two intervals suggest.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"expected the same examples, not {len(first)} and {len(second)}")
    one, other = as_rows(first), as_rows(second)
    chance, size = np.random.default_rng(1), len(one)

    def apart(which: np.ndarray | slice) -> float:
        return _apart(value(one[which].sum(0).tolist()), value(other[which].sum(0).tolist()))

    draws = [apart(chance.integers(size, size=size)) for _ in range(repeats)]
    differing = sum(before != after for before, after in zip(first, second, strict=True))
    return Difference(apart(slice(None)), *middle(draws), differing)


def _apart(first: float, second: float) -> float:
    """How far the second is above the first; two that are both without bound are equal."""
    return 0.0 if first == second else second - first
