"""Recalibration of prediction intervals on validation windows."""

import numpy as np
import pytest

from seqloom.data.series.conformal import (
    POOLING_WINDOWS,
    PRIOR_WINDOWS,
    IntervalRecalibration,
    normal_scores,
)
from seqloom.prediction import LEVELS, NORMAL_QUANTILES, QuantileForecast


def normal(steps, width=1, deviation=2.0, samples=0):
    mean = np.arange(steps * width, dtype=float).reshape(steps, width)
    paths = mean + deviation * np.random.default_rng(0).normal(size=(samples, steps, width))
    return QuantileForecast.normal(mean, np.full_like(mean, deviation), paths if samples else None)


def test_scores_of_a_normal_are_its_deviations():
    """Inside the quantiles, between two of them and far out; what is missing has none."""
    found = normal(3, 2)
    z = np.array([[0.0, 1.7], [-2.5, 4.0], [np.nan, -0.1]])
    np.testing.assert_allclose(normal_scores(found.quantiles, found.mean + 2 * z), z, atol=1e-12)
    many = np.stack([found.mean + 2 * z, found.mean])
    np.testing.assert_allclose(normal_scores(found.quantiles, many), np.stack([z, 0 * found.mean]))


def test_scores_are_where_quantiles_are():
    """Of intervals that lean to one side, too."""
    leaning = np.cumsum(np.arange(1.0, 16.0))[None, None]
    scores = normal_scores(leaning, leaning[:, :, 11])
    assert scores[0, 0] == pytest.approx(NORMAL_QUANTILES[11])


def test_factors_are_learned_and_a_model_is_believed_at_first():
    chance = np.random.default_rng(1)
    wide = chance.normal(size=(4000, 3, 1)) * np.array([1.0, 2.0, 0.5])[:, None]
    intervals = IntervalRecalibration()
    intervals.learn(wide, 1e9)
    np.testing.assert_allclose(intervals.factors, [1, 2, 0.5], rtol=0.05)
    size = np.abs(wide).mean() ** 2 * np.pi / 2
    intervals.learn(wide, 2)
    every = (PRIOR_WINDOWS + 2 * size) / (PRIOR_WINDOWS + 2)
    each = np.abs(wide).mean((0, 2)) ** 2 * np.pi / 2
    np.testing.assert_allclose(
        intervals.factors**2, (POOLING_WINDOWS * every + 2 * each) / (POOLING_WINDOWS + 2)
    )
    intervals.learn(wide, 0)
    np.testing.assert_allclose(intervals.factors, 1)


def test_a_normal_stays_one():
    """Its deviation times the factor of each step, and the last one for those that follow."""
    intervals, found = IntervalRecalibration(), normal(4, 2, samples=5)
    intervals.factors = np.array([1.0, 0.5, 3.0])
    moved = intervals.apply(found)
    factors = np.array([1, 0.5, 3, 3])[:, None]
    right = QuantileForecast.normal(found.mean, 2 * np.broadcast_to(factors, (4, 2)))
    np.testing.assert_allclose(moved.quantiles, right.quantiles, atol=1e-12)
    np.testing.assert_allclose(moved.paths, found.mean + factors * (found.paths - found.mean))
    np.testing.assert_array_equal(moved.mean, found.mean)


def test_quantiles_that_lean_still_rise():
    leaning = np.cumsum(np.arange(1.0, 16.0))[None, None]
    intervals = IntervalRecalibration()
    intervals.factors = np.array([1.7])
    moved = intervals.apply(QuantileForecast(leaning[..., 7], leaning)).quantiles
    assert (np.diff(moved) > 0).all() and moved[0, 0, 7] == leaning[0, 0, 7]
    assert moved[0, 0, 0] < leaning[0, 0, 0] and moved[0, 0, -1] > leaning[0, 0, -1]
    # What was so far out before is as far out as it was said to be.
    np.testing.assert_allclose(normal_scores(leaning, moved[..., 3]), 1.7 * NORMAL_QUANTILES[3])


def test_what_was_learned_is_kept_and_forgotten():
    intervals, other, found = IntervalRecalibration(), IntervalRecalibration(), normal(2)
    assert intervals.apply(found) is found
    intervals.learn(np.full((50, 2, 1), np.nan), 50)
    assert intervals.apply(found) is found
    intervals.learn(np.full((50, 2, 1), 3.0), 50)
    other.restore(intervals.state())
    np.testing.assert_array_equal(other.factors, intervals.factors)
    assert (other.factors > 2).all() and len(LEVELS) == len(NORMAL_QUANTILES)
    other.reset()
    assert other.apply(found) is found
