"""What examples add up to, the metric of the sums, and how far chance could have moved it.

The mean of a metric over several runs, and how far chance could have moved it.

How far two models differ that were asked the same.

The share of things that are so, and how far chance could have moved it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int


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
    one, other = Sums(first), Sums(second)
    draws = [
        _apart(value(before), value(after))
        for drawn in drawn_again(len(first), repeats)
        for before, after in zip(one.of(drawn), other.of(drawn), strict=True)
    ]
    differing = sum(before != after for before, after in zip(first, second, strict=True))
    whole = _apart(value(one.all()), value(other.all()))
    return Difference(whole, *middle(draws), differing)


def _apart(first: float, second: float) -> float:
    """How far the second is above the first; two that are both without bound are equal."""
    return 0.0 if first == second else second - first


NORMAL = 1.959963984540054  # what lies between -z and z of a normal distribution is 95 %


def share_of(count: int, size: int) -> Measured:
    """A share with its 95 % interval (Wilson, 1927), which none of few still has:

    (p + z²/2n ± z √(p (1 - p)/n + z²/4n²)) / (1 + z²/n)
    """
    p, square = count / size, NORMAL**2 / size
    reach = NORMAL * math.sqrt(p * (1 - p) / size + square / (4 * size))
    low, high = (p + square / 2 + sign * reach for sign in (-1, 1))
    return Measured(p, max(0.0, low / (1 + square)), min(1.0, high / (1 + square)))
