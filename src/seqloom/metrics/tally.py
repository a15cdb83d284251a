"""What examples add up to, the metric of the sums, and how far chance could have moved it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

Tally = tuple[float, ...]  # what one example adds to each of the sums of a metric
Value = Callable[[Sequence[float]], float]  # the metric, from the sums over examples
_AT_ONCE = 1_000_000  # examples drawn


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


class Sums:
    """What examples add up to, whichever of them are drawn and however often.

    Examples that add the same are counted, not added one by one: of labels there are few different
    tallies, however many examples there are and however many labels a row has a place for.
    """

    def __init__(self, tallies: Sequence[Tally]) -> None:
        place: dict[Tally, int] = {}
        kinds = np.array([place.setdefault(tally, len(place)) for tally in tallies], dtype=np.int64)
        self._rows = as_rows(list(place))
        # What is drawn no times counts nothing, but 0 · ∞ is no number.
        is_counted = 2 * len(place) <= len(tallies) and bool(np.isfinite(self._rows).all())
        self._kinds = kinds if is_counted else None
        if not is_counted:
            self._rows = as_rows(tallies)

    def all(self) -> list[float]:
        """The sums over every example once."""
        if self._kinds is None:
            return list(self._rows.sum(0).tolist())
        counts = np.bincount(self._kinds, minlength=len(self._rows))
        return list((counts @ self._rows).tolist())

    def of(self, drawn: Int[np.ndarray, "draws examples"]) -> list[list[float]]:
        """The sums over the examples of each draw."""
        if self._kinds is None:
            return [self._rows[which].sum(0).tolist() for which in drawn]
        kinds, size = self._kinds[drawn], len(self._rows)
        # All draws are counted at once: the kinds of each have numbers of their own.
        apart = kinds + size * np.arange(len(drawn))[:, None]
        counts = np.bincount(apart.ravel(), minlength=size * len(drawn)).reshape(-1, size)
        return list((counts @ self._rows).tolist())


def measure(
    tallies: Sequence[Tally], value: Value = share, repeats: int = 1000, seed: int = 1
) -> Measured:
    """The metric, and the middle 95 % of it over examples drawn again with repetition."""
    sums = Sums(tallies)
    draws = [
        value(found)
        for drawn in drawn_again(len(tallies), repeats, seed)
        for found in sums.of(drawn)
    ]
    return Measured(value(sums.all()), *middle(draws))


def drawn_again(
    size: int, repeats: int, seed: int = 1
) -> Iterator[Int[np.ndarray, "draws examples"]]:
    """Which examples are drawn each time, some draws at once."""
    chance = np.random.default_rng(seed)
    at_once = max(1, min(repeats, _AT_ONCE // max(1, size)))
    for begin in range(0, repeats, at_once):
        yield chance.integers(size, size=(min(at_once, repeats - begin), size))


def as_rows(tallies: Sequence[Tally]) -> Float[np.ndarray, "examples sums"]:
    """A row for each example."""
    return np.array(tallies, dtype=np.float64)


def middle(draws: Sequence[float]) -> tuple[float, float]:
    """Where the middle 95 % begin and end."""
    # Between a number and infinity there is nothing to interpolate.
    way: Literal["linear", "nearest"] = "linear" if np.isfinite(draws).all() else "nearest"
    low, high = np.quantile(draws, [0.025, 0.975], method=way)
    return float(low), float(high)
