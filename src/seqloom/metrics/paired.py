"""Paired differences: a randomization test of two models on the same examples, and its interval.

Under the null hypothesis two models are equally good, and which of them gave which answer to an
example is a coin flip. So the test swaps their tallies at random (Fisher, 1935; Yeh, 2000), and
no assumption is made about the metric; the level holds for six examples as for thousands.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from .intervals import (
    MIN_EXAMPLES,
    Z_95,
    MetricValue,
    influence,
    skewed_interval,
    student_t_probability,
)
from .tallies import Tally, TallySums, Value, as_matrix, ratio

LEVEL = 0.05
_EXACT = 20_000  # so many ways to swap are all tried
_SAMPLES = 9_999  # else so many, at random
_MOST_KINDS = 200  # of pairs that differ; beyond, the test is Student's, to which it converges
_AT_ONCE = 1_000  # samples, which bounds their memory
_ENOUGH = 150  # samples that differ as much: then p is far above 5 % (Besag and Clifford, 1991)


@dataclass(frozen=True)
class Difference(MetricValue):
    """The difference of a metric between two models, with its 95 % interval.

    Args:
        differing: How many examples the two were not equally good at.
        examples: How many examples they were compared on.
        p: p-value of the randomization test, adjusted where it is one of several tests.
    """

    differing: int = 0
    examples: int = 0
    p: float = 1.0

    @property
    def is_significant(self) -> bool:
        """Whether the difference is more than chance, by the test and by the interval."""
        return self.p <= LEVEL and not self.low <= 0 <= self.high


def holm(differences: Sequence[Difference]) -> list[Difference]:
    """Holm's correction: the differences with p-values adjusted for their number (Holm, 1979).

    p₍ₖ₎* = max over j ≤ k of min(1, (m - j + 1) p₍ⱼ₎): any of m true hypotheses is rejected at 5 %
    in at most 5 % of cases.
    """
    order = sorted(range(len(differences)), key=lambda index: differences[index].p)
    adjusted, least = list(differences), 0.0
    for place, index in enumerate(order):
        least = max(least, min(1.0, (len(order) - place) * differences[index].p))
        adjusted[index] = replace(differences[index], p=least)
    return adjusted


def visible_difference(examples: int) -> float:
    """The smallest difference of two shares that is more than chance on so many examples.

    z √(q / n), where the models disagree on a fifth of the examples (q), as good ones often do.
    """
    return Z_95 * math.sqrt(0.2 / max(1, examples))


def paired_difference(
    first: Sequence[Tally], second: Sequence[Tally], value: Value = ratio
) -> Difference:
    """The second's metric minus the first's, with an interval and a randomization test.

    d = v(Σᵢ bᵢ) - v(Σᵢ aᵢ)       a, b: tallies;  v: the metric, a function of their sums

    The interval is that of `skewed_interval` for the differences of influences; of decisions that
    are right or wrong it is that of Agresti and Min (2005). It holds 0 where the test says that the
    difference may be chance. Hard examples are hard for both, so it is narrower than the two
    intervals suggest.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"expected the same examples, not {len(first)} and {len(second)}")
    apart = _difference(value(TallySums(first).all()), value(TallySums(second).all()))
    pairs = [pair for pair in zip(first, second, strict=True) if any(pair[0]) or any(pair[1])]
    swaps = Counter(pair for pair in pairs if pair[0] != pair[1])
    if math.isfinite(apart) and np.isfinite(as_matrix(first)).all():
        p = _randomization_p(pairs, swaps, value)
        low, high = _interval(pairs, value, apart)
    else:
        p, low, high = _infinite_p(swaps, apart), math.nan, math.nan
    if p > LEVEL:
        low, high = min(low, 0.0), max(high, 0.0)  # a missing end stays one
    return Difference(apart, low, high, sum(swaps.values()), len(pairs), p)


def _difference(first: float, second: float) -> float:
    """The second minus the first; two infinite values are equal."""
    return 0.0 if first == second else second - first


Pairs = Sequence[tuple[Tally, Tally]]


def _interval(pairs: Pairs, value: Value, apart: float) -> tuple[float, float]:
    if len(pairs) < MIN_EXAMPLES:
        return math.nan, math.nan
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    if value is ratio and _are_decisions(first) and _are_decisions(second):
        gained, lost = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
        return _decisions_interval(gained, lost, len(pairs))
    return skewed_interval(influence(second, value) - influence(first, value), apart)


