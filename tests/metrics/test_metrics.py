"""Metrics against brute force and known values."""

import math
import random
from functools import cache

import pytest

from seqloom.metrics import METRICS, Ratio, value_of
from seqloom.metrics.edit_distance import edit_distance, token_error_rate


def slow_distance(guess, right):
    """The recursion itself."""

    @cache
    def d(i, j):
        if not i or not j:
            return i + j
        same = guess[i - 1] == right[j - 1]
        return min(d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + (not same))

    return d(len(guess), len(right))


@pytest.mark.parametrize("seed", range(50))
def test_edit_distance(seed):
    chance = random.Random(seed)
    guess, right = ("".join(chance.choices("abc", k=chance.randint(0, 8))) for _ in range(2))
    assert edit_distance(guess, right) == slow_distance(guess, right) == edit_distance(right, guess)


def test_known_distances():
    assert edit_distance("kitten", "sitting") == 3
    assert edit_distance([], ["a", "b"]) == 2


def test_the_nearest_reference_counts():
    assert token_error_rate("abc", ["xyz", "abd"]) == Ratio(1, 3)
    assert token_error_rate("abc", ["abc", "x"]) == Ratio(0, 3)


def test_a_metric_is_a_ratio_of_sums():
    assert value_of("accuracy", [Ratio(1, 1), Ratio(1, 3)]) == 0.5
    assert value_of("perplexity", [Ratio(math.log(8), 1)]) == pytest.approx(8)
    assert math.isfinite(value_of("perplexity", [Ratio(1e6, 1)]))
    assert math.isfinite(METRICS["perplexity"].measure([Ratio(1e6, 1)]).value)
