"""Student's t and Wilson intervals: against tables, and by their coverage."""

import math

import numpy as np
import pytest

from seqloom.metrics.bootstrap import mean_with_interval, student_t_quantile, wilson_interval


@pytest.mark.parametrize("freedom, share, t", [  # from printed tables of Student's t
    (1, 0.95, 12.7062), (2, 0.95, 4.3027), (3, 0.95, 3.1824), (4, 0.95, 2.7764),
    (9, 0.95, 2.2622), (10, 0.95, 2.2281), (29, 0.95, 2.0452), (120, 0.95, 1.9799),
    (4, 0.99, 4.6041), (7, 0.9, 1.8946),
])  # fmt: skip
def test_students_t(freedom, share, t):
    assert student_t_quantile(freedom, share) == pytest.approx(t, abs=5e-5)


def test_the_mean_and_its_interval_by_hand():
    found = mean_with_interval([0.7, 0.8, 0.9])
    assert found.value == pytest.approx(0.8) and found.deviation == pytest.approx(0.1)
    assert found.high - 0.8 == pytest.approx(4.30265 * 0.1 / math.sqrt(3), rel=1e-5)
    assert 0.8 - found.low == pytest.approx(found.high - 0.8)
    wider = mean_with_interval([0.7, 0.8, 0.9], 0.5)
    assert wider.high - 0.8 == pytest.approx(4.30265 * 0.1 * math.sqrt(1 / 3 + 1 / 2), rel=1e-5)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    chance, held = np.random.default_rng(0), 0
    for _ in range(600):
        found = mean_with_interval(chance.normal(3, 2, 5).tolist())
        held += found.low <= 3 <= found.high
    assert held / 600 == pytest.approx(0.95, abs=0.025)


def test_repeating_folds_does_not_narrow_the_interval_without_end():
    values = np.random.default_rng(1).normal(0.8, 0.05, 500).tolist()
    found = mean_with_interval(values, 1 / 4)
    assert found.high - found.low > 2 * 1.96 * found.deviation * math.sqrt(1 / 4)


def test_of_one_run_or_one_without_bound_there_is_no_interval():
    for values in ([0.5], [1.0, math.inf]):
        found = mean_with_interval(values)
        assert found.value == np.mean(values) and math.isnan(found.low)


def test_shares():
    """Wilson's interval: where the share is z standard errors from its ends, those of the ends."""
    for count, size in ((0, 5), (1, 9), (30, 100), (7, 7)):
        found = wilson_interval(count, size)
        assert found.value == count / size
        assert 0 <= found.low <= found.value <= found.high <= 1
        for end in (found.low, found.high):
            if 0 < end < 1:
                error = math.sqrt(end * (1 - end) / size)
                assert abs(found.value - end) == pytest.approx(1.959964 * error, rel=1e-5)