def _are_decisions(tallies: Sequence[Tally]) -> bool:
    """Whether every example is one decision, right or wrong."""
    return all(top in {0.0, 1.0} and bottom == 1.0 for top, bottom in tallies)


def _decisions_interval(gained: int, lost: int, size: int) -> tuple[float, float]:
    """Of paired proportions: Wald's interval with half a pair more in each cell (Agresti & Min).

    d* = (b - c) / (n + 2)     variance: ((b + c + 1) / (n + 2) - d*²) / (n + 2)
    """
    apart = (gained - lost) / (size + 2)
    reach = Z_95 * math.sqrt(((gained + lost + 1) / (size + 2) - apart**2) / (size + 2))
    return apart - reach, apart + reach


def _randomization_p(pairs: Pairs, swaps: Counter[tuple[Tally, Tally]], value: Value) -> float:
    """How often swapped models differ at least as much, by all swaps or by a sample of them."""
    if not swaps:
        return 1.0
    if len(swaps) > _MOST_KINDS:
        return _student_p(pairs, value)
    counts = np.array([*swaps.values()])
    before, after = (as_matrix([pair[side] for pair in swaps]) for side in (0, 1))
    sums = [np.array(TallySums([pair[side] for pair in pairs]).all()) for side in (0, 1)]
    change = after - before
    observed = abs(_difference(value(sums[0].tolist()), value(sums[1].tolist())))
    limit = observed * (1 - 1e-9) - 1e-15  # sums are rounded
    is_exact = _num_swaps(counts) <= _EXACT
    hits, total = (0.0, 0.0) if is_exact else (1.0, 1.0)  # what was seen is one of the samples
    for swapped, weights in _all_swaps(counts) if is_exact else _some_swaps(counts):
        moved = swapped @ change
        far = np.abs(_values(sums[1] - moved, value) - _values(sums[0] + moved, value)) >= limit
        hits, total = hits + float(weights[far].sum()), total + float(weights.sum())
        if not is_exact and hits >= _ENOUGH:
            break
    return min(1.0, hits / total)


def _values(rows: Float[np.ndarray, "samples sums"], value: Value) -> Float[np.ndarray, " samples"]:
    if value is ratio:
        return np.asarray(rows[:, 0] / np.maximum(rows[:, 1], 1e-12))
    return np.array([value(row) for row in rows.tolist()])


def _num_swaps(counts: Int[np.ndarray, " kinds"]) -> float:
    return math.exp(min(float(np.log(counts + 1).sum()), 700.0))


Swaps = Iterator[tuple[Float[np.ndarray, "samples kinds"], Float[np.ndarray, " samples"]]]


def _all_swaps(counts: Int[np.ndarray, " kinds"]) -> Swaps:
    """How many pairs of each kind are swapped, every possible way, with its probability."""
    grids = np.meshgrid(*(np.arange(count + 1) for count in counts), indexing="ij")
    ways = np.stack([grid.ravel() for grid in grids], axis=1)
    logs = np.zeros(len(ways))
    for column, count in enumerate(counts.tolist()):
        each = [
            math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
            for k in range(count + 1)
        ]
        logs += (np.array(each) - count * math.log(2))[ways[:, column]]
    yield ways.astype(np.float64), np.exp(logs)


def _some_swaps(counts: Int[np.ndarray, " kinds"]) -> Swaps:
    rng = np.random.default_rng(1)
    for begin in range(0, _SAMPLES, _AT_ONCE):
        size = min(_AT_ONCE, _SAMPLES - begin)
        shape = size, len(counts)
        coins = (
            rng.integers(2, size=shape) if counts.max() == 1 else rng.binomial(counts, 0.5, shape)
        )
        yield coins.astype(np.float64), np.ones(size)


def _student_p(pairs: Pairs, value: Value) -> float:
    """Student's paired t-test of the influences on the metric."""
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    each = influence(second, value) - influence(first, value)
    apart = value(TallySums(second).all()) - value(TallySums(first).all())
    error = float(each.std(ddof=1)) / math.sqrt(len(each))
    return 1 - student_t_probability(abs(apart) / max(error, 1e-300), len(each) - 1)


def _infinite_p(swaps: Counter[tuple[Tally, Tally]], apart: float) -> float:
    """The sign test of examples where only one of the two is infinite; equal if both are."""
    count = sum(
        number
        for (before, after), number in swaps.items()
        if all(map(math.isfinite, before)) != all(map(math.isfinite, after))
    )
    return min(1.0, 2.0 ** (1 - count)) if apart else 1.0
