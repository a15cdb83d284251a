"""Confidence intervals: Wilson's, Student's t, and Student's t corrected for skewness.

Shares have Wilson's interval (`wilson_interval`), means over runs Student's (`mean_with_interval`),
and metrics in general a skewness-corrected Student interval of the jackknife's pseudo-values
(`measure`). `benchmarks/intervals.py` simulates how often they hold the truth.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float

from .tallies import Tally, TallySums, Value, as_matrix, ratio


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


@lru_cache(maxsize=4096)
def student_t_quantile(freedom: int, probability: float = 0.95) -> float:
    """The t for which Student's t distribution has this probability between -t and t.

    Beyond a thousand degrees of freedom it is that of a thousand, 0.1 % more than the normal one.
    """
    freedom = min(freedom, 1000)
    # Bisection in θ of t = √n tan θ, which is bounded where t is not; no SciPy is needed for it.
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        angle = (low + high) / 2
        low, high = (
            (angle, high) if _central_probability(angle, freedom) < probability else (low, angle)
        )
    return math.sqrt(freedom) * math.tan(low)


def student_t_probability(t: float, freedom: int) -> float:
    """The probability of Student's t distribution between -t and t."""
    freedom = min(freedom, 1000)
    return _central_probability(math.atan(t / math.sqrt(freedom)), freedom)


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


# Below six examples no interval of real numbers holds the truth as often as it says, unless they
# are normally distributed; see `benchmarks/intervals.py`. Nor can a paired test reach 5 %.
MIN_EXAMPLES = 6


