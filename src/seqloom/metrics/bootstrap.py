"""Confidence intervals and significance: bootstrap, paired bootstrap, Student's t, Wilson.

A metric is a function of sums of tallies, the sufficient statistics of its examples. So a bootstrap
sample needs only sums (`measure`), and two models are compared on the same samples
(`paired_difference`). Means over runs have Student's t intervals (`mean_with_interval`), and
proportions Wilson's (`wilson_interval`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True)
class Mean:
    """The mean of several runs, its 95 % confidence interval, and their standard deviation.

    Of one value there is no interval.
    """

    value: float
    low: float
    high: float
    deviation: float


def mean_with_interval(values: Sequence[float], test_train_ratio: float = 0.0) -> Mean:
    """The mean of runs with its 95 % confidence interval, by Student's t distribution.

    m ± t(n - 1) s √(1/n + r)        s² = Σ (v - m)² / (n - 1)

    r is the size of the test part over that of the training part, where runs were trained on
    overlapping parts of one file, as in cross-validation: folds are not independent, and without r
    repeating them would narrow the interval without end (Nadeau and Bengio, 2003). Where only
    random seeds differ it is 0, and the interval is about seeds alone.
    """
    array, size = np.array(values, dtype=np.float64), len(values)
    mean = float(array.mean())
    if size < 2 or not np.isfinite(array).all():
        return Mean(mean, math.nan, math.nan, math.nan)
    deviation = float(array.std(ddof=1))
    reach = student_t_quantile(size - 1) * deviation * math.sqrt(1 / size + test_train_ratio)
    return Mean(mean, mean - reach, mean + reach, deviation)


def student_t_quantile(freedom: int, probability: float = 0.95) -> float:
    """The t for which Student's t distribution has this probability between -t and t."""
    # Bisection in θ of t = √n tan θ, which is bounded where t is not; no SciPy is needed for it.
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        angle = (low + high) / 2
        low, high = (
            (angle, high) if _central_probability(angle, freedom) < probability else (low, angle)
        )
    return math.sqrt(freedom) * math.tan(low)


