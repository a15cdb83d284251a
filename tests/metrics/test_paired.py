"""How far two models differ on the same examples, against its definition."""

import math

import numpy as np
import pytest

from seqloom.metrics import Ratio
from seqloom.metrics.paired import difference
from seqloom.metrics.tally import share


def ratios(tops):
    return [Ratio(float(top), 2.0) for top in tops]


def test_what_is_added_to_every_example_is_found_without_doubt():
    tops = np.random.default_rng(1).normal(10, 5, 200)
    found = difference(ratios(tops), ratios(tops + 1))
    assert [found.value, found.low, found.high] == pytest.approx([0.5] * 3)
    assert difference(ratios(tops + 1), ratios(tops)).value == pytest.approx(-0.5)


def test_the_interval_is_that_of_the_mean_of_differences():
    chance = np.random.default_rng(2)
    first, apart = chance.normal(10, 5, 400), chance.normal(0.2, 1, 400)
    found = difference(ratios(first), ratios(first + apart), repeats=4000)
    middle, reach = apart.mean() / 2, 1.96 * apart.std() / 2 / math.sqrt(400)
    assert found.value == pytest.approx(middle)
    assert found.low == pytest.approx(middle - reach, abs=0.005)
    assert found.high == pytest.approx(middle + reach, abs=0.005)


def test_a_metric_may_be_bent():
    found = difference(ratios([0.0]), ratios([2.0]), lambda sums: math.exp(share(sums)))
    assert found.value == pytest.approx(math.e - 1)


def test_what_is_without_bound():
    finite, never = ratios([1.0, 2.0]), ratios([1.0, math.inf])
    assert difference(finite, never).value == math.inf
    assert difference(never, never) == difference(finite, finite)