@dataclass(frozen=True)
class MetricValue:
    """The value of a metric with its 95 % confidence interval over examples.

    The ends are not numbers where there is no interval: examples are too few, or all alike.
    """

    value: float
    low: float
    high: float

    @property
    def has_interval(self) -> bool:
        """Whether the examples are enough for an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def without_interval(self) -> str:
        """What is said in place of an interval, behind a value that is finite."""
        return " (too few to say)" if math.isfinite(self.value) else ""


def measure(
    tallies: Sequence[Tally],
    value: Value = ratio,
    is_share: bool = False,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    needed: int = MIN_EXAMPLES,
) -> MetricValue:
    """A metric with its 95 % interval over examples.

    Shares of independent units, each right or wrong, have Wilson's interval, and so have shares of
    which few examples tell anything, with an effective number of units. All others have a
    skewness-corrected Student interval of the jackknife's pseudo-values (`skewed_interval`).

    Args:
        tallies: One for each example; those that are all zero say nothing and are not counted.
        value: The metric, from sums of tallies.
        is_share: Whether it is a share of what is counted in examples.
        bounds: The least and the largest value that it can have.
        needed: How many examples an interval needs, unless it is a share.
    """
    whole = value(TallySums(tallies).all())
    known = [tally for tally in tallies if any(tally)]
    if is_share and value is ratio and known and _is_counted(as_matrix(known)):
        low, high = _share_interval(as_matrix(known))
    elif len(known) < needed or not math.isfinite(whole):
        low, high = math.nan, math.nan
    else:
        low, high = skewed_interval(influence(known, value), whole)
        low, high = max(low, bounds[0]), min(high, bounds[1])  # a missing end stays one
    return MetricValue(whole, low, high)


def influence(tallies: Sequence[Tally], value: Value) -> Float[np.ndarray, " examples"]:
    """How much each example adds to a metric: (n - 1) (v - v₋ᵢ), by the jackknife (Tukey, 1958).

    v₋ᵢ is the metric without example i. Of a mean it is xᵢ - x̄, so a metric behaves like the mean
    of n independent values with this spread.
    """
    sums = TallySums(tallies)
    with np.errstate(invalid="ignore"):  # infinite ones
        each: Float[np.ndarray, " examples"] = value(sums.all()) - sums.without_each(value)
    return (len(tallies) - 1) * each


def skewed_interval(values: Float[np.ndarray, " examples"], centre: float) -> tuple[float, float]:
    """The 95 % interval of a mean by Student's t, corrected for skewness (Hall, 1992).

    g(x) = x + a x²/3 + a² x³/27 + a/6n     a: skewness;  x: (mean - truth) / s
    centre - s g⁻¹(±t(n - 1) / √n)

    Errors are skewed: many small ones and few large ones. Student's interval of ten exponential
    values holds their mean in 90 % of cases, this one in 95 %. Each end is the further one of both
    intervals, and the skewness of a few values is too small by about 1 + 2/n. Not numbers if all
    values are alike.
    """
    size, deviation = len(values), float(values.std(ddof=1))
    if not math.isfinite(deviation) or deviation <= 1e-12 * max(1e-300, abs(centre)):
        return math.nan, math.nan
    central = values - values.mean()
    biased = float((central**3).mean() / (central**2).mean() ** 1.5)
    skewness = biased * math.sqrt(size * (size - 1)) / (size - 2) * (1 + 2 / size)
    reach = student_t_quantile(size - 1) / math.sqrt(size)
    above = max(reach, _undo_skewness(reach, skewness, size))
    below = min(-reach, _undo_skewness(-reach, skewness, size))
    return centre - deviation * above, centre - deviation * below


def _undo_skewness(end: float, skewness: float, size: int) -> float:
    if abs(skewness) < 1e-6:
        return end
    inner = 1 + skewness * (end - skewness / (6 * size))
    return 3 / skewness * (math.copysign(abs(inner) ** (1 / 3), inner) - 1)


def _is_counted(rows: Float[np.ndarray, "examples 2"]) -> bool:
    """Whether all are shares, and too few of them tell anything but all or nothing."""
    top, bottom = rows.T
    if not ((top >= 0) & (top <= bottom)).all():
        return False
    telling = min(int((top > 0).sum()), int((top < bottom).sum()))
    return _is_whole(rows) or telling < MIN_EXAMPLES


def _share_interval(rows: Float[np.ndarray, "examples 2"]) -> tuple[float, float]:
    """Wilson's interval of a share with an effective number of units (Korn and Graubard, 1998).

    n* = p (1 - p) / variance of p, at most the number of units, by Student's t where examples have
    several units each. Where all or none are right the units of an example may all depend on each
    other: then examples are counted.
    """
    (top, bottom), size = rows.sum(0), len(rows)
    share, is_whole = float(top / bottom), _is_whole(rows)
    if size < 2 or not 0 < share < 1 or (is_whole and np.ptp(rows[:, 1]) == 0):
        return _wilson(share, size, Z_95)
    spread = float(influence([*map(tuple, rows.tolist())], ratio).var(ddof=1)) / size
    units = min(float(bottom), share * (1 - share) / max(spread, 1e-300))
    return _wilson(share, units, Z_95 if is_whole else student_t_quantile(size - 1))


def _is_whole(rows: Float[np.ndarray, "examples 2"]) -> bool:
    """Whether each example is all right or all wrong."""
    return bool(((rows[:, 0] == 0) | (rows[:, 0] == rows[:, 1])).all())


Z_95 = 1.959963984540054  # P(-z < Z < z) = 0.95 for a standard normal Z


def wilson_interval(count: int, size: int) -> MetricValue:
    """A proportion with its 95 % score interval (Wilson, 1927), which is valid for small samples.

    (p + z²/2n ± z √(p (1 - p)/n + z²/4n²)) / (1 + z²/n)
    """
    return MetricValue(count / size, *_wilson(count / size, size, Z_95))


def _wilson(p: float, size: float, z: float) -> tuple[float, float]:
    square = z**2 / size
    reach = z * math.sqrt(p * (1 - p) / size + square / (4 * size))
    low, high = (p + square / 2 + sign * reach for sign in (-1, 1))
    return (low / (1 + square) if p > 0 else 0.0), (high / (1 + square) if p < 1 else 1.0)