def _central_probability(angle: float, freedom: int) -> float:
    """The probability of Student's t distribution between -t and t, where t = √n tan θ.

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


Tally = tuple[float, ...]  # sufficient statistics: what one example adds to the sums of a metric
Value = Callable[[Sequence[float]], float]  # the metric, from the sums over examples
_INDICES_AT_ONCE = 1_000_000  # of bootstrap samples, which bounds their memory


class Ratio(NamedTuple):
    """The tally of most metrics: what one example adds to numerator and denominator."""

    top: float
    bottom: float


@dataclass(frozen=True)
class MetricValue:
    """The value of a metric with its 95 % bootstrap confidence interval over examples."""

    value: float
    low: float
    high: float


def ratio(sums: Sequence[float]) -> float:
    """The value of most metrics: a ratio of two sums."""
    top, bottom = sums
    return top / max(bottom, 1e-12)


class TallySums:
    """Sums of tallies over all examples, or over bootstrap samples of them.

    Where many examples have equal tallies, these are counted and the distinct ones multiplied by
    their counts: of labels there are few distinct tallies, and each has as many columns as labels.
    """

    def __init__(self, tallies: Sequence[Tally]) -> None:
        index: dict[Tally, int] = {}
        kinds = np.array([index.setdefault(tally, len(index)) for tally in tallies], dtype=np.int64)
        self._rows = as_matrix(list(index))
        # Counting would be wrong with infinite tallies: a count of 0 times ∞ is not a number.
        is_counted = 2 * len(index) <= len(tallies) and bool(np.isfinite(self._rows).all())
        self._kinds = kinds if is_counted else None
        if not is_counted:
            self._rows = as_matrix(tallies)

    def all(self) -> list[float]:
        """The sums over every example once."""
        if self._kinds is None:
            return list(self._rows.sum(0).tolist())
        counts = np.bincount(self._kinds, minlength=len(self._rows))
        return list((counts @ self._rows).tolist())

    def of(self, samples: Int[np.ndarray, "samples examples"]) -> list[list[float]]:
        """The sums over the examples of each bootstrap sample."""
        if self._kinds is None:
            return [self._rows[indices].sum(0).tolist() for indices in samples]
        kinds, size = self._kinds[samples], len(self._rows)
        # One bincount for all samples: the kinds of each sample get numbers of their own.
        offset = kinds + size * np.arange(len(samples))[:, None]
        counts = np.bincount(offset.ravel(), minlength=size * len(samples)).reshape(-1, size)
        return list((counts @ self._rows).tolist())


def measure(
    tallies: Sequence[Tally], value: Value = ratio, repeats: int = 1000, seed: int = 1
) -> MetricValue:
    """A metric with its 95 % interval by the percentile bootstrap over examples (Efron, 1979)."""
    sums = TallySums(tallies)
    values = [
        value(sample)
        for samples in bootstrap_samples(len(tallies), repeats, seed)
        for sample in sums.of(samples)
    ]
    return MetricValue(value(sums.all()), *percentile_interval(values))


def bootstrap_samples(
    size: int, repeats: int, seed: int = 1
) -> Iterator[Int[np.ndarray, "samples examples"]]:
    """Indices of examples sampled with replacement, a batch of bootstrap samples at a time."""
    rng = np.random.default_rng(seed)
    at_once = max(1, min(repeats, _INDICES_AT_ONCE // max(1, size)))
    for begin in range(0, repeats, at_once):
        yield rng.integers(size, size=(min(at_once, repeats - begin), size))


def as_matrix(tallies: Sequence[Tally]) -> Float[np.ndarray, "examples sums"]:
    """A row for each example."""
    return np.array(tallies, dtype=np.float64)


def percentile_interval(values: Sequence[float]) -> tuple[float, float]:
    """The central 95 % of bootstrap values."""
    # Interpolating between a finite value and infinity would give not a number.
    method: Literal["linear", "nearest"] = "linear" if np.isfinite(values).all() else "nearest"
    low, high = np.quantile(values, [0.025, 0.975], method=method)
    return float(low), float(high)


# Five examples that differ all favour one side by chance in 2 of 2⁵ cases, which is over 5 %.
MIN_DIFFERING = 6


@dataclass(frozen=True)
class Difference(MetricValue):
    """The difference of a metric between two models, with its 95 % interval.

    Args:
        differing: how many examples the two were not equally good at.
    """

    differing: int = 0

    @property
    def is_significant(self) -> bool:
        """Whether 0 lies outside the interval, and enough examples differ to trust that."""
        return self.differing >= MIN_DIFFERING and not self.low <= 0 <= self.high


def paired_difference(
    first: Sequence[Tally], second: Sequence[Tally], value: Value = ratio, repeats: int = 1000
) -> Difference:
    """Paired bootstrap resampling: the second's metric minus the first's on the same samples.

    d = v(Σᵢ bᵢ) - v(Σᵢ aᵢ)       a, b: tallies;  v: the metric, a function of their sums

    The interval is the central 95 % of d over bootstrap samples of the examples, the same for both
    (Efron, 1979; Koehn, 2004). Hard examples are hard for both, so this is narrower than the two
    intervals suggest.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"expected the same examples, not {len(first)} and {len(second)}")
    one, other = TallySums(first), TallySums(second)
    values = [
        _difference(value(before), value(after))
        for samples in bootstrap_samples(len(first), repeats)
        for before, after in zip(one.of(samples), other.of(samples), strict=True)
    ]
    differing = sum(before != after for before, after in zip(first, second, strict=True))
    whole = _difference(value(one.all()), value(other.all()))
    return Difference(whole, *percentile_interval(values), differing)


def _difference(first: float, second: float) -> float:
    """The second minus the first; two infinite values are equal."""
    return 0.0 if first == second else second - first


Z_95 = 1.959963984540054  # P(-z < Z < z) = 0.95 for a standard normal Z


def wilson_interval(count: int, size: int) -> MetricValue:
    """A proportion with its 95 % score interval (Wilson, 1927), which is valid for small samples.

    (p + z²/2n ± z √(p (1 - p)/n + z²/4n²)) / (1 + z²/n)
    """
    p, square = count / size, Z_95**2 / size
    reach = Z_95 * math.sqrt(p * (1 - p) / size + square / (4 * size))
    low, high = (p + square / 2 + sign * reach for sign in (-1, 1))
    return MetricValue(p, max(0.0, low / (1 + square)), min(1.0, high / (1 + square)))
