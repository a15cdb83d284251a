"""Paired differences: the randomization test against all swaps, Holm's correction, false positives."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from seqloom.metrics import METRICS, Ratio
from seqloom.metrics.labels import label_counts
from seqloom.metrics.paired import Difference, holm, paired_difference, visible_difference
from seqloom.metrics.tallies import ratio


def ratios(tops, bottom=1.0):
    return [Ratio(float(top), bottom) for top in tops]


def f_score(sums):
    hits, guessed, right = sums
    return 2 * hits / max(1e-12, guessed + right)


def all_swaps(first, second, value):
    """The share of all 2ⁿ ways to swap that differ at least as much."""
    first, second = np.array(first, dtype=float), np.array(second, dtype=float)

    def apart(one, other):
        return abs(value(other.sum(0).tolist()) - value(one.sum(0).tolist()))

    seen, count = apart(first, second) - 1e-12, 0
    for coins in itertools.product([False, True], repeat=len(first)):
        swap = np.array(coins)[:, None]
        count += apart(np.where(swap, second, first), np.where(swap, first, second)) >= seen
    return count / 2 ** len(first)


@pytest.mark.parametrize("seed", range(6))
def test_against_all_swaps(seed):
    chance = np.random.default_rng(seed)
    first, second = chance.integers(0, 4, (2, 8, 3)).astype(float)
    found = paired_difference([*map(tuple, first)], [*map(tuple, second)], f_score)
    assert found.value == pytest.approx(f_score(second.sum(0)) - f_score(first.sum(0)))
    assert found.p == pytest.approx(all_swaps(first, second, f_score))


def test_of_right_and_wrong_it_is_mcnemars_exact_test():
    """b examples gained and c lost: the sign test of b of b + c."""
    for gained, lost, both in ((9, 1, 30), (3, 3, 0), (30, 14, 200), (6, 0, 2)):
        first = ratios([0] * gained + [1] * lost + [1] * both)
        second = ratios([1] * gained + [0] * lost + [1] * both)
        found = paired_difference(first, second)
        assert found.p == pytest.approx(stats.binomtest(gained, gained + lost).pvalue)
        assert found.differing == gained + lost and found.examples == gained + lost + both


def test_of_many_kinds_it_agrees_with_the_t_test():
    chance = np.random.default_rng(7)
    for size, shift in ((60, 0.25), (500, 0.08)):
        first = chance.normal(10, 5, size)
        second = first + chance.normal(shift, 1, size)
        found = paired_difference(ratios(first), ratios(second))
        assert found.p == pytest.approx(stats.ttest_rel(first, second).pvalue, rel=0.15, abs=0.003)


def test_the_interval_is_that_of_the_mean_of_differences():
    chance = np.random.default_rng(2)
    first, apart = chance.normal(10, 5, 400), chance.normal(0.2, 1, 400)
    found = paired_difference(ratios(first, 2.0), ratios(first + apart, 2.0))
    middle, reach = apart.mean() / 2, 1.96 * apart.std() / 2 / math.sqrt(400)
    assert found.value == pytest.approx(middle)
    assert found.low == pytest.approx(middle - reach, abs=0.005)
    assert found.high == pytest.approx(middle + reach, abs=0.005)


def test_what_is_added_to_every_example_is_found_without_doubt():
    tops = np.random.default_rng(1).normal(10, 5, 200)
    found = paired_difference(ratios(tops, 2.0), ratios(tops + 1, 2.0))
    assert found.value == pytest.approx(0.5) and found.is_significant


def test_a_metric_may_be_bent():
    found = paired_difference(ratios([0.0], 2.0), ratios([2.0], 2.0), lambda s: math.exp(ratio(s)))
    assert found.value == pytest.approx(math.e - 1)


def test_what_is_without_bound():
    finite, never = ratios([1.0] * 9), ratios([1.0] * 3 + [math.inf] * 6)
    found = paired_difference(finite, never)
    assert found.value == math.inf and found.p == pytest.approx(2 / 2**6) and found.is_significant
    once = paired_difference(finite, ratios([1.0] * 8 + [math.inf]))
    assert once.value == math.inf and not once.is_significant
    assert paired_difference(never, never).value == 0 and paired_difference(never, never).p == 1


def test_five_examples_are_never_certain():
    """All five that differ may favour one side by chance in 2 of 2⁵ cases, six in 2 of 2⁶."""
    for count, is_sure in ((1, False), (5, False), (6, True)):
        found = paired_difference(ratios([1.0] * count), ratios([0.0] * count))
        assert found.is_significant is is_sure
        assert math.isnan(found.low) is not is_sure
        among_many = paired_difference(
            ratios([1.0] * 300), ratios([0.0] * count + [1.0] * (300 - count))
        )
        assert among_many.is_significant is is_sure
        assert (among_many.high >= 0) is not is_sure, "the interval and the test agree"


def test_examples_must_be_the_same():
    with pytest.raises(ValueError, match="the same examples"):
        paired_difference(ratios([1]), ratios([1, 2]))


def test_holm_by_hand():
    given = [0.01, 0.04, 0.03, 0.005]
    found = holm([Difference(1.0, 0.5, 1.5, 9, 9, p) for p in given])
    assert [one.p for one in found] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [one.is_significant for one in found] == [True, False, False, True]
    assert holm([]) == []


def exponential(chance, size):
    return ratios(chance.exponential(1, size))


def labels(chance, size):
    right, guessed = chance.integers(4, size=(2, size))
    return [label_counts(((int(a), int(b)),), 4) for a, b in zip(right, guessed, strict=True)]


@pytest.mark.parametrize("metric, draw, size", [
    ("mae", exponential, 6),
    ("mae", exponential, 15),
    ("accuracy", lambda c, n: ratios((c.random(n) < 0.7).astype(float)), 15),
    ("macro_f1", labels, 10),
])  # fmt: skip
def test_equal_models_are_told_apart_in_at_most_five_percent(metric, draw, size):
    chance, count = np.random.default_rng(size), 240
    seen = sum(
        METRICS[metric].difference(draw(chance, size), draw(chance, size)).is_significant
        for _ in range(count)
    )
    assert seen <= stats.binom.ppf(0.995, count, 0.05)


def test_a_difference_that_is_there_is_found():
    chance = np.random.default_rng(1)
    for size in (20, 300):
        first = chance.normal(0, 1, size)
        found = paired_difference(ratios(first), ratios(first + chance.normal(1, 1, size)))
        assert found.is_significant and found.low > 0


def test_a_visible_difference_is_about_significant():
    """Of models that disagree on a fifth of the examples."""
    for size in (100, 1000, 10_000):
        apart = visible_difference(size)
        found = []
        for factor in (0.8, 1.3):
            gained = round(size * (0.2 + factor * apart) / 2)
            lost = round(size * (0.2 - factor * apart) / 2)
            same = size - gained - lost
            first, second = (
                [0] * gained + [1] * (lost + same),
                [1] * gained + [0] * lost + [1] * same,
            )
            found.append(paired_difference(ratios(first), ratios(second)).is_significant)
        assert found == [False, True]
