"""Bands that are moved by what windows put aside show."""

import numpy as np
import pytest

from seqloom.data.series.conformal import ALIKE, TRUST, Bands, scores_of
from seqloom.prediction import LEVELS, NORMAL, Foreseen


def normal(steps, width=1, deviation=2.0, samples=0):
    mean = np.arange(steps * width, dtype=float).reshape(steps, width)
    paths = mean + deviation * np.random.default_rng(0).normal(size=(samples, steps, width))
    return Foreseen.normal(mean, np.full_like(mean, deviation), paths if samples else None)


def test_scores_of_a_normal_are_its_deviations():
    """Inside the quantiles, between two of them and far out; what is missing has none."""
    found = normal(3, 2)
    z = np.array([[0.0, 1.7], [-2.5, 4.0], [np.nan, -0.1]])
    np.testing.assert_allclose(scores_of(found.quantiles, found.mean + 2 * z), z, atol=1e-12)
    many = np.stack([found.mean + 2 * z, found.mean])
    np.testing.assert_allclose(scores_of(found.quantiles, many), np.stack([z, 0 * found.mean]))


def test_scores_are_where_quantiles_are():
    """Of bands that lean to one side, too."""
    leaning = np.cumsum(np.arange(1.0, 16.0))[None, None]
    scores = scores_of(leaning, leaning[:, :, 11])
    assert scores[0, 0] == pytest.approx(NORMAL[11])


def test_factors_are_learned_and_a_model_is_believed_at_first():
    chance = np.random.default_rng(1)
    wide = chance.normal(size=(4000, 3, 1)) * np.array([1.0, 2.0, 0.5])[:, None]
    bands = Bands()
    bands.learn(wide, 1e9)
    np.testing.assert_allclose(bands.factors, [1, 2, 0.5], rtol=0.05)
    size = np.abs(wide).mean() ** 2 * np.pi / 2
    bands.learn(wide, 2)
    every = (TRUST + 2 * size) / (TRUST + 2)
    each = np.abs(wide).mean((0, 2)) ** 2 * np.pi / 2
    np.testing.assert_allclose(bands.factors**2, (ALIKE * every + 2 * each) / (ALIKE + 2))
    bands.learn(wide, 0)
    np.testing.assert_allclose(bands.factors, 1)


def test_a_normal_stays_one():
    """Its deviation times the factor of each step, and the last one for those that follow."""
    bands, found = Bands(), normal(4, 2, samples=5)
    bands.factors = np.array([1.0, 0.5, 3.0])
    moved = bands.of(found)
    factors = np.array([1, 0.5, 3, 3])[:, None]
    right = Foreseen.normal(found.mean, 2 * np.broadcast_to(factors, (4, 2)))
    np.testing.assert_allclose(moved.quantiles, right.quantiles, atol=1e-12)
    np.testing.assert_allclose(moved.paths, found.mean + factors * (found.paths - found.mean))
    np.testing.assert_array_equal(moved.mean, found.mean)


def test_quantiles_that_lean_still_rise():
    leaning = np.cumsum(np.arange(1.0, 16.0))[None, None]
    bands = Bands()
    bands.factors = np.array([1.7])
    moved = bands.of(Foreseen(leaning[..., 7], leaning)).quantiles
    assert (np.diff(moved) > 0).all() and moved[0, 0, 7] == leaning[0, 0, 7]
    assert moved[0, 0, 0] < leaning[0, 0, 0] and moved[0, 0, -1] > leaning[0, 0, -1]
    # What was so far out before is as far out as it was said to be.
    np.testing.assert_allclose(scores_of(leaning, moved[..., 3]), 1.7 * NORMAL[3])


def test_what_was_learned_is_kept_and_forgotten():
    bands, other, found = Bands(), Bands(), normal(2)
    assert bands.of(found) is found
    bands.learn(np.full((50, 2, 1), np.nan), 50)
    assert bands.of(found) is found
    bands.learn(np.full((50, 2, 1), 3.0), 50)
    other.restore(bands.state())
    np.testing.assert_array_equal(other.factors, bands.factors)
    assert (other.factors > 2).all() and len(LEVELS) == len(NORMAL)
    other.forget()
    assert other.of(found) is found
