"""How far two models differ that were asked the same."""

from collections.abc import Sequence

import numpy as np

from .tally import Measured, Tally, Value, as_rows, middle, share


def difference(
    first: Sequence[Tally], second: Sequence[Tally], value: Value = share, repeats: int = 1000
) -> Measured:
    """The second's metric minus the first's, drawing the same examples again for both.

    Hard examples are hard for both, so this is narrower than the two intervals suggest.
    """
    one, other = as_rows(first), as_rows(second)
    chance, size = np.random.default_rng(1), len(one)

    def apart(which: np.ndarray | slice) -> float:
        return _apart(value(one[which].sum(0).tolist()), value(other[which].sum(0).tolist()))

    draws = [apart(chance.integers(size, size=size)) for _ in range(repeats)]
    return Measured(apart(slice(None)), *middle(draws))


def _apart(first: float, second: float) -> float:
    """How far the second is above the first; two that are both without bound are equal."""
    return 0.0 if first == second else second - first
