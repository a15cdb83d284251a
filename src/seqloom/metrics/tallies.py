"""Tallies, the sufficient statistics of examples: a metric is a function of their sums."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Tally = tuple[float, ...]  # sufficient statistics: what one example adds to the sums of a metric
Value = Callable[[Sequence[float]], float]  # the metric, from the sums over examples


class Ratio(NamedTuple):
    """The tally of most metrics: what one example adds to numerator and denominator."""

    top: float
    bottom: float


def ratio(sums: Sequence[float]) -> float:
    """The value of most metrics: a ratio of two sums."""
    top, bottom = sums
    return top / max(bottom, 1e-12)


class TallySums:
    """Sums of tallies over all examples, or over all but one.

    Where many examples have equal tallies, these are counted and the distinct ones multiplied by
    their counts: of labels there are few distinct tallies, and each has as many columns as labels.
    """

    def __init__(self, tallies: Sequence[Tally]) -> None:
        index: dict[Tally, int] = {}
        self._kinds = [index.setdefault(tally, len(index)) for tally in tallies]
        self._rows = as_matrix(list(index))
        self._counts = np.bincount(self._kinds, minlength=len(index))

    def all(self) -> list[float]:
        """The sums over every example once."""
        return list((self._counts @ self._rows).tolist())

    def without_each(self, value: Value) -> Float[np.ndarray, " examples"]:
        """The metric over all examples but one, for each of them."""
        if value is ratio:
            top, bottom = (self._counts @ self._rows - self._rows).T
            by_kind = top / np.maximum(bottom, 1e-12)
        else:
            by_kind = np.array([value(sums) for sums in self._but_one()])
        return by_kind[self._kinds]

    def _but_one(self) -> Iterator[list[float]]:
        whole = self._counts @ self._rows
        for row in self._rows:
            yield (whole - row).tolist()


def as_matrix(tallies: Sequence[Tally]) -> Float[np.ndarray, "examples sums"]:
    """A row for each example."""
    return np.array(tallies, dtype=np.float64)
