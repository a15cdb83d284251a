"""The naive forecasts: their formulas, gaps, joint densities and what they learn."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from seqloom.batch import Batch, Sequences
from seqloom.errors import ModelError
from seqloom.model import Search
from seqloom.models.naive import Drift, Naive, SeasonalNaive
from seqloom.signature import Form, Series, Signature

NAN = np.nan


def learned(kind, *series, period=1, horizon=4):
    signature = Signature(
        Form.FORECAST, Series(1, 0, period, horizon), Series(1, 0, period, horizon)
    )
    model = kind(signature)
    model.update(model.statistics(whole(*series)))
    return model


def whole(*series):
    """Series to learn from: no past."""
    rows = Sequences.pad([np.array(one, dtype=float)[:, None] for one in series])
    return Batch(Sequences(np.full_like(rows.values, NAN), rows.lengths), rows)


def past(series, steps):
    rows = np.array([*series, *[NAN] * steps], dtype=float)[None, :, None]
    return Sequences(rows, np.array([len(series) + steps]))


def ahead(model, series, steps=4):
    (found,) = model.predict(past(series, steps), Search(horizon=steps)).forecasts
    low, high = found.interval(0.95)
    return found.mean[:, 0], ((high - low) / 2 / 1.959963984540054)[:, 0] ** 2


def density(model, series, future):
    target = Sequences(np.array(future)[None, :, None], np.array([len(future)]))
    return float(model.log_prob(Batch(past(series, len(future)), target))[0])


def test_naive_is_a_random_walk():
    model = learned(Naive, [1, 3, 2, 6], [5, 5.5])
    noise = (4 + 1 + 16 + 0.25) / 4
    mean, variance = ahead(model, [9, 7])
    np.testing.assert_allclose(mean, 7)
    np.testing.assert_allclose(variance, noise * np.arange(1, 5))
    shared = np.minimum.outer(np.arange(1, 4), np.arange(1, 4)) * noise
    right = multivariate_normal([7, 7, 7], shared).logpdf([8, 6, 9])
    assert density(model, [9, 7], [8, 6, 9]) == pytest.approx(right)


def test_a_gap_counts_by_its_length():
    model = learned(Naive, [1, NAN, NAN, 4, 6])
    noise = (9 / 3 + 4) / 2
    mean, variance = ahead(model, [2, 3, NAN, NAN])
    np.testing.assert_allclose(mean, 3)
    np.testing.assert_allclose(variance, noise * (2 + np.arange(1, 5)))
    right = multivariate_normal([3, 3], noise * np.array([[3, 3], [3, 5]])).logpdf([4, 2])
    assert density(model, [2, 3, NAN, NAN], [4, NAN, 2]) == pytest.approx(right)


def test_seasonal_naive_repeats_the_last_season():
    series = [1, 5, 9, 2, 7, 9, 2, 6, 13]
    model = learned(SeasonalNaive, series, period=3)
    noise = (1 + 0 + 4 + 1 + 0 + 16) / 6
    mean, variance = ahead(model, series, 7)
    np.testing.assert_allclose(mean, [2, 6, 13, 2, 6, 13, 2])
    np.testing.assert_allclose(variance, noise * np.array([1, 1, 1, 2, 2, 2, 3]))
    mean, variance = ahead(model, [*series[:6], 2, NAN, 13], 4)
    np.testing.assert_allclose(mean, [2, 7, 13, 2])  # the season before has a value
    np.testing.assert_allclose(variance, noise * np.array([1, 2, 1, 2]))


def test_seasonal_naive_of_less_than_a_season_is_naive():
    series = [1.0, 5, 9, 2, 7, 9, 2, 6, 13]
    model, plain = learned(SeasonalNaive, series, period=4), learned(Naive, series)
    for given in ([3.0], [3.0, 8.0]):
        mean, variance = ahead(model, given, 2)
        np.testing.assert_allclose([mean, variance], ahead(plain, given, 2))
    mean, _ = ahead(model, [3.0, 8.0], 6)
    np.testing.assert_allclose(mean, [8, 8, 3, 8, 8, 8])
    no_season = learned(SeasonalNaive, series, period=1)
    np.testing.assert_allclose(ahead(no_season, series), ahead(plain, series))


def test_drift_is_the_line_through_first_and_last():
    series = [1.0, 4, 2, 5, 9]
    model = learned(Drift, series)
    noise = np.var(np.diff(series), ddof=1)
    mean, variance = ahead(model, series)
    steps = np.arange(1, 5)
    np.testing.assert_allclose(mean, 9 + 2 * steps, rtol=1e-6)
    np.testing.assert_allclose(variance, noise * steps * (1 + steps / 4), rtol=1e-5)
    shared = noise * (np.minimum.outer(steps, steps) + np.outer(steps, steps) / 4)
    right = multivariate_normal(9 + 2 * steps, shared).logpdf([10, 9, 12, 15])
    assert density(model, series, [10, 9, 12, 15]) == pytest.approx(right, abs=1e-5)


def test_drift_over_gaps():
    """Two steps between first and last, one unobserved after them; the joint with a gap, too."""
    model = learned(Drift, [1.0, 4, 2, 5, 9])
    noise = np.var(np.diff([1.0, 4, 2, 5, 9]), ddof=1)
    mean, variance = ahead(model, [NAN, 3, NAN, 7, NAN])
    steps = np.arange(1, 5) + 1
    np.testing.assert_allclose(mean, 7 + 2 * steps, rtol=1e-5)
    np.testing.assert_allclose(variance, noise * steps * (1 + steps / 2), rtol=1e-5)
    two = steps[[0, 2]]
    shared = noise * (np.minimum.outer(two, two) + np.outer(two, two) / 2)
    right = multivariate_normal(7 + 2 * two, shared).logpdf([10, 15])
    found = density(model, [NAN, 3, NAN, 7, NAN], [10, NAN, 15])
    assert found == pytest.approx(right, abs=1e-5)


@pytest.mark.parametrize("kind", [Naive, SeasonalNaive, Drift])
def test_batches_can_be_added(kind):
    series = [[1.0, 3, 2, 6, NAN, 4], [5, 5.5, 3.0, 1.0], [2.0]]
    signature = Signature(Form.FORECAST, Series(1, 0, 2, 3), Series(1, 0, 2, 3))
    one, other = kind(signature), kind(signature)
    one.update(one.statistics(whole(*series)))
    other.update(sum(other.statistics(whole(single)) for single in series))
    for name, array in one.weights().items():
        np.testing.assert_allclose(array, other.weights()[name])


@pytest.mark.parametrize("kind", [Naive, SeasonalNaive, Drift])
def test_numbers_that_never_change_have_a_finite_density(kind):
    model = learned(kind, [2.0] * 6, period=2)
    mean, _ = ahead(model, [2.0] * 6)
    np.testing.assert_allclose(mean, 2, rtol=1e-9)
    assert np.isfinite(density(model, [2.0] * 6, [2.0, 2.0]))


def test_nothing_observed_is_told():
    with pytest.raises(ModelError, match="no value was observed") as told:
        learned(Naive, [NAN, NAN])
    assert told.value.code == "M440"
