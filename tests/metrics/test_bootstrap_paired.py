"""Paired bootstrap resampling, against its definition."""

import itertools
import math

import numpy as np
import pytest

from seqloom.metrics import Ratio
from seqloom.metrics.bootstrap import paired_difference, ratio


def ratios(tops):
    return [Ratio(float(top), 2.0) for top in tops]


def test_what_is_added_to_every_example_is_found_without_doubt():
    tops = np.random.default_rng(1).normal(10, 5, 200)
    found = paired_difference(ratios(tops), ratios(tops + 1))
    assert [found.value, found.low, found.high] == pytest.approx([0.5] * 3)
    assert paired_difference(ratios(tops + 1), ratios(tops)).value == pytest.approx(-0.5)


def test_the_interval_is_that_of_the_mean_of_differences():
    chance = np.random.default_rng(2)
    first, apart = chance.normal(10, 5, 400), chance.normal(0.2, 1, 400)
    found = paired_difference(ratios(first), ratios(first + apart), repeats=4000)
    middle, reach = apart.mean() / 2, 1.96 * apart.std() / 2 / math.sqrt(400)
    assert found.value == pytest.approx(middle)
    assert found.low == pytest.approx(middle - reach, abs=0.005)
    assert found.high == pytest.approx(middle + reach, abs=0.005)


def test_a_metric_may_be_bent():
    found = paired_difference(ratios([0.0]), ratios([2.0]), lambda sums: math.exp(ratio(sums)))
    assert found.value == pytest.approx(math.e - 1)


def test_what_is_without_bound():
    finite, never = ratios([1.0, 2.0]), ratios([1.0, math.inf])
    assert paired_difference(finite, never).value == math.inf
    assert paired_difference(never, never) == paired_difference(finite, finite)


def f_score(sums):
    hits, guessed, right = sums
    return 2 * hits / max(1e-12, guessed + right)


@pytest.mark.parametrize("seed", range(3))
def test_against_all_samples_of_few_examples(seed):
    """Four examples have 4⁴ samples: the interval is near the middle 95 % of them all."""
    chance = np.random.default_rng(seed)
    first, second = chance.integers(0, 5, (2, 4, 3)).astype(float)
    apart = [
        f_score(second[list(which)].sum(0)) - f_score(first[list(which)].sum(0))
        for which in itertools.product(range(4), repeat=4)
    ]
    found = paired_difference([*map(tuple, first)], [*map(tuple, second)], f_score, repeats=3000)
    low, high = np.quantile(apart, [0.025, 0.975])
    assert found.value == pytest.approx(f_score(second.sum(0)) - f_score(first.sum(0)))
    assert found.low == pytest.approx(low, abs=0.05)
    assert found.high == pytest.approx(high, abs=0.05)


def test_a_difference_that_is_not_there_is_seldom_found():
    """Of models that are equally good, one in twenty pairs seems to differ; 15 of 120 hardly ever."""
    chance, seen = np.random.default_rng(5), 0
    for _ in range(120):
        first, second = (ratios(row) for row in chance.random((2, 100)) < 0.7)
        seen += paired_difference(first, second, repeats=100).is_significant
    assert 1 <= seen < 15


def test_a_few_examples_are_never_certain():
    """Drawn again, five of five that differ differ always; a coin does so in 1 of 16 cases."""
    worse = ratios([0] * 5 + [1] * 200)
    assert not paired_difference(worse, ratios([1] * 205)).is_significant
    worse = ratios([0] * 8 + [1] * 200)
    found = paired_difference(worse, ratios([1] * 208))
    assert found.differing == 8 and found.is_significant and found.low > 0


def test_examples_must_be_the_same():
    with pytest.raises(ValueError, match="the same examples"):
        paired_difference(ratios([1]), ratios([1, 2]))
